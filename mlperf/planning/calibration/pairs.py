"""Predicted rows beside measured ones: two tables joined on their keys, every row that has no partner named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import did_you_mean, nearest, nearest_hint
from mlperf.datasets.dictionary.numbers import bound_hint, number_hint
from mlperf.datasets.joining.join import Side, Table, check_columns, check_matched, check_once, read_side
from mlperf.datasets.reading.cell_units import unit_advice
from mlperf.datasets.reading.time_units import seconds_in, unit_ratio
from mlperf.models.uncertainty.ratio_factors import Labels

PREDICTED, MEASURED = "predicted", "measured"

MOST_APART = 300.0
"""Largest logarithm of measured over predicted: whose square and exponential are numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Measured rows, each with its prediction.

    Attributes
    ----------
    frame : DataFrame
        Key columns, further columns of both tables, ``predicted`` and ``measured``; rows in the order of the measurements.
    on, by : tuple of str
        Key columns, and columns that make groups, the coarsest first.
    predicted_column, measured_column : str
        Names of the two values in their files.
    n_unmeasured : int
        Predicted rows that nobody measured.
    unit_ratio : float
        What measured values were multiplied by, where their column's name ends in another unit than that of the predictions.
    data_sha256 : mapping
        File to SHA-256.
    """

    frame: pd.DataFrame
    on: tuple[str, ...]
    by: tuple[str, ...]
    predicted_column: str
    measured_column: str
    n_unmeasured: int
    unit_ratio: float
    data_sha256: Mapping[str, str]

    @property
    def log_ratio(self) -> FloatArray:
        """log(measured / predicted), shape (n_rows,)."""
        measured, predicted = (np.log(self.frame[name].to_numpy(float)) for name in (MEASURED, PREDICTED))
        if (np.abs(measured - predicted) > MOST_APART).any():
            raise DataError("measured and predicted lie further apart than any units do", place="tables", hint="Check the numbers.")
        return np.asarray(measured - predicted)

    @property
    def labels(self) -> Labels:
        """Groups of the rows, shape (n_rows, n_columns)."""
        return group_labels(self.frame, self.by)


def group_labels(frame: pd.DataFrame, by: Sequence[str]) -> Labels:
    """Cells of the grouping columns as texts, shape (n_rows, n_columns)."""
    return np.asarray(frame[list(by)].astype(str).to_numpy(object).reshape(len(frame), len(by)))


def read_pairs(
    predicted: Table,
    measured: Table,
    *,
    on: Sequence[str] = (),
    by: Sequence[str] = (),
    predicted_column: str | None = None,
    measured_column: str | None = None,
) -> Pairs:
    """Join predictions with measurements.

    Parameters
    ----------
    predicted, measured : DataFrame, str or Path
        One row a configuration; a measurement may be repeated, a prediction not.
    on : sequence of str
        Key columns; by default all that both tables have, but for the values.
    by : sequence of str
        Columns of either table that make groups, the coarsest first.
    predicted_column, measured_column : str, optional
        The values; by default the one column of numbers that is no key, or the one time that both tables have.

    Raises
    ------
    DataError
        A column is missing or cannot be told, a key stands twice among the predictions, a measured row was not predicted, or a
        value is not a number > 0; names file, line and column.
    UsageError
        A grouping column is a value.
    """
    left, right = read_side(measured, "measured rows", "keep"), read_side(predicted, "predicted rows", "keep")
    values = (
        value_column(right, left, on, by, predicted_column, "--predicted-column"),
        value_column(left, right, on, by, measured_column, "--measured-column"),
    )
    key = tuple(on) or tuple(str(name) for name in left.frame if name in right.frame.columns and name not in values)
    if not key:
        hint = "Give both the columns that tell a configuration, or name them: --on model,nodes."
        raise DataError(f"has no column that {right.name} has too, expected key columns", place=left.name, hint=hint)
    if any(name in values for name in by):
        raise UsageError(f"got --by {', '.join(by)}, which holds a value, expected columns of labels")
    for side, name in ((right, values[0]), (left, values[1])):
        check_positive(side, name)
    ratio = unit_ratio(values[1], values[0])
    if ratio == 1.0 and (advice := unit_advice(values[1], values[0])):
        got = f"got {values[1]!r}, expected the unit of {values[0]!r} in {right.name}"
        raise DataError(got, place=left.header_place(values[1]), hint=advice)
    left, right = _named(left, values[1], MEASURED), _named(right, values[0], PREDICTED)
    if ratio != 1.0:
        left = replace(left, frame=left.frame.assign(**{MEASURED: ratio * left.frame[MEASURED].to_numpy(float)}))
    check_columns(left, right, key)
    check_predicted_once(right, left, key)
    check_matched(left, right, key)
    shared = [name for name in right.frame if name in left.frame and name not in key]
    frame = left.frame.merge(right.frame.drop(columns=shared), on=list(key), how="left", validate="many_to_one")
    for name in by:
        if name not in frame:
            known = [str(column) for column in frame]
            raise DataError(f"have no column {name!r}", place=f"{left.name} and {right.name}", hint=did_you_mean(name, known))
    known_keys = pd.MultiIndex.from_frame(left.frame[list(key)])
    lost = int((~pd.MultiIndex.from_frame(right.frame[list(key)]).isin(known_keys)).sum())
    digests = {side.name: side.sha256 for side in (right, left) if side.sha256}
    return Pairs(frame, key, tuple(by), *values, lost, ratio, digests)


def check_predicted_once(predicted: Side, measured: Side, key: Sequence[str]) -> None:
    """Every key is predicted once; DataError also says which column of the predictions alone tells the rows apart."""
    try:
        check_once(predicted, key)
    except DataError as error:
        further = [str(name) for name in predicted.frame if name not in (*key, PREDICTED) and name not in measured.frame]
        apart = next((name for name in further if not predicted.frame.duplicated([*key, name]).any()), None)
        if apart is None:
            raise
        spelled = nearest(apart, map(str, measured.frame))
        remedy = "add it there" if spelled is None or spelled in key else f"add it there, or call {spelled!r} so"
        hint = f"{measured.name} has no column {apart!r}, which tells these rows apart: {remedy}."
        raise DataError(error.message, place=error.place, hint=hint) from error


def value_column(own: Side, other: Side, on: Sequence[str], by: Sequence[str], asked: str | None, flag: str) -> str:
    """Name of a table's column of values.

    Raises
    ------
    DataError
        It is missing, or several could be meant.
    """
    names = [str(name) for name in own.frame]
    if asked is not None:
        if asked not in names:
            got = f"is missing: got {', '.join(names)}, expected also {asked!r}"
            raise DataError(got, place=own.header_place(asked), hint=nearest_hint(asked, names))
        return asked
    numbers = [name for name in names if name not in on and name not in by and pd.api.types.is_numeric_dtype(own.frame[name])]
    times = [name for name in numbers if seconds_in(name) is not None]
    shared = [name for name in times if name in other.frame]
    own_only = [name for name in numbers if name not in other.frame]
    # A number that both tables have and that is no time is a key, unless the keys were named.
    # A time with words in its cells is meant, too: what is wrong with it is told with its line.
    worded = [name for name in names if name not in numbers and name not in (*on, *by) and seconds_in(name) is not None]
    for found in (times, shared, own_only, numbers if on else [], worded):
        if len(found) == 1:
            return found[0]
    meant = own_only or (numbers if on else times)
    if not meant:
        got = f"got columns {', '.join(names)}, expected a further one of numbers: the time"
        raise DataError(got, place=own.header_place(names[-1]), hint=f"Add it, or name it: {flag} NAME.")
    got = f"got columns of numbers {', '.join(meant)}, expected one that can be the time"
    raise DataError(got, place=own.header_place(meant[0]), hint=f"Name it: {flag} NAME.")


def check_positive(side: Side, name: str, *, gaps: bool = False) -> None:
    """Accept a column of numbers > 0, with ``gaps`` also empty cells; DataError with the line of the first other one."""
    column = pd.to_numeric(side.frame[name], errors="coerce").to_numpy(float)
    empty = side.frame[name].isna().to_numpy(bool)
    wrong = np.flatnonzero(~((column > 0.0) & np.isfinite(column) | empty & gaps))
    if len(wrong):
        value = side.frame[name].tolist()[int(wrong[0])]
        hint = number_hint(value) if isinstance(value, str) else bound_hint(float(value), is_time=True)
        raise DataError(f"got {value!r}, expected a number > 0", place=side.place(int(wrong[0]), [name]), hint=hint)


def _named(side: Side, name: str, new: str) -> Side:
    """The same rows with the value under its new name; another column of that name keeps a name of its own."""
    columns = {name: new} if name == new or new not in side.frame else {name: new, new: f"{new}_given"}
    return replace(side, frame=side.frame.rename(columns=columns))
