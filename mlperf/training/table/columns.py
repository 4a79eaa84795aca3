"""Which columns of a table may explain the target: not identifiers, not other measurements, not the target in disguise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import LONGEST, SHORTEST, FloatArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.datasets.joining.join import JoinedTable
from mlperf.datasets.reading.cell_kinds import have_several, have_units, spelling_remedy, unit_remedy
from mlperf.training.table.disguise import EXACT, OUTCOME_NAME, SEEMS, is_function_of, scatter_about
from mlperf.training.table.screening import is_number

ORDINAL_NAMES = frozenset(
    {"id", "index", "idx", "row", "round", "repeat", "rep", "sequence", "run", "run_id", "trial", "seed", "timestamp"}
)
TIME_NAME = re.compile(
    r"(^|[_ (\[])(time|duration|latency|elapsed|wall|runtime|seconds|cycles)([_ )\]]|$)|([_ (\[])(s|ms|us|ns|sec|min|h)[)\]]?$",
    re.I,
)
RATE_NAME = re.compile(
    r"(g|t|m|p|giga|tera|mega)flop(s|/s|_s|_per_s)\b"
    r"|(^|[_ (\[])(throughput|bandwidth|speed|fps|qps|ips|rate|efficiency|utili[sz]ation|speedup|[kmgt]?bps)([_ )\]]|$)"
    r"|(per[_ ]s|per[_ ]sec|per[_ ]second|[kmgt]i?b_s|/ ?s|/ ?sec|/ ?second)[)\]]?$",
    re.I,
)
RATE_CORRELATION = 0.8
"""A rate moves with the time beside the sizes that it was divided by."""
MANY_LEVELS = 0.2
"""A text column with more levels than this share of the rows tells nothing about a new row."""
SIZES = re.compile(r"[+-]?\d[\d.,]*(?:[eE][+-]?\d+)? ?[A-Za-zµμ%/]{1,6}|\d+(?:[x×*,;_ ]\d+)+|[\[(]\d+(?:, ?\d+)*,?[\])]")
"""Texts that are sizes and no names of rows: ``123.4G``, ``80 GB``, ``64x128``, ``(64, 128)``."""
UNITS = "holds numbers with units"
UNREAD = (UNITS, "holds numbers in an unusual spelling", "holds several numbers in each cell")
"""Words by which the verdict finds columns of sizes that were set aside."""
BESIDE = "is a column of the measurements: beside feature tables it counts only where a term names it (--terms)"
CONSTANT = re.compile(r"is (.*) in every row", re.DOTALL)
"""The reason of a column that has one value."""
NO_ZERO = 1e-100
"""What is closer to zero has no reciprocal to count with."""

MOST_ROWS = 2000
COUNTED_ROWS = 10
LOOK_ALIKE = 1e-9


@dataclass(frozen=True, slots=True)
class SetAside(Shown):
    """A column that is not offered as an explanation, and why."""

    name: str
    reason: str


def explaining_columns(frame: pd.DataFrame, target: str, groups: str | None = None) -> tuple[tuple[str, ...], tuple[SetAside, ...]]:
    """Columns that may explain the target where nobody said which.

    Set aside are columns with missing cells, constants, identifiers and row numbers, texts that differ in nearly every row, other
    measured times, rates made of the target (``teraflops``), outcomes that go with it (``energy_j``), exact functions of it
    (``log_time``) where others remain, and columns that repeat an earlier one.

    Parameters
    ----------
    frame : DataFrame, shape (n_rows, n_columns)
    target : str
        The column to predict.
    groups : str, optional
        The column that says what belongs together.

    Returns
    -------
    tuple of str, tuple of SetAside
        Both in the order of the table.
    """
    y = frame[target].to_numpy(float)
    offered = [str(name) for name in frame if name not in (target, groups)]
    aside = dict(_by_themselves(frame, offered))
    for name in offered:
        if name not in aside and is_number(frame[name]) and _is_target(frame[name].to_numpy(float), y):
            aside[name] = f"is {target} in another unit"
    sizes = [name for name in offered if name not in aside and is_number(frame[name]) and not _is_measured(name)]
    # A size that makes the time alone is all that a table may have; beside other columns an exact function is the target itself.
    exact = [name for name in sizes if is_function_of(frame[name].to_numpy(float), y)]
    if any(name not in aside and name not in exact and not _is_measured(name) for name in offered):
        aside |= dict.fromkeys(exact, f"{SEEMS}: {target} follows from it alone to less than 0.1 % (--terms takes it all the same)")
        sizes = [name for name in sizes if name not in exact]
    for name in offered:
        if name not in aside and is_number(frame[name]) and name not in sizes:
            reason = _measured_reason(frame, name, y, sizes)
            if reason:
                aside[name] = reason
    aside |= _copies(frame, [name for name in offered if name not in aside])
    kept = tuple(name for name in offered if name not in aside)
    return kept, tuple(SetAside(name, aside[name]) for name in offered if name in aside)


def constants(aside: Sequence[SetAside]) -> dict[str, str]:
    """Value of each column that was set aside since it has only one; none of identifiers, and of what goes with the target."""
    found = {item.name: CONSTANT.fullmatch(item.reason) for item in aside}
    own = {name: each[1] for name, each in found.items() if each is not None}
    return {name: value for name, value in own.items() if name.lower() not in ORDINAL_NAMES and not _is_measured(name)}


def telling_columns(frame: pd.DataFrame, target: str, offered: Sequence[str], groups: str | None = None) -> tuple[str, ...]:
    """Columns of which equal values are needed for two rows to be repeats of one measurement.

    Parameters
    ----------
    frame : DataFrame, shape (n_rows, n_columns)
        The whole table.
    target : str
        The column to predict.
    offered : sequence of str
        Columns that may explain it.
    groups : str, optional
        The column that says what belongs together.

    Returns
    -------
    tuple of str
        The offered columns and those that nothing can be read of, such as sizes with a suffix or columns with missing cells. What
        was measured with the target, identifiers of single rows, dates and constants do not count.
    """
    others = [str(name) for name in frame if name not in (target, groups, *offered)]
    return (*offered, *(name for name in others if _tells_apart(frame, name, target)))


def columns_beside(frame: pd.DataFrame, target: str, tables: Sequence[JoinedTable], named: Sequence[str]) -> tuple[str, ...]:
    """Sizes and labels of the measurements, which beside feature tables explain nothing where no term names them.

    Parameters
    ----------
    frame : DataFrame, shape (n_rows, n_columns)
        The joined rows.
    target : str
    tables : sequence of JoinedTable
        What was joined; none: no column stands beside.
    named : sequence of str
        Columns that somebody named.
    """
    features = {name for table in tables for name in (*table.on, *table.columns)}
    own = frame[[name for name in frame if name == target or name not in features]]
    offered = explaining_columns(own, target)[0] if tables and own.shape[1] > 1 else ()
    return tuple(name for name in offered if name not in named and not (is_number(own[name]) and (own[name] % 1 != 0).any()))


def _tells_apart(frame: pd.DataFrame, name: str, target: str) -> bool:
    """Whether a column that is not offered may be why two rows differ."""
    column = frame[name]
    if name.lower() in ORDINAL_NAMES:
        return False
    if column.isna().any():
        return bool(column.notna().any()) and (not is_number(column) or would_explain(frame, name, target))
    if is_number(column) or pd.api.types.is_datetime64_any_dtype(column.dtype):
        return False
    return 1 < column.nunique() < len(column) or all(map(SIZES.fullmatch, column.astype(str)))


def would_explain(frame: pd.DataFrame, name: str, target: str) -> bool:
    """Whether a column with missing cells would be offered as an explanation if these rows were left out."""
    whole = frame[[each for each in frame if each in (name, target) or not frame[each].isna().any()]]
    return name in explaining_columns(whole[whole[name].notna()].reset_index(drop=True), target)[0]


def check_magnitudes(frame: pd.DataFrame, target: str, place: str) -> None:
    """Accept numbers with whose squares and products one can count.

    Raises
    ------
    DataError
        A number beyond `LONGEST`, or closer to zero than `NO_ZERO`, of the target than `SHORTEST`; names column, row and value.
    """
    for name in frame:
        if not is_number(frame[name]):
            continue
        sizes = np.abs(frame[name].to_numpy(float))
        least = SHORTEST if name == target else NO_ZERO
        wrong = (sizes > LONGEST) | ((sizes > 0.0) & (sizes < least))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(
                f"got {float(frame[name].iloc[row])!r} in row {row + 1}, expected numbers between {least:g} and {LONGEST:g}",
                place=f"{place}, column {name}",
                hint="A fit counts with squares and products: choose another unit, or check how the table was exported.",
            )


def _by_themselves(frame: pd.DataFrame, names: list[str]) -> Iterator[tuple[str, str]]:
    """Columns that can explain nothing, whatever the target."""
    n_rows = len(frame)
    for name in names:
        column = frame[name]
        n_levels = int(column.nunique(dropna=False))
        if column.isna().any():
            yield name, f"has {int(column.isna().sum())} missing cells"
        elif n_levels < 2:
            yield name, f"is {column.iloc[0]} in every row"
        elif name.lower() in ORDINAL_NAMES:
            yield name, "numbers the rows or repeats"
        elif is_number(column):
            if len(names) > 1 and n_rows >= COUNTED_ROWS and n_levels == n_rows and _counts_rows(column.to_numpy(float)):
                yield name, "numbers the rows"
        elif pd.api.types.is_datetime64_any_dtype(column.dtype):
            yield name, "is a date"
        elif pd.api.types.is_timedelta64_dtype(column.dtype):
            yield name, "is a span of time: write it as a number (column.dt.total_seconds())"
        elif n_levels > max(MANY_LEVELS * n_rows, 2):
            yield name, _unread_reason(column.astype(str), name) or f"has {n_levels} different texts in {n_rows} rows"


def _unread_reason(texts: pd.Series[Any], name: str) -> str:
    """What texts hold that are sizes, and how to write them; empty for names and the like."""
    with_units, spelled, several = UNREAD
    shown = repr(str(texts.iloc[0]))
    if have_units(texts):
        return f"{with_units} ({shown}) and is not used: {unit_remedy(texts, name)}"
    if remedy := spelling_remedy(texts):
        return f"{spelled} ({shown}) and is not used: {remedy}"
    return f"{several} ({shown}) and is not used: write each number in a column of its own" if have_several(texts) else ""


def _counts_rows(values: FloatArray) -> bool:
    return bool(values[0] in (0.0, 1.0) and (np.diff(values) == 1.0).all())


def _is_measured(name: str) -> bool:
    return bool(TIME_NAME.search(name) or RATE_NAME.search(name) or OUTCOME_NAME.search(name))


def _measured_reason(frame: pd.DataFrame, name: str, y: FloatArray, sizes: list[str]) -> str:
    """Why a column whose name is that of a time, a rate or another outcome is no explanation; empty where it may be one."""
    is_rate = bool(RATE_NAME.search(name))
    if TIME_NAME.search(name) and not is_rate:
        return "is a measured time by its name"
    values = frame[name].to_numpy(float)
    kind = "a rate" if is_rate else "an outcome by its name"
    scatter = scatter_about(values, y)
    if np.isfinite(scatter):
        close = f"{scatter:.1%}" if scatter >= EXACT else "less than 0.1 %"
        return f"{'is made of' if is_rate else 'goes with'} the target: {kind} that tells it to {close} alone"
    if not (values > 0.0).all() or not (y > 0.0).all():
        return ""
    together = correlation_beside(np.log(values), np.log(y), [frame[size].to_numpy(float) for size in sizes])
    if abs(together) <= RATE_CORRELATION:
        return ""
    return f"{'is made of' if is_rate else 'goes with'} the target: {kind} (correlation {together:.2f} beside the sizes)"


def correlation_beside(one: FloatArray, other: FloatArray, columns: list[FloatArray]) -> float:
    """Correlation of what the logarithms of other columns leave of two columns (partial correlation)."""
    rows = slice(0, MOST_ROWS)
    bent = [np.log(each) if (each > 0.0).all() else each for each in columns]
    design = np.column_stack([np.ones(len(one)), *bent])[rows]
    left = [each[rows] - design @ np.linalg.lstsq(design, each[rows], rcond=None)[0] for each in (one, other)]
    sizes = [float(np.sqrt(each @ each)) for each in left]
    return float(left[0] @ left[1] / (sizes[0] * sizes[1])) if min(sizes) > LOOK_ALIKE * np.sqrt(len(left[0])) else 0.0


def _is_target(values: FloatArray, y: FloatArray) -> bool:
    """Whether a column is the target times a constant and no whole numbers, as a size would be."""
    if len(y) < 4 or np.ptp(y) == 0.0 or not (y != 0.0).all() or (values == np.round(values)).all():
        return False
    ratio = values / y
    return bool(np.ptp(ratio) <= LOOK_ALIKE * np.abs(ratio).max())


def _copies(frame: pd.DataFrame, names: list[str]) -> dict[str, str]:
    """Columns that equal an earlier one up to a factor."""
    found: dict[str, str] = {}
    seen: dict[bytes, str] = {}
    for name in names:
        if not is_number(frame[name]):
            continue
        values = frame[name].to_numpy(float)
        top = np.abs(values).max()
        key = np.round(values / top, 12).tobytes() if top > 0.0 else b""
        if key in seen:
            found[name] = f"repeats {seen[key]}"
        seen.setdefault(key, name)
    return found
