"""Predict the rows of any table with a model that was trained on one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, DomainError, UsageError
from mlperf.core.shown import Shown
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.joining.join import KEY, Keys, Table
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.table_remarks import (
    Faults,
    RowFaults,
    Texts,
    constant_notes,
    constants_elsewhere,
    notes_of,
    remarks,
    row_faults,
    sizes_outside,
    with_constants,
)
from mlperf.planning.table_rows import AskedRows, asked_rows
from mlperf.planning.table_sums import group_sums
from mlperf.training.table.table_fit import RowAnswers
from mlperf.training.table.table_model import TableModel

CHUNK = 50_000
"""Rows that are predicted at once."""


@dataclass(frozen=True, slots=True, eq=False)
class RowPredictions(Shown):
    """Predictions of a table's rows; every array has shape (n_rows,), in the unit of the target.

    Attributes
    ----------
    target : str
        Name of the column.
    rows : DataFrame
        The rows with all their columns.
    predicted : array
        NaN where a row cannot be predicted.
    confidence_interval, prediction_interval : Interval
        Of the mean, and of a run.
    in_domain : array of bool
        False, too, where a column that had one value wherever the model learnt has another one.
    remark : array of str
        Which cell is missing, what a new or rare label is predicted as, which size lies outside its measured range, which value is
        not the only one that was measured; empty inside.
    notes : tuple of str
        Missing cells, labels without a coefficient of their own, and columns that did not vary in training and have another value
        here, in sentences with file and line.
    sums : DataFrame or None
        One row a group, where sums were asked for (see `mlperf.planning.table_sums.group_sums`).
    """

    target: str
    rows: pd.DataFrame
    predicted: FloatArray
    confidence_interval: Interval
    prediction_interval: Interval
    in_domain: BoolArray
    remark: np.ndarray[tuple[int], np.dtype[np.object_]]
    notes: tuple[str, ...] = ()
    sums: pd.DataFrame | None = None

    @property
    def relative_error(self) -> FloatArray | None:
        """Prediction over measurement less 1 of each row, NaN where not known; None where the rows have no target."""
        if self.target not in self.rows:
            return None
        measured = pd.to_numeric(self.rows[self.target], errors="coerce").to_numpy(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(measured > 0.0, self.predicted / measured - 1.0, np.nan)

    def to_frame(self) -> pd.DataFrame:
        """The rows with prediction, error where the target is known, both intervals, flag and remark; units as the target's."""
        mean, run, error = self.confidence_interval, self.prediction_interval, self.relative_error
        columns = {
            "predicted": self.predicted,
            "mean_lower": mean.lower,
            "mean_upper": mean.upper,
            "run_lower": run.lower,
            "run_upper": run.upper,
        }
        made = {f"{name}_{self.target}": values for name, values in columns.items()}
        found = {} if error is None else {"relative_error": error}
        remark = {"remark": self.remark} if (self.remark != "").any() else {}
        return self.rows.assign(**made, **found, in_domain=self.in_domain, **remark)


