"""How far a prediction errs whose label was never measured: every label is left out in turn, and its rows predicted without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import MlperfError
from mlperf.core.json_fields import Fields
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles
from mlperf.training.table.screening import is_number
from mlperf.training.table.table_regressor import TableRegressor

MOST_ROWS = 1000
"""Rows that the fits look at; labels differ by more than more rows could tell."""
LEAST_LABELS, LEAST_ROWS = 3, 5
"""Labels with so many rows that a column must have; fewer say nothing about one more."""
MOST_FITS, MOST_LABELS = 12, 8
SHARES = (0.11, 0.5, 0.89)
"""Three quantiles have the mean and the spread of a label's rows: each label counts alike, however many rows it has."""


def left_out_labels(
    make: Callable[[], TableRegressor], frame: pd.DataFrame, times: FloatArray, seed: int = 0
) -> dict[str, ResidualQuantiles]:
    """log(measured / predicted) of rows whose label no training row had, by column of labels.

    Parameters
    ----------
    make : callable
        The unfitted regressor that predicts outside the measured domain.
    frame : DataFrame, shape (n_rows, n_columns)
    times : array, shape (n_rows,)
        Positive.
    seed : int
        Of the rows that are looked at where there are more than 1,000.

    Returns
    -------
    dict
        Only columns of three labels or more with five rows each.
    """
    rows = np.arange(len(times))
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False))
    part, y = frame.iloc[rows].reset_index(drop=True), times[rows]
    asked = {str(name): labels for name in frame if not is_number(frame[name]) and (labels := _frequent(part[name]))}
    most = min(MOST_LABELS, max(LEAST_LABELS, MOST_FITS // max(len(asked), 1)))
    found = {}
    for name, labels in list(asked.items())[: MOST_FITS // LEAST_LABELS]:
        missed = [_missed(make, part, y, (part[name].astype(str) == label).to_numpy(bool)) for label in labels[:most]]
        kept = [np.quantile(logs, SHARES) for logs in missed if logs is not None]
        if len(kept) >= LEAST_LABELS:
            # Rows of one label err alike: as many degrees of freedom as labels but one, few as they are.
            n_values = len(SHARES) * len(kept)
            found[name] = ResidualQuantiles.of(np.concatenate(kept), n_values - (len(kept) - 1))
    return found


def label_errors_to_dict(errors: Mapping[str, ResidualQuantiles]) -> dict[str, Any]:
    """JSON types; `label_errors_from` reads them back."""
    return {name: each.to_dict() for name, each in errors.items()}


def label_errors_from(fields: Fields, key: str) -> dict[str, ResidualQuantiles]:
    """What a file says under a key, which those of earlier releases lack; DataError with the JSON path of what is wrong."""
    if fields.missing(key):
        return {}
    value, path = fields.raw(key), f"{fields.path}.{key}"
    return {name: ResidualQuantiles.from_dict(value[name], f"{path}.{name}") for name in Fields(value, path).names}


def _frequent(column: pd.Series) -> list[str]:
    """Labels of enough rows, the most frequent first; none where they are too few."""
    counts = column.astype(str).value_counts()
    labels = sorted((str(label) for label in counts.index[counts >= LEAST_ROWS]), key=lambda label: (-int(counts[label]), label))
    return labels if len(labels) >= LEAST_LABELS else []


def _missed(make: Callable[[], TableRegressor], frame: pd.DataFrame, times: FloatArray, own: np.ndarray) -> FloatArray | None:
    """log(measured / predicted) of some rows, learnt from the others; None where these allow no fit."""
    try:
        predicted = make().fit(frame[~own], times[~own]).predict(frame[own])
    except MlperfError:
        return None
    logs = np.log(times[own] / predicted)
    return logs if np.isfinite(logs).all() else None
