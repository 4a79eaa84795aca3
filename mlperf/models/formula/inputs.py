"""What every estimator of the room does with X, y and weights before it looks at the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_feature_names, _check_sample_weight, check_array, validate_data

from mlperf.core.arrays import FloatArray, number_columns
from mlperf.core.errors import DataError, FitError
from mlperf.models.formula.evaluate import refuse_dates
from mlperf.models.formula.expressions import column_term, names, parse
from mlperf.models.formula.terms import Columns, Term, Terms


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Checked training rows: ``frame`` (n_rows, n_columns), ``y`` (n_rows,) and ``weight`` (n_rows,), none of weight zero.

    ``kept`` are the row numbers in what the caller gave.
    """

    frame: pd.DataFrame
    y: FloatArray
    weight: FloatArray
    kept: Any


def training_rows(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    terms: Sequence[str] | None = None,
    positive: bool = True,
    n_least: int = 1,
) -> Rows:
    """Check training data as scikit-learn does, and set ``n_features_in_`` and ``feature_names_in_``.

    Parameters
    ----------
    estimator : estimator
        Whose attributes are set.
    X : DataFrame or array, shape (n_rows, n_columns)
        A plain array has columns x0, x1, ...
    y : array-like, shape (n_rows,)
        Finite; > 0 where ``positive``.
    sample_weight : array-like, shape (n_rows,), optional
        >= 0; rows of weight zero are left out.
    terms : sequence of str, optional
        When given, only the columns that they read are looked at.
    positive : bool
        Whether y is a time.
    n_least : int
        Fewest rows that can be fitted.

    Raises
    ------
    FitError
        A y that is not positive; names the row.
    DataError
        A cell that is no finite number, a column twice, dates; names row and column.
    """
    chosen = _read_columns(X, terms)
    refuse_dates(y, "y")
    refuse_words(y)
    plain = plain_numbers(chosen, y, n_least)
    if plain is not None:
        name_columns(estimator, chosen)
        frame, target = _named_frame(estimator, plain[0]), plain[1]
    elif is_mixed(chosen):
        frame = _whole_frame(estimator, chosen, reset=True)
        target = check_array(np.asarray(y), ensure_2d=False, dtype=np.float64, input_name="y").ravel()
        if len(target) != len(frame):
            raise DataError(f"got {len(target)} values of y, expected {len(frame)}")
    else:
        with as_data_error(estimator, chosen, y):
            array, target = validate_data(
                estimator, chosen, y, reset=True, dtype=np.float64, y_numeric=True, ensure_min_samples=n_least
            )
        frame, target = _named_frame(estimator, array), np.asarray(target, dtype=np.float64)
    if positive and np.any(target <= 0):
        row = int(np.flatnonzero(target <= 0)[0])
        raise FitError(
            f"got {float(target[row])!r}, expected a time > 0",
            place=f"y, row {row + 1}",
            hint="Leave absent kernels out of the fit.",
        )
    weight = (
        np.ones(len(target))
        if sample_weight is None
        else _check_sample_weight(sample_weight, frame, dtype=np.float64, ensure_non_negative=True)
    )
    kept = np.flatnonzero(weight > 0)
    if len(kept) == 0:
        raise FitError("got weights that are all zero, expected a positive one")
    return Rows(frame.iloc[kept].reset_index(drop=True), target[kept], weight[kept], kept)


def query_frame(estimator: Any, X: Any, *, terms: Sequence[str] | None = None) -> pd.DataFrame:
    """Check the rows of a prediction against the columns of the fit."""
    array = columns_of_fit(estimator, X, among_others=terms is not None)
    if array is not None:
        return _named_frame(estimator, array)
    chosen = _read_columns(X, terms)
    if is_mixed(chosen):
        return _whole_frame(estimator, chosen, reset=False)
    with as_data_error(estimator, chosen):
        array = validate_data(estimator, chosen, reset=False, dtype=np.float64)
    return _named_frame(estimator, array)


@contextmanager
def as_data_error(estimator: Any, X: Any = None, y: Any = None) -> Iterator[None]:
    """Turn what scikit-learn finds wrong with rows X and values y into an error of the data, and say which columns the fit had.

    Raises
    ------
    DataError
        Names or numbers of columns differ from the fit's, or a value is no finite number: then with row and column.
    """
    try:
        yield
    except DataError:
        raise
    except ValueError as error:
        refuse_gaps(X)
        refuse_gaps(y.to_frame(y.name or "y") if isinstance(y, pd.Series) else None)
        known = None if y is not None else getattr(estimator, "feature_names_in_", None)  # y is known in a fit alone
        hint = None if known is None else f"The model was fitted on the columns {', '.join(map(str, known))}."
        raise DataError(str(error).strip(), hint=hint) from error


