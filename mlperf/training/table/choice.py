"""Which method suits a table: left-out groups judge all of them, inside what was measured and beyond it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError, MlperfError
from mlperf.core.progress import tracked
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.difficulty import Difficulty, left_out_scores
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles
from mlperf.models.validation.folds import Fold, leave_largest_out
from mlperf.models.validation.left_out import LeftOutRows, left_out
from mlperf.models.validation.scores import LARGEST_RATIO
from mlperf.training.table.methods import METHODS
from mlperf.training.table.screening import is_number
from mlperf.training.table.table_regressor import TableRegressor

MOST_ROWS = 3000
"""Rows on which methods are compared; more cost minutes and change no choice."""
JUDGED_ROWS = 12_000
"""Rows on which the error of the chosen method is told, where there are more than were compared."""
LEAST_ROWS_BEYOND = 40
LEAST_ROWS_INSIDE = 10
"""Student's t of fewer left-out rows is wider than rows beyond the domain make it."""
SHARES_BEYOND = (0.2, 0.4)
"""Two, since a form that bends may hold a little way and not further."""
LEAST_GAIN = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Shown):
    """How the methods did on left-out rows, and which is taken.

    Attributes
    ----------
    table : DataFrame
        One row a method: ``method``, ``complexity``, ``mape``, ``median``, ``q3``, ``loss`` (mean |log(predicted / measured)|),
        ``behind`` and ``behind_se`` (loss over that of the best, and its standard error over groups), ``nonpositive`` (share of
        left-out rows predicted <= 0), ``beyond`` (loss on the largest times, learnt from the rest), ``chosen``, ``note``.
    chosen : str
        The simplest method whose loss is not further behind the best than one standard error or 5 %, among those that predict no
        time <= 0.
    beyond : str
        The best on the largest times, learnt from smaller ones: it answers outside the measured domain. With too few rows to ask
        them it is ``chosen``; or where that may not be continued and terms were stated, the simplest good one that may.
    rows : LeftOutRows
        Left-out predictions; those of a fold by the method that the other folds choose. Of a table with more rows than are
        compared those of the chosen method on up to 12,000 rows, where a choice between methods is no gamble any more.
    used : array of int, shape (n_used,)
        The rows of the table that ``rows`` are of.
    n_compared : int
        Rows that all methods were compared on.
    residuals_beyond : array or None
        log(measured / predicted) of ``beyond`` on the largest times.
    """

    table: pd.DataFrame
    chosen: str
    beyond: str
    rows: LeftOutRows
    used: IntArray
    n_compared: int
    residuals_beyond: FloatArray | None

    def to_frame(self) -> pd.DataFrame:
        """The table."""
        return self.table


def compared_rows(keys: Any, seed: int, most: int = MOST_ROWS) -> IntArray:
    """Rows of random whole groups, about ``most``; all where there are no more."""
    codes, names = pd.factorize(np.asarray(keys))
    if len(codes) <= most:
        return np.arange(len(codes))
    order = np.random.default_rng(seed).permutation(len(names))
    counts = np.bincount(codes)[order]
    taken = order[: max(2, int(np.searchsorted(np.cumsum(counts), most)))]
    return np.flatnonzero(np.isin(codes, taken))