def predict_rows(
    model: TableModel,
    rows: Table,
    *,
    join: Sequence[Table] = (),
    on: Keys | Sequence[Keys] = KEY,
    level: float = 0.95,
    strict: bool = False,
    by: str | None = None,
) -> RowPredictions:
    """Predict the target of each row.

    A row with a missing cell is not predicted, one with a label that is new or rare is flagged; both are named.

    Parameters
    ----------
    model : TableModel
        From ``mlperf.train(table, target=...)``.
    rows : DataFrame, str or Path
        A frame or file with the columns of the model's terms, ``-`` for the standard input.
    join, on
        Feature tables that hold the columns that ``rows`` lacks, and their key columns (see `mlperf.join_tables`).
    level : float
        Of the intervals.
    strict : bool
        Refuse rows outside the measured domain, and rows that cannot be predicted.
    by : str, optional
        Column of the rows: predictions of equal values are summed.

    Raises
    ------
    UsageError
        ``model`` is one of a campaign.
    DataError
        A column is missing (all that are missing are named), a key has no partner, a cell is wrong, or no row can be predicted.
    DomainError
        ``strict`` and a row lies outside; names the first, its column and value, the measured range, and how many there are.
    """
    if not isinstance(model, TableModel):
        raise UsageError(
            "got the model of a campaign, expected one trained on a table", hint="Predict a CNN with --cnn, --machine and --job."
        )
    asked = asked_rows(model, rows, join, on)
    if by is not None and by not in asked.frame:
        known = [str(name) for name in asked.frame]
        raise DataError(f"has no column {by!r}, expected one of {', '.join(known)}", place=asked.name, hint=nearest_hint(by, known))
    faults = row_faults(model, asked)
    possible = ~faults.unpredictable(model, len(asked.frame))
    if not possible.any():
        raise DataError("got no row that can be predicted", place=asked.name, hint="; ".join(notes_of(asked, faults)))
    found = _answered(model, asked.frame, possible, level)
    told = remarks(model, asked, faults, found.in_domain, undefined=possible & ~np.isfinite(found.predicted))
    if not np.isfinite(found.predicted).any():
        raise DataError("got no row that can be predicted", place=asked.name, hint=f"The first row: {told[0]}.")
    elsewhere = constants_elsewhere(model, asked)
    told = with_constants(told, model, asked, elsewhere)
    inside = ~np.logical_or.reduce([~found.in_domain, *elsewhere.values()])
    if strict and not inside.all():
        _refuse(model, asked, inside, faults, elsewhere, told)
    return RowPredictions(
        model.target,
        asked.frame,
        found.predicted,
        found.mean,
        found.run,
        inside,
        told,
        (*notes_of(asked, faults), *constant_notes(model, asked, elsewhere)),
        None if by is None else group_sums(model, asked.frame, by, found, inside),
    )


def _answered(model: TableModel, frame: pd.DataFrame, possible: BoolArray, level: float) -> RowAnswers:
    """Ask the model about distinct rows, piece by piece, so that many rows need little memory; NaN where it is not asked."""
    read = frame.loc[possible, list(model.columns)]
    same = read.groupby(list(model.columns), sort=False).ngroup().to_numpy()
    distinct = read[~pd.Series(same).duplicated().to_numpy()]
    starts = range(0, len(distinct), CHUNK)
    found = np.hstack([_numbers(model, distinct.iloc[start : start + CHUNK], level) for start in starts])
    numbers = np.full((len(found), len(frame)), np.nan)
    numbers[:, possible] = found[:, same]
    predicted, inside, *ends = numbers
    return RowAnswers(predicted, inside == 1.0, Interval(ends[0], ends[1], level), Interval(ends[2], ends[3], level))


def _numbers(model: TableModel, rows: pd.DataFrame, level: float) -> FloatArray:
    """Prediction, flag and bounds of each row, shape (6, n_rows); NaN where a term has no value."""
    undefined = np.zeros(len(rows), bool)
    try:
        said = model.answers(rows, level)
    except DataError:
        undefined = model.undefined(rows)
        if not undefined.any():
            raise
        if undefined.all():
            return np.full((6, len(rows)), np.nan)
        said = model.answers(rows[~undefined], level)
    made = np.full((6, len(rows)), np.nan)
    made[:, ~undefined] = [said.predicted, said.in_domain, said.mean.lower, said.mean.upper, said.run.lower, said.run.upper]
    return made


def _refuse(model: TableModel, asked: AskedRows, inside: BoolArray, faults: RowFaults, elsewhere: Faults, told: Texts) -> None:
    """Raise the error for the first row that `strict` does not allow: which cell, which range, and how many rows like it."""
    row = int(np.argmin(inside))
    place = asked.where([row])
    empty = next((name for name, rows in faults.missing.items() if rows[row]), None)
    if empty is not None:
        raise DataError(
            "got an empty cell, expected a value", place=f"{place}, column {empty}", hint="Without --strict the row is left out."
        )
    labels = [name for each in (faults.new, faults.rare) for name, rows in each.items() if rows[row]]
    sizes = [name for name, (rows, _) in sizes_outside(model, asked, ~inside).items() if rows[row]]
    column = next(iter([*labels, *sizes, *(name for name, rows in elsewhere.items() if rows[row])]), None)
    n_outside = int((~np.logical_or.reduce([inside, *faults.missing.values()])).sum())
    count = f"{n_outside:,} of {len(inside):,} rows {'lies' if n_outside == 1 else 'lie'} outside"
    raise DomainError(
        f"lies outside the measured domain: {told[row]}; {count}",
        place=place if column is None else f"{place}, column {column}",
        hint="Measure such rows and train again, or leave --strict out: they are then predicted and marked.",
    )