def columns_of_fit(estimator: Any, X: Any, *, among_others: bool = False) -> FloatArray | None:
    """Finite numbers under the names of the fit, of which scikit-learn's checks, slower than most predictions, say nothing else.

    Parameters
    ----------
    estimator : estimator
    X : DataFrame or array, shape (n_rows, n_columns)
    among_others : bool
        Whether X may have further columns, in any order.

    Returns
    -------
    array, shape (n_rows, n_features_in_), or None
        None where X is to be looked at more closely.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or not isinstance(X, pd.DataFrame) or len(X) == 0 or not X.columns.is_unique:
        return None
    known = set(names) <= set(X.columns) if among_others else list(X.columns) == list(names)
    array = number_columns(X, names) if known else None
    return array if array is not None and np.isfinite(array).all() else None


def plain_numbers(X: Any, y: Any, n_least: int) -> tuple[FloatArray, FloatArray] | None:
    """Finite numbers under names, of which scikit-learn's checks, a seventh of a small fit, say nothing else.

    Parameters
    ----------
    X : DataFrame or array, shape (n_rows, n_columns)
    y : array-like, shape (n_rows,)
    n_least : int
        Fewest rows that can be fitted.

    Returns
    -------
    array, shape (n_rows, n_columns), and array, shape (n_rows,); or None
        None where X or y is to be looked at more closely.
    """
    values = y.to_numpy() if isinstance(y, pd.Series) and isinstance(y.dtype, np.dtype) else y
    if not isinstance(X, pd.DataFrame) or not isinstance(values, np.ndarray) or values.ndim != 1:
        return None
    if len(values) != len(X) or len(X) < n_least or X.shape[1] == 0 or not all(isinstance(name, str) for name in X.columns):
        return None
    if not all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in (*X.dtypes, values.dtype)):
        return None
    array, target = X.to_numpy(dtype=np.float64), values.astype(np.float64, copy=False)
    return (array, target) if np.isfinite(array).all() and np.isfinite(target).all() else None


def name_columns(estimator: Any, X: pd.DataFrame) -> None:
    """Set ``n_features_in_`` and ``feature_names_in_`` as scikit-learn does of a frame whose names are text."""
    estimator.n_features_in_ = X.shape[1]
    estimator.feature_names_in_ = np.asarray(X.columns, dtype=object)


def refuse_gaps(X: Any) -> None:
    """Refuse a frame in which a number is missing or infinite; DataError names row and column."""
    for name, column in X.items() if isinstance(X, pd.DataFrame) else ():
        if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
            continue
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            found = "NaN, a missing number" if np.isnan(values[wrong[0]]) else "an infinity"
            hint = "Leave such rows out, or measure them again."
            raise DataError(f"got {found}, expected finite numbers", place=f"row {wrong[0] + 1}, column {name}", hint=hint)


def refuse_words(y: Any) -> None:
    """Refuse values of y of which one is a word; DataError names its row. Numbers that are written as text may pass."""
    values = np.asarray(y, dtype=None if hasattr(y, "dtype") else object)
    for row, value in enumerate(values.tolist() if values.ndim == 1 and values.dtype.kind in "OUST" else ()):
        try:
            float(value if isinstance(value, (str, bytes)) else 0.0)
        except ValueError:
            hint = "Words are for columns of X; y is what is predicted."
            raise DataError(f"got {value!r:.60}, expected a number", place=f"y, row {row + 1}", hint=hint) from None


def refuse_twins(X: Any) -> None:
    """Refuse a frame with two columns of one name; DataError names it."""
    if isinstance(X, pd.DataFrame) and not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise DataError(f"got two columns {twice!r}, expected every name once", hint="Rename one of them.")


def _read_columns(X: Any, terms: Sequence[str] | None) -> Any:
    refuse_twins(X)
    # scikit-learn ignores column names that are not all text; the columns are then x0, x1, ...
    if terms is None or not isinstance(X, pd.DataFrame) or not all(isinstance(name, str) for name in X.columns):
        return X
    wanted = {name for term in terms for name in names(parse(term))}
    if not wanted or wanted == set(X.columns):
        return X
    missing = sorted(wanted - set(X.columns))
    if missing:
        raise DataError(
            f"got no column {missing[0]!r}, expected the columns that the terms read",
            hint=f"Columns: {', '.join(map(str, X.columns))}.",
        )
    return X[[column for column in X.columns if column in wanted]]


def is_mixed(X: Any) -> bool:
    """Whether X is a frame with columns that are not numbers."""
    return isinstance(X, pd.DataFrame) and any(
        not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype) for dtype in X.dtypes
    )


def mixed_frame(estimator: Any, X: pd.DataFrame, *, reset: bool) -> pd.DataFrame:
    """A frame with categories: names checked, values left alone."""
    with as_data_error(estimator):
        _check_feature_names(estimator, X, reset=reset)
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return X.reset_index(drop=True)


def _whole_frame(estimator: Any, X: pd.DataFrame, *, reset: bool) -> pd.DataFrame:
    """A frame with categories in which no number and no category may be missing."""
    frame = mixed_frame(estimator, X, reset=reset)
    refuse_gaps(frame)
    for column in frame:
        values = frame[column]
        if not pd.api.types.is_numeric_dtype(values.dtype) and values.isna().any():
            raise DataError("got a missing category", place=f"column {column}, row {int(np.flatnonzero(values.isna())[0]) + 1}")
    return frame


def _named_frame(estimator: Any, array: FloatArray) -> pd.DataFrame:
    columns = getattr(estimator, "feature_names_in_", None)
    return pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])] if columns is None else list(columns))


def learn_terms(terms: Sequence[str] | None, frame: pd.DataFrame, *, intercept: bool = True) -> Terms:
    """The terms asked for, or one for every column."""
    wanted: list[str | Term] = [Term((column_term(str(column)),)) for column in frame] if terms is None else list(terms)
    return Terms.learn(wanted, frame, intercept=intercept)


def finite_columns(terms: Terms, frame: pd.DataFrame) -> Columns:
    """The model matrix; an error names the term that is not finite somewhere.

    Raises
    ------
    DataError
        For example the logarithm of zero.
    """
    columns = terms.columns(frame)
    if not np.isfinite(columns.matrix).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(columns.matrix))[0])
        raise DataError(
            f"got {columns.matrix[row, column]}, expected a finite number", place=f"term {columns.names[column]}, row {row + 1}"
        )
    return columns
