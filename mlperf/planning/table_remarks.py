"""What there is to say about predicted rows: missing cells, labels new or rare, sizes that were not measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.suggest import nearest
from mlperf.planning.table_rows import AskedRows
from mlperf.training.table.columns import constants
from mlperf.training.table.levels import OTHER, ColumnLevels
from mlperf.training.table.table_model import TableModel

Faults = dict[str, BoolArray]
"""Rows by column, shape (n_rows,) each; columns with such rows only."""
Texts = np.ndarray[tuple[int], np.dtype[np.object_]]
LabelRemark = Callable[[TableModel, str, str], str]
MOST_COLUMNS = 3
"""Columns of one row that are named; more are counted."""
COMBINATION = "a combination of sizes unlike those measured"
UNDEFINED = "a term has no value there: not predicted"
CUT_OFF = "the method's own time is below a quarter of the shortest measured"


@dataclass(frozen=True, slots=True, eq=False)
class RowFaults:
    """Rows by column: ``missing`` cells, labels that are ``new``, and labels that only few training rows have (``rare``)."""

    missing: Faults
    new: Faults
    rare: Faults

    def unpredictable(self, model: TableModel, n_rows: int) -> BoolArray:
        """Rows that cannot be predicted, shape (n_rows,)."""
        found = list(self.missing.values()) + ([] if model.takes_new_levels else list(self.new.values()))
        return np.asarray(np.logical_or.reduce([np.zeros(n_rows, bool), *found]), bool)


def row_faults(model: TableModel, asked: AskedRows) -> RowFaults:
    """What is wrong with the cells that a model reads."""
    missing = {name: asked.missing(name) for name in model.columns}
    known = {name: labels for name, labels in model.levels.items() if name in missing}
    new = {name: asked.new_labels(name, labels) & ~missing[name] for name, labels in known.items()}
    rare = {name: ~asked.new_labels(name, model.rare_levels(name)) & ~missing[name] for name in known}
    kept = ({name: rows for name, rows in each.items() if rows.any()} for each in (missing, new, rare))
    return RowFaults(*kept)


def remarks(
    model: TableModel, asked: AskedRows, faults: RowFaults, inside: BoolArray, *, undefined: BoolArray | None = None
) -> Texts:
    """Of each row what is missing, what a label is predicted as, and why it lies outside the measured domain; shape (n_rows,).

    ``""`` for a row inside; ``undefined`` are rows on which a term has no value.
    """
    told = np.full(len(asked.frame), "", object)
    for name, rows in faults.missing.items():
        _add(told, rows, [f"no {name}"] * int(rows.sum()))
    for name, rows in faults.new.items():
        _add(told, rows, _label_remarks(model, asked, name, rows, _new_remark))
    for name, rows in faults.rare.items():
        _add(told, rows, _label_remarks(model, asked, name, rows, _rare_remark))
    outside = ~inside & ~faults.unpredictable(model, len(told))
    _add_sizes(told, model, asked, outside)
    if undefined is not None:
        _add(told, undefined, [UNDEFINED] * int(undefined.sum()))
    rest = np.flatnonzero(outside & (told == ""))
    if len(rest):
        told[rest] = np.where(model.is_cut_off(asked.frame.iloc[rest]), CUT_OFF, COMBINATION)
    return told


def size_remark(name: str, value: float, lower: float, upper: float) -> str:
    """That a size lies outside the measured ones: ``"m = 900 is outside the measured 1 to 64"``."""
    texts = next(each for each in ([f"{v:.{d}g}" for v in (value, lower, upper)] for d in (6, 9, 17)) if each[0] not in each[1:])
    if value <= 0.0 < lower:
        return f"{name} = {texts[0]} is not positive (measured: {texts[1]} to {texts[2]})"
    return f"{name} = {texts[0]} is outside the measured {texts[1]} to {texts[2]}"


def sizes_outside(model: TableModel, asked: AskedRows, rows: BoolArray) -> dict[str, tuple[BoolArray, FloatArray]]:
    """By column, those of some rows whose size lies outside the measured range, shape (n_rows,), and the sizes of all rows."""
    found = {}
    for name, (lower, upper) in model.ranges.items():
        values = asked.frame[name].to_numpy(float)
        beyond = rows & ((values < lower) | (values > upper))
        if beyond.any():
            found[name] = (beyond, values)
    return found


def notes_of(asked: AskedRows, faults: RowFaults) -> tuple[str, ...]:
    """A sentence for each column with missing cells, new labels or rare ones, with file and line."""
    told = []
    for name, rows in faults.missing.items():
        told.append(f"column {name} is missing in {int(rows.sum()):,} rows, not predicted: {_where(asked, rows)}")
    for name, rows in faults.new.items():
        told.append(f"column {name} has labels that the model has not seen ({_labels(asked, name, rows)}): {_where(asked, rows)}")
    for name, rows in faults.rare.items():
        count = "1 row has a label" if rows.sum() == 1 else f"{int(rows.sum()):,} rows have labels"
        told.append(
            f"column {name}: {count} of too few training rows to be told apart ({_labels(asked, name, rows)}), outside the "
            f"measured domain: {_where(asked, rows)}"
        )
    return tuple(told)


def constants_elsewhere(model: TableModel, asked: AskedRows) -> Faults:
    """By column that had one value wherever the model learnt, the rows with another one here; columns with such rows only."""
    found = {}
    for name, value in constants(model.set_aside).items():
        # A date says nothing about other rows, varied or not.
        if name not in asked.frame or pd.api.types.is_datetime64_any_dtype(asked.frame[name].dtype):
            continue
        rows = ~asked.missing(name) & ~_equal(asked.frame[name], value)
        if rows.any():
            found[name] = rows
    return found


def with_constants(told: Texts, model: TableModel, asked: AskedRows, elsewhere: Faults) -> Texts:
    """The remarks with what `constants_elsewhere` found: ``"gpus = 16 (measured: 8 only)"``; shape (n_rows,)."""
    told, values = told.copy(), constants(model.set_aside)
    named = np.zeros(len(told), int)
    for name, rows in elsewhere.items():
        shown = rows & (named < MOST_COLUMNS)
        labels = asked.frame.loc[shown, name].astype(str)
        _add(told, shown, [f"{name} = {label} (measured: {values[name]} only)" for label in labels])
        named += rows
    more = named > MOST_COLUMNS
    _add(told, more, [f"and in {count} more of the columns of one measured value" for count in named[more] - MOST_COLUMNS])
    return told


def constant_notes(model: TableModel, asked: AskedRows, elsewhere: Faults) -> tuple[str, ...]:
    """A sentence for each column that had one value wherever the model learnt and has another one in some rows here."""
    values = constants(model.set_aside)
    return tuple(
        f"column {name} was {values[name]} in every row that the model learnt from, so that it knows nothing of other values "
        f"({_labels(asked, name, rows)}), nor do the intervals and the measured domain: {_where(asked, rows)}"
        for name, rows in elsewhere.items()
    )


def _equal(column: pd.Series[Any], value: str) -> BoolArray:
    """Rows with a value, as text or as number; shape (n_rows,)."""
    alike = column.astype(str).str.strip().eq(value.strip()).to_numpy(bool)
    number = pd.to_numeric(pd.Series([value]), errors="coerce").iloc[0]
    return np.asarray(alike | pd.to_numeric(column, errors="coerce").eq(number).to_numpy(bool))


def _where(asked: AskedRows, rows: BoolArray) -> str:
    return asked.where(np.flatnonzero(rows).tolist())


def _labels(asked: AskedRows, name: str, rows: BoolArray) -> str:
    return ", ".join(repr(label) for label in asked.frame.loc[rows, name].astype(str).unique()[:5])


def _add(told: Texts, rows: BoolArray, texts: list[str]) -> None:
    told[rows] = [f"{before}; {text}" if before else text for before, text in zip(told[rows], texts, strict=True)]


def _label_remarks(model: TableModel, asked: AskedRows, name: str, rows: BoolArray, remark: LabelRemark) -> list[str]:
    labels = asked.frame.loc[rows, name].astype(str)
    said = {label: remark(model, name, label) for label in labels.unique()}
    return [said[label] for label in labels]


def _new_remark(model: TableModel, name: str, label: str) -> str:
    near = nearest(label, model.levels[name])
    asked = f"{name} {label} is new" if near is None else f"{name} {label} is new (did you mean {near}?)"
    stand_in = model.stand_ins.get(name)
    return asked if stand_in is None else f"{asked}: predicted as {stand_in.substitute}, the most frequent"


def _rare_remark(model: TableModel, name: str, label: str) -> str:
    stand_in = model.stand_ins.get(name)
    if stand_in is None or label not in stand_in.pooled:
        return f"{name} {label} is in few training rows only"
    return f"{name} {label} is in {_rows(stand_in, label)} only: predicted as {_pool(stand_in)}"


def _rows(levels: ColumnLevels, label: str) -> str:
    count = levels.counts.get(label)
    return "few training rows" if count is None else "1 training row" if count == 1 else f"{count} training rows"


def _pool(levels: ColumnLevels) -> str:
    if levels.pool != OTHER:
        return levels.pool
    others = len(levels.pooled) - 1
    return f"{OTHER}, with {others} other rare label{'' if others == 1 else 's'}"


def _add_sizes(told: Texts, model: TableModel, asked: AskedRows, outside: BoolArray) -> None:
    """Name the sizes of rows outside that lie outside their range, and count those beyond the first few."""
    found = sizes_outside(model, asked, outside)
    named = np.zeros(len(told), int)
    for name, (rows, values) in found.items():
        shown = rows & (named < MOST_COLUMNS)
        _add(told, shown, [size_remark(name, value, *model.ranges[name]) for value in values[shown]])
        named += rows
    more = named > MOST_COLUMNS
    _add(told, more, [f"{count} further columns outside what was measured" for count in named[more] - MOST_COLUMNS])