def choose_method(
    frame: pd.DataFrame,
    times: FloatArray,
    keys: Any,
    make: Callable[[str], TableRegressor],
    methods: Sequence[str],
    folds: Callable[[Any], Sequence[Fold]],
    seed: int = 0,
    *,
    stated: bool = False,
) -> Choice:
    """Compare methods on left-out groups; everything that they choose themselves is chosen inside each fold.

    Parameters
    ----------
    frame : DataFrame, shape (n_rows, n_columns)
    times : array, shape (n_rows,)
        Positive.
    keys : array, shape (n_rows,)
        What is left out together.
    make : callable
        The unfitted regressor of a method.
    methods : sequence of str
        Names, of `METHODS`.
    folds : callable
        Splits of the keys.
    seed : int
        Of the rows that are compared where there are more than 3,000.
    stated : bool
        Whether the terms of sums of costs were stated, not found in the rows.

    Raises
    ------
    FitError
        No method could be fitted.
    """
    used = compared_rows(keys, seed)
    X, y, own = frame.iloc[used].reset_index(drop=True), times[used], np.asarray(keys)[used]
    folds(own)  # A split that cannot be made is no method's fault.
    found, notes = {}, {}
    for name in tracked(methods, "methods compared on left-out rows"):
        try:
            found[name] = _left_out(partial(_raw, make, name), frame, times, keys, used, folds)
        except MlperfError as error:
            notes[name] = str(error)
    if not found:
        raise FitError(f"no method could be fitted: {next(iter(notes.values()), 'none was asked for')}")
    beyond = {} if len(methods) == 1 else beyond_losses(X, y, make, [name for name in found if METHODS[name].extends])
    codes = pd.factorize(own)[0]
    table = _table(methods, found, notes, codes, {name: float(np.abs(each).mean()) for name, each in beyond.items()})
    losses, allowed = {name: group_losses(rows, codes) for name, rows in found.items()}, positive(found)
    chosen = simplest(losses, allowed)
    table["chosen"] = table["method"] == chosen
    if beyond:
        extends = min(beyond, key=lambda name: float(np.abs(beyond[name]).mean()))
    else:
        extends = _extending(chosen, losses, allowed) if stated else chosen
    rows, told = cross_chosen(found, codes), used
    if len(used) < len(times):
        told = compared_rows(keys, seed, JUDGED_ROWS)
        rows = _left_out(partial(_raw, make, chosen), frame, times, keys, told, folds)
    return Choice(table, chosen, extends, rows, told, len(used), beyond.get(extends))


def _left_out(
    make: Callable[[], TableRegressor],
    frame: pd.DataFrame,
    times: FloatArray,
    keys: Any,
    rows: IntArray,
    folds: Callable[[Any], Sequence[Fold]],
) -> LeftOutRows:
    """Left-out predictions of some rows of the table."""
    own = np.asarray(keys)[rows]
    return left_out(make, frame.iloc[rows].reset_index(drop=True), times[rows], own, folds(own), equal_rows=True)


def _raw(make: Callable[[str], TableRegressor], name: str) -> TableRegressor:
    """A method's regressor without a floor under its predictions, so that a time <= 0 is seen."""
    regressor = make(name)
    regressor.floored = False
    return regressor


def group_losses(rows: LeftOutRows, codes: IntArray) -> FloatArray:
    """Sums of |log(predicted / measured)| of each group that was tested over the mean size of a group; their mean is the loss."""
    tested = rows.tested
    ratio = np.clip(rows.predicted[tested] / rows.measured[tested], 1.0 / LARGEST_RATIO, LARGEST_RATIO)
    kept, number = np.unique(codes[tested], return_inverse=True)
    return np.asarray(np.bincount(number, np.abs(np.log(ratio)), len(kept)) * len(kept) / tested.sum())


def _extending(chosen: str, losses: Mapping[str, FloatArray], allowed: Sequence[str]) -> str:
    """The method itself, or the simplest good one that may be continued where it may not: costs that were stated go on beyond."""
    others = [name for name in allowed if METHODS[name].extends]
    return chosen if METHODS[chosen].extends or not others else simplest(losses, others)


def positive(found: Mapping[str, LeftOutRows]) -> list[str]:
    """Methods that predict no time <= 0 on left-out rows; those with the fewest where every one does."""
    shares = {name: float((rows.predicted[rows.tested] <= 0.0).mean()) for name, rows in found.items()}
    least = min(shares.values())
    return [name for name, share in shares.items() if share <= least]


def simplest(losses: Mapping[str, FloatArray], allowed: Sequence[str]) -> str:
    """The simplest allowed method not further behind the best than one standard error of the difference over groups.

    Nor does anybody give an explanation for a twentieth of the loss.
    """
    best = min(allowed, key=lambda name: float(losses[name].mean()))
    behind = {name: losses[name] - losses[best] for name in allowed}
    least = LEAST_GAIN * float(losses[best].mean())
    near = [name for name in allowed if float(behind[name].mean()) <= max(standard_error(behind[name]), least)]
    return min(near, key=lambda name: (METHODS[name].complexity, float(losses[name].mean())))


