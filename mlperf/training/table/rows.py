"""The rows of a table that a model is fitted to: read, and refused where nothing can be learnt from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError, FitError
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.dictionary.numbers import NOT_FINITE_HINT, bound_hint
from mlperf.datasets.joining.join import Joined, Table
from mlperf.datasets.reading.cell_kinds import clock_remedy, have_units, spelling_remedy, unit_remedy
from mlperf.datasets.reading.inference import MISSING_HINT, OTHER_TARGET
from mlperf.models.formula.evaluate import evaluate
from mlperf.models.formula.expressions import Expression, Name, names, parse, text
from mlperf.models.formula.syntax import Binary, Call, Group, Signed
from mlperf.training.table.columns import would_explain
from mlperf.training.table.levels import WHOLE
from mlperf.training.table.screening import holds_numbers, is_number

LEAST_ROWS = 3
ARITHMETIC = ("log", "log2", "log10", "log1p", "sqrt", "exp", "I")
SIGNED_HINT = "A response that is no time may be zero or negative: noise='absolute'."
MOST_MISSING = 0.5
"""Share of missing cells above which a column that nobody named is left out, as the reader has it."""


def read_rows(table: Table, target: str, used: Sequence[str], *, na: str, offers: bool, **cells: Any) -> Joined:
    """The rows to fit.

    Parameters
    ----------
    table : DataFrame, str or Path
        A frame or a file.
    target : str
        The column to predict.
    used : sequence of str
        Columns that somebody named.
    na : str
        ``drop`` leaves out rows with a missing cell in a column that is used; ``error`` refuses them.
    offers : bool
        Whether every column that may explain the target is used, since nobody named terms.
    **cells
        As `mlperf.datasets.read_any_table` takes them.

    Raises
    ------
    DataError
        As `mlperf.datasets.read_any_table`; a missing cell in a column that is used.
    """
    if isinstance(table, pd.DataFrame):
        if len(table) == 0:
            raise nothing_to_fit(table, (), "table")
        table = _typed(table, target, cells.get("categorical", ()), positive=bool(cells.get("positive")))
        named = [name for name in (target, *used) if name in table]
        missing = table[named].isna().any(axis=1)
        if na == "error" and missing.any():
            row = int(np.argmax(missing.to_numpy()))
            name = next(name for name in named if pd.isna(table[name].iloc[row]))
            raise DataError(
                "got no value", place=f"table, row {row + 1}, column {name}", hint="Leave such rows out: na='drop' (--na drop)."
            )
        rows = table[~missing].reset_index(drop=True)
        gaps = _used_gaps(rows, target, used) if offers and target in rows else []
        if gaps and na == "error":
            row = int(np.argmax(rows[gaps[0]].isna().to_numpy()))
            raise _gap(rows[gaps[0]], f"table, row {row + 1}, column {gaps[0]}")
        return Joined(rows[~rows[gaps].isna().any(axis=1)].reset_index(drop=True), (), {})
    from mlperf.datasets import read_any_table

    found = read_any_table(table, target, columns=used or None, na=na, others="offer", **cells)
    gaps = _used_gaps(found, target, used) if offers and na == "error" else []
    if gaps:
        raise _gap(found[gaps[0]], f"{table}, {found.attrs['gaps'][gaps[0]]}, column {gaps[0]}")
    return Joined(found, (), {Path(table).name: found.attrs["sha256"]})


def _typed(table: pd.DataFrame, target: str, categorical: Sequence[str], *, positive: bool) -> pd.DataFrame:
    """A frame as a file would be read: numbers that stand as objects, labels that look like numbers.

    Raises
    ------
    DataError
        Columns whose names are no texts, or equal; a target that is no number, or not > 0 where it must be.
    """
    _check_columns(table)
    made: dict[str, pd.Series] = {}
    for name in map(str, table):
        column = table[name]
        if name in categorical:
            made[name] = column.astype(str).str.replace(WHOLE, r"\1", regex=True).where(column.notna(), None)
        elif holds_numbers(column):
            made[name] = pd.to_numeric(column)
    found = table.assign(**made) if made else table
    if target in found:
        _check_responses(found[target], positive=positive)
    return found


def _check_columns(table: pd.DataFrame) -> None:
    names = list(table)
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise DataError(
                f"got a column called {name!r}, expected names that are texts",
                place="table",
                hint="table.columns = table.columns.astype(str)",
            )
        if name in names[:place]:
            raise DataError(f"got two columns called {name!r}, expected different names", place="table", hint="Rename one of them.")


def _check_responses(column: pd.Series, *, positive: bool) -> None:
    dated = pd.api.types.is_timedelta64_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype)
    nothing = np.full(len(column), np.nan)
    numbers = nothing if dated else pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
    no_number = "Write durations as numbers: column.dt.total_seconds()." if dated else OTHER_TARGET
    checks = (
        (np.isnan(numbers) & column.notna().to_numpy(bool), no_number),
        (np.isinf(numbers), NOT_FINITE_HINT),
        (positive & (numbers <= 0.0), SIGNED_HINT),
    )
    for wrong, hint in checks:
        if wrong.any():
            row = int(np.argmax(wrong))
            shown = repr(str(column.iloc[row])) if np.isnan(numbers[row]) else repr(float(numbers[row]))
            hint = (clock_remedy(str(column.iloc[row])) or hint) if hint == OTHER_TARGET else hint
            advice = f"{bound_hint(numbers[row], is_time=True)} {hint}" if hint == SIGNED_HINT else hint
            raise DataError(
                f"got {shown}, expected {'a number > 0' if positive else 'a finite number'}",
                place=f"table, row {row + 1}, column {column.name}",
                hint=advice,
            )


def _used_gaps(frame: pd.DataFrame, target: str, named: Sequence[str]) -> list[str]:
    """Columns of numbers with missing cells that would explain the target without these rows."""
    shares = {str(name): float(frame[name].isna().mean()) for name in frame if name not in named and is_number(frame[name])}
    return [name for name, share in shares.items() if 0.0 < share <= MOST_MISSING and would_explain(frame, name, target)]


def _gap(column: pd.Series, place: str) -> DataError:
    hint = f"{MISSING_HINT} Terms that do not read the column need no value in it (--terms)."
    return DataError(
        f"got an empty cell, as in {int(column.isna().sum())} of {len(column)} rows, expected a number", place=place, hint=hint
    )


def check_target(frame: pd.DataFrame, target: str, place: str) -> None:
    """Accept a target that differs between rows.

    Raises
    ------
    DataError
        It has one value in all of several rows.
    """
    values = frame[target]
    if len(values) >= LEAST_ROWS and values.nunique() == 1:
        raise DataError(
            f"got {values.iloc[0]} in every row, expected a target that differs between rows",
            place=f"{place}, column {target}",
            hint="There is nothing to fit: choose another column (--target), or measure more different rows.",
        )


def nothing_to_fit(frame: pd.DataFrame, aside: Sequence[Any], place: str) -> Exception:
    """Why no model can be fitted: no column is left, with the reasons, or too few rows."""
    if frame.shape[1] == 0 and len(frame) >= LEAST_ROWS:
        why = "; ".join(f"{item.name} {item.reason}" for item in aside) or "the table has no other column"
        return DataError(
            f"got no column that may explain the target ({why}), expected at least one",
            place=place,
            hint="Name terms over the columns to use (--terms 'a, b, a*b').",
        )
    rows = "1 row" if len(frame) == 1 else f"{len(frame)} rows"
    return FitError(
        f"got {rows}, expected at least {LEAST_ROWS}", place=place, hint="Measure more; a model needs several rows for each term."
    )


def error_in_terms(error: DataError, terms: Sequence[str] | str | None, frame: pd.DataFrame, place: str) -> DataError:
    """The error of a term with its file, value and remedy: one that counts with text or has no value; any other as it is."""
    return _no_value(terms, frame, place) or _text_in_terms(error, frame, place)


def _text_in_terms(error: DataError, frame: pd.DataFrame, place: str) -> DataError:
    name = (error.place or "").removeprefix("column ")
    if error.place != f"column {name}" or name not in frame or is_number(frame[name]):
        return error
    texts = frame[name].astype(str)
    advice = unit_remedy(texts, name) if have_units(texts) else spelling_remedy(texts)
    if advice:
        hint = f"{advice[0].upper()}{advice[1:]}."
    else:
        quoted = text(Name(name))
        hint = (
            f"Labels stand by themselves or before a colon: --terms '{quoted}, {quoted}:I(a*b)'; or in R's language: "
            f"--formula '... ~ {quoted} * a'. In other terms a column must hold numbers."
        )
    return DataError(
        f"got {texts.iloc[0]!r}, expected numbers: a term counts with this column", place=f"{place}, column {name}", hint=hint
    )


def _no_value(terms: Sequence[str] | str | None, frame: pd.DataFrame, place: str) -> DataError | None:
    """The error of the first row on which a term has no value, with the cell that is why; None where every term has one."""
    is_formula = isinstance(terms, str)
    listed = () if terms is None else [terms.lstrip("~ ")] if isinstance(terms, str) else terms
    for tree in (each for term in listed for each in _calls(parse(term), counts=not is_formula)):
        read = [name for name in names(tree) if name in frame]
        if not read or not all(is_number(frame[name]) for name in read):
            continue
        with np.errstate(all="ignore"):
            wrong = ~np.isfinite(np.broadcast_to(evaluate(tree, frame), len(frame)))
        if wrong.any():
            row = int(np.argmax(wrong))
            cells = ", ".join(f"{name} = {float(frame[name].iloc[row]):g}" for name in read)
            return DataError(
                f"got {cells} in row {row + 1}, as in {int(wrong.sum())} of {len(frame)} rows, expected a value of {text(tree)}",
                place=f"{place}, column {read[0]}",
                hint="Logarithms of zero, 1/0 and roots of negative numbers have none: write log(1 + x) or another term, or leave "
                "these rows out of the table.",
            )
    return None


def _calls(tree: Expression, *, counts: bool) -> Iterator[Expression]:
    """Parts of a term that are arithmetic, the innermost first; outside of functions ``/`` and ``^`` of a formula are not."""
    if isinstance(tree, Call):
        for each in tree.arguments:
            yield from _calls(each, counts=counts or tree.function == "I")
        if tree.function in ARITHMETIC:
            yield tree
    elif isinstance(tree, Binary):
        yield from _calls(tree.left, counts=counts)
        yield from _calls(tree.right, counts=counts)
        if counts and tree.operator in "/^":
            yield tree
    elif isinstance(tree, Signed):
        yield from _calls(tree.operand, counts=counts)
    elif isinstance(tree, Group):
        yield from _calls(tree.inner, counts=counts)


def check_names(frame: pd.DataFrame, names: Sequence[str], place: str) -> None:
    """Accept names of columns that are there.

    Raises
    ------
    DataError
        Names the first that is not, and a near one.
    """
    for name in names:
        if name not in frame:
            hint = nearest_hint(name, [str(each) for each in frame])
            raise DataError(f"got no column {name!r}, expected one of {', '.join(map(str, frame.columns))}", place=place, hint=hint)
