"""X, y and weights as the stepwise estimator takes them: checked as scikit-learn does, categories and gaps left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d, validate_data

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.models.formula.evaluate import Frame, refuse_dates
from mlperf.models.formula.expressions import column_term
from mlperf.models.formula.inputs import (
    as_data_error,
    columns_of_fit,
    is_mixed,
    mixed_frame,
    name_columns,
    plain_numbers,
    refuse_twins,
    refuse_words,
)

MIN_ROWS = 2


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Training data that passed every check.

    ``frame`` of named columns, ``matrix`` (n_samples, n_features) where all are numbers, ``y`` and ``weights`` (n_samples,).
    """

    frame: Frame
    matrix: FloatArray | None
    y: FloatArray
    weights: FloatArray | None
    y_name: str


def read_training(estimator: Any, X: Any, y: Any, sample_weight: Any, wanted: Sequence[str] | None, na: str) -> Training:
    """Check training data and set ``n_features_in_`` and ``feature_names_in_``.

    Parameters
    ----------
    estimator : estimator
    X : DataFrame or array, shape (n_samples, n_features)
    y : array-like, shape (n_samples,)
    sample_weight : array-like, shape (n_samples,), optional
    wanted : sequence of str, optional
        Columns that the terms read; of a DataFrame only these are looked at.
    na : {"raise", "drop"}
        Whether missing values may pass.
    """
    y_name = str(getattr(y, "name", None) or "y")
    finite: Any = "allow-nan" if na == "drop" else True
    chosen = _chosen(X, wanted)
    refuse_dates(y, "y")
    refuse_words(y)
    plain = plain_numbers(chosen, y, MIN_ROWS)
    if plain is not None:
        name_columns(estimator, chosen)
        return Training(_named(estimator, plain[0]), *plain, _weights(sample_weight, plain[0]), y_name)
    if is_mixed(chosen):
        frame = mixed_frame(estimator, chosen, reset=True)
        target = _response(y, len(frame), finite)
        if len(target) < MIN_ROWS:
            raise DataError(f"got {len(target)} sample, expected at least {MIN_ROWS}")
        return Training(frame, None, target, _weights(sample_weight, frame), y_name)
    if na == "drop":
        array = validate_data(
            estimator, chosen, reset=True, dtype=np.float64, ensure_all_finite=finite, ensure_min_samples=MIN_ROWS
        )
        target = _response(y, len(array), finite)
    else:
        with as_data_error(estimator, chosen, y):
            array, target = validate_data(
                estimator, chosen, y, reset=True, dtype=np.float64, y_numeric=True, ensure_min_samples=MIN_ROWS
            )
    target = np.asarray(target, dtype=np.float64)
    return Training(_named(estimator, array), array, target, _weights(sample_weight, array), y_name)


def _response(y: Any, n_rows: int, finite: Any) -> FloatArray:
    if y is None:
        raise DataError("StepwiseOLS requires y to be passed, but the target y is None")
    checked = check_array(y, ensure_2d=False, dtype=np.float64, ensure_all_finite=finite, input_name="y")
    target: FloatArray = column_or_1d(checked, warn=True)
    if len(target) != n_rows:
        raise DataError(f"got {len(target)} values of y, expected {n_rows}")
    return target


def query(estimator: Any, X: Any, wanted: Sequence[str] | None) -> Frame:
    """Check the rows of a prediction against the columns of the fit; columns by name."""
    found = columns_of_fit(estimator, X, among_others=wanted is not None)
    if found is not None:
        return _named(estimator, found)
    chosen = _chosen(X, wanted)
    if is_mixed(chosen):
        return mixed_frame(estimator, chosen, reset=False)
    finite: Any = "allow-nan" if getattr(estimator, "na", "raise") == "drop" else True
    with as_data_error(estimator, None if finite is not True else chosen):
        array = validate_data(estimator, chosen, reset=False, dtype=np.float64, ensure_all_finite=finite)
    return _named(estimator, array)


def relative_weights(y: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Weights 1 / y^2 on top of given ones, shape (n_samples,).

    Raises
    ------
    FitError
        A value that is not positive; names the row.
    """
    if (y <= 0).any():
        row = int(np.flatnonzero(y <= 0)[0])
        raise FitError(
            f"got {float(y[row])!r}, expected a value > 0 under noise='relative'",
            place=f"y, row {row + 1}",
            hint="Leave absent times out of the fit, or use noise='absolute'.",
        )
    own = 1.0 / np.square(y)
    return own if weights is None else own * weights


def column_label(name: Any) -> str:
    """A column's name as a term."""
    return column_term(str(name))


def _chosen(X: Any, wanted: Sequence[str] | None) -> Any:
    refuse_twins(X)
    if wanted is None or not isinstance(X, pd.DataFrame):
        return X
    labels = list(map(str, X.columns))
    keep = set(wanted)
    missing = [name for name in wanted if name not in labels]
    if missing:
        raise DataError(
            f"got no column {missing[0]!r}, expected the columns that the terms read",
            hint=f"Columns: {', '.join(labels)}.",
        )
    return X[[column for column in X.columns if str(column) in keep]] if keep and not keep.issuperset(labels) else X


def _named(estimator: Any, array: FloatArray) -> dict[str, FloatArray]:
    names = getattr(estimator, "feature_names_in_", None)
    labels = [f"x{number}" for number in range(array.shape[1])] if names is None else [str(name) for name in names]
    return dict(zip(labels, array.T, strict=True))


def _weights(sample_weight: Any, X: Any) -> FloatArray | None:
    if sample_weight is None:
        return None
    if np.isnan(np.asarray(sample_weight, dtype=np.float64)).any():
        return np.asarray(sample_weight, dtype=np.float64)
    checked: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return checked