def standard_error(values: FloatArray) -> float:
    """Of the mean of values, shape (n_groups,)."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def cross_chosen(found: Mapping[str, LeftOutRows], codes: IntArray) -> LeftOutRows:
    """Answers of each fold by the method that is chosen without it, so that the error includes the choice's."""
    first = next(iter(found.values()))
    predicted, inside, choices = first.predicted.copy(), first.in_domain.copy(), []
    for number in range(len(first.fold_names)):
        others = {name: replace(rows, fold=np.where(rows.fold == number, -1, rows.fold)) for name, rows in found.items()}
        name = next(iter(found))
        if any(rows.tested.any() for rows in others.values()):
            name = simplest({each: group_losses(rows, codes) for each, rows in others.items()}, positive(others))
        own = first.fold == number
        predicted[own], inside[own] = found[name].predicted[own], found[name].in_domain[own]
        choices.append(name)
    spent = sum(rows.fit_s for rows in found.values())
    return replace(first, predicted=predicted, in_domain=inside, choices=tuple(choices), fit_s=spent)


def beyond_losses(
    frame: pd.DataFrame, times: FloatArray, make: Callable[[str], TableRegressor], methods: Sequence[str]
) -> dict[str, FloatArray]:
    """log(measured / predicted) of the largest fifth and of the larger two fifths, each learnt from the rest, by method.

    Empty with few rows.
    Methods that predict a time <= 0 there are left out.
    """
    if len(times) < LEAST_ROWS_BEYOND or not any(is_number(frame[name]) for name in frame):
        return {}
    found: dict[str, FloatArray] = {}
    for name in tracked(methods, "methods compared on the largest rows"):
        try:
            found[name] = np.concatenate([_missed_beyond(frame, times, make, name, share) for share in SHARES_BEYOND])
        except MlperfError:
            continue
    return {name: missed for name, missed in found.items() if np.isfinite(missed).all()}


def _missed_beyond(
    frame: pd.DataFrame, times: FloatArray, make: Callable[[str], TableRegressor], name: str, share: float
) -> FloatArray:
    """log(measured / predicted) of the largest times, learnt from the others; infinite where the prediction is not positive."""
    fold = leave_largest_out(times, share)[0]
    predicted = _raw(make, name).fit(frame.iloc[fold.train], times[fold.train]).predict(frame.iloc[fold.test])
    return np.where(predicted > 0.0, np.log(times[fold.test] / np.where(predicted > 0.0, predicted, 1.0)), np.inf)


def _table(
    methods: Sequence[str],
    found: Mapping[str, LeftOutRows],
    notes: Mapping[str, str],
    codes: IntArray,
    beyond: Mapping[str, float],
) -> pd.DataFrame:
    losses = {name: group_losses(rows, codes) for name, rows in found.items()}
    best = min(losses, key=lambda name: float(losses[name].mean()))
    rows: list[dict[str, Any]] = []
    for name in methods:
        row: dict[str, Any] = {"method": name, "complexity": METHODS[name].complexity, "note": notes.get(name, "")}
        if name in found:
            errors, behind = found[name].errors, losses[name] - losses[best]
            row |= {key: getattr(errors, key) for key in ("mape", "median", "q3", "nonpositive")}
            row |= {"loss": errors.log_ratio, "behind": float(behind.mean()), "behind_se": standard_error(behind)}
            row |= {"beyond": beyond.get(name, np.nan), "fit_s": found[name].fit_s}
        rows.append(row)
    return pd.DataFrame(rows)


def left_out_material(
    choice: Choice, numbers: FloatArray, fitted: TableRegressor
) -> tuple[ResidualQuantiles | None, Difficulty | None, ResidualQuantiles | None]:
    """What the intervals of a run are made of: left-out log residuals inside the domain, where they are larger, and those beyond.

    A left-out row beyond the domain of its fold errs as rows out there do: it counts among those, unless too few rows are left
    inside. ``numbers`` (n_rows, n_numeric) are what the sizes may depend on, ``fitted`` is the chosen method on all rows.
    """
    rows = choice.rows
    tested = rows.tested
    logs = np.log(rows.measured[tested] / np.maximum(rows.predicted[tested], fitted.least_))
    near = rows.in_domain[tested]
    if near.sum() < LEAST_ROWS_INSIDE:
        near = np.ones(len(logs), dtype=bool)
    # The few errors out there of a table of few rows tell nothing by themselves.
    largest = choice.residuals_beyond if choice.residuals_beyond is not None else logs[near] if not near.all() else None
    far = None if largest is None else ResidualQuantiles.of(np.concatenate([largest, logs[~near]]))
    if len(logs) < 2:
        return None, None, far
    columns, folds = numbers[choice.used][tested], rows.fold[tested]
    return *left_out_scores(columns[near], logs[near], folds[near], fitted.n_parameters_), far
