"""Columns that are the target in disguise: an exact function of it, or an outcome that goes with it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.training.table.screening import is_number

OUTCOME_NAME = re.compile(
    r"(^|[_ (\[])(energy|joules?|power|watts?|watt_?hours?|k?wh|costs?|price|usd|eur|dollars?|euros?|carbon|co2)([_ )\]]|$)"
    r"|[_ (\[](k|m|u)?[jw][)\]]?$",
    re.I,
)
"""What is measured or computed of a run, not chosen before it; times and rates have names of their own."""
LEAST_VALUES = 8
"""Fewer different values lie on a curve by chance."""
EXACT = 1e-3
"""Mean left-out error of the target by that column alone; no clock is as good."""
NEAR = 0.1
"""Scatter of the logarithms about a straight line, a few percent of either."""
NEAR_SHARE = 0.2
"""Of the target's own scatter, at most."""
SEEMS = "seems to be the target itself"
"""Words by which the verdict finds such notes."""
MOST_ROWS = 2000


def is_function_of(values: FloatArray, y: FloatArray) -> bool:
    """Whether the target follows from one column alone, to less than 0.1 % of left-out rows.

    Parameters
    ----------
    values : array, shape (n_rows,)
        The column. Whole numbers are sizes, and no function of a clock.
    y : array, shape (n_rows,)
        The target.

    Returns
    -------
    bool
        Tried are straight lines between either and the logarithm of either: units, offsets, powers, rates, logarithms.
    """
    values, y = values[:MOST_ROWS], y[:MOST_ROWS]
    if (values == np.round(values)).all() or not (y != 0.0).all():
        return False
    if min(len(np.unique(values)), len(np.unique(y))) < LEAST_VALUES:
        return False
    for x in (values, np.log(values)) if (values > 0.0).all() else (values,):
        if _error(_left_out_line(x, y), y) < EXACT:
            return True
        if (y > 0.0).all() and _error(np.exp(_left_out_line(x, np.log(y))), y) < EXACT:
            return True
    return False


def scatter_about(values: FloatArray, y: FloatArray) -> float:
    """Scatter of log y about a straight line in the logarithm of a column; infinite where it is no few percent."""
    values, y = values[:MOST_ROWS], y[:MOST_ROWS]
    if not (values > 0.0).all() or not (y > 0.0).all() or min(len(np.unique(values)), len(np.unique(y))) < LEAST_VALUES:
        return float("inf")
    logs = np.log(y)
    scatter = float(np.std(logs - _left_out_line(np.log(values), logs)))
    return scatter if scatter <= min(NEAR, NEAR_SHARE * float(np.std(logs))) else float("inf")


def named_in_terms(frame: pd.DataFrame, target: str, names: Sequence[str]) -> list[str]:
    """A warning for each column of somebody's terms that seems to be the target."""
    y = frame[target].to_numpy(float)
    found = []
    for name in names:
        if not is_number(frame[name]):
            continue
        values = frame[name].to_numpy(float)
        if is_function_of(values, y):
            found.append(f"column {name} {SEEMS}: {target} follows from it alone to less than 0.1 %")
        elif OUTCOME_NAME.search(name) and np.isfinite(scatter := scatter_about(values, y)):
            found.append(f"column {name} {SEEMS} by its name: {target} follows from it alone to {scatter:.1%}")
    return found


def near_notes(frame: pd.DataFrame, target: str, names: Sequence[str]) -> list[str]:
    """A remark for each column that goes with the target as closely as an outcome of the run would, whatever its name."""
    y = frame[target].to_numpy(float)
    found = []
    for name in names if len(names) > 1 else ():
        values = frame[name].to_numpy(float) if is_number(frame[name]) else np.zeros(1)
        if not (values == np.round(values)).all() and np.isfinite(scatter := scatter_about(values, y)):
            found.append(f"{target} follows from {name} alone to {scatter:.1%}: if {name} is measured with it, remove the column")
    return found


def _left_out_line(x: FloatArray, y: FloatArray) -> FloatArray:
    """Each value of y from a straight line through all others, shape (n_rows,)."""
    centred = x - x.mean()
    total = float(centred @ centred)
    if total <= 0.0:
        return np.full(len(y), y.mean())
    residual = y - y.mean() - centred * float(centred @ y) / total
    leverage = 1.0 / len(y) + centred**2 / total
    return np.asarray(y - residual / np.maximum(1.0 - leverage, 1e-12))


def _error(predicted: FloatArray, y: FloatArray) -> float:
    return float(np.abs(predicted / y - 1.0).mean())
