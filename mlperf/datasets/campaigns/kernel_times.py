"""Tables of measured kernels, from any contraction campaign or CSV file, in one form."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.errors import DataError, UsageError
from mlperf.datasets.dictionary.numbers import EMPTY_HINT, WHOLE_HINT, bound_hint
from mlperf.specs.patterns import check_pattern, swap_group

UNNAMED = "this machine"
"""In the column ``machine`` where a table has none."""
TIME_COLUMNS = ("time_mean_s", "time_s", "time_median_s")
REPEATS = tuple(f"cpu{number}_s" for number in range(1, 6))
HALVES = ("time_odd_s", "time_even_s")
COUNTS = ("cnt_", "in_")
"""Beginnings of static counts: of the whole function, of its innermost loops."""
SUMMARIES = ("n_insn", "n_inner", "n_loops", "max_depth", "vectorized", "mem_loads_inner", "lanes_inner")
LABELS = ("machine", "pattern_set", "build", "kernel", "pattern")
NUMBERS = ("N", "offset_bytes", "cycles_mean", *TIME_COLUMNS, *REPEATS, *HALVES, *SUMMARIES)

Refuse = Callable[[int, str, str, str], DataError]
"""The error for a cell: row from 0, column, what was expected, hint."""


def is_known(column: str) -> bool:
    """Whether the common form makes something of a column of numbers."""
    return column in NUMBERS or column.startswith(COUNTS)


def has_counts(frame: pd.DataFrame) -> bool:
    """Whether a table of kernels holds static counts."""
    return any(str(name).startswith(COUNTS) for name in frame.columns)


def normal_form(raw: pd.DataFrame, refuse: Refuse | None = None, *, timed: bool = True) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Bring kernels into one form.

    Parameters
    ----------
    raw : DataFrame
        One row a kernel: ``pattern``, ``N``, a time (`TIME_COLUMNS`), and what else of `LABELS`, `NUMBERS` and `COUNTS` there is.
    refuse : callable, optional
        Makes the error for a wrong cell; by default it names the row of the frame.
    timed : bool
        False: times may be missing.

    Returns
    -------
    DataFrame
        ``machine, pattern_set, build, N, offset_bytes, kernel, pattern, swap_group, iterations, time_s``, ``cycles`` of one call
        (NaN: not counted), ``half_a_s`` and ``half_b_s`` (means of two halves of the repeats; NaN without), then static counts.
    tuple of str
        What had to be assumed.

    Raises
    ------
    DataError
        A time is not positive, a size not whole, a count negative, or a pattern none.
    """
    named = next(name for name in TIME_COLUMNS if name in raw)
    kept = [name for name in raw.columns if name.startswith(COUNTS) or name in SUMMARIES]
    check_cells(raw, named, kept, refuse or partial(row_error, raw), timed=timed)
    size, patterns = raw["N"].to_numpy(int), raw["pattern"].astype(str)
    first, second, notes = halves(raw)
    frame = pd.DataFrame(
        {
            "machine": text_column(raw, "machine", UNNAMED),
            "pattern_set": text_column(raw, "pattern_set", ""),
            "build": text_column(raw, "build", ""),
            "N": size,
            "offset_bytes": raw["offset_bytes"].to_numpy(int) if "offset_bytes" in raw else np.zeros(len(raw), int),
            "kernel": text_column(raw, "kernel", "") if "kernel" in raw else patterns,
            "pattern": patterns,
            "swap_group": patterns.map(swap_group),
            "iterations": size.astype(float) ** patterns.map(number_of_loops).to_numpy(int),
            "time_s": raw[named].to_numpy(float),
            "cycles": cycles_of(raw),
            "half_a_s": first,
            "half_b_s": second,
        }
    )
    return pd.concat([frame, raw[kept].fillna(0.0).reset_index(drop=True)], axis=1), notes


def check_cells(raw: pd.DataFrame, time: str, counts: list[str], refuse: Refuse, *, timed: bool) -> None:
    """Accept times > 0 (missing ones only where nothing was timed), whole sizes, counts >= 0 and patterns."""
    rules: list[tuple[str, Callable[[Any], BoolArray], str, str]] = [
        (time, lambda cells: (cells > 0) | (np.isnan(cells) & (not timed)), "seconds > 0", ""),
        ("N", lambda cells: (cells >= 1) & (cells % 1 == 0), "a whole number >= 1", WHOLE_HINT),
        ("offset_bytes", lambda cells: (cells >= 0) & (cells % 1 == 0), "a whole number >= 0", WHOLE_HINT),
        *((name, lambda cells: (cells >= 0) | np.isnan(cells), "a number >= 0", "") for name in counts),
    ]
    for column, is_right, expected, hint in rules:
        cells = raw[column].to_numpy(float) if column in raw else np.ones(len(raw))
        wrong = ~is_right(cells)
        if wrong.any():
            row = int(np.argmax(wrong))
            own = EMPTY_HINT if np.isnan(cells[row]) else bound_hint(float(cells[row]), is_time=column == time)
            raise refuse(row, column, expected, hint or own)
    for row, pattern in enumerate(raw["pattern"].astype(str)):
        try:
            check_pattern(pattern)
        except UsageError as error:
            raise refuse(row, "pattern", error.message.partition("expected ")[2], error.hint or "") from None


def row_error(raw: pd.DataFrame, row: int, column: str, expected: str, hint: str) -> DataError:
    """The error for a cell of a frame that is in no file."""
    place = f"row {row + 1} of the kernels, column {column}"
    return DataError(f"got {raw[column].iloc[row]!s}, expected {expected}", place=place, hint=hint)


def number_of_loops(pattern: str) -> int:
    """Loops around a contraction: i, j, k, l and every further index."""
    return len({*"ijkl", *pattern} - {"-"})


def text_column(raw: pd.DataFrame, name: str, default: str) -> pd.Series[str]:
    """A column as text; the default where the table has none or a cell is empty."""
    if name not in raw:
        return pd.Series(default, index=raw.index)
    cells = raw[name].fillna("").astype(str)
    return cells.where(cells != "", default)


def cycles_of(raw: pd.DataFrame) -> Any:
    """Counted clock cycles of one call; NaN where nothing counted them."""
    counted = raw["cycles_mean"].to_numpy(float) if "cycles_mean" in raw else np.zeros(len(raw))
    return np.where(counted > 0, counted, np.nan)


def halves(raw: pd.DataFrame) -> tuple[Any, Any, tuple[str, ...]]:
    """Means of two halves of the repeats of every row, and a note where there are none."""
    repeats = [name for name in REPEATS if name in raw]
    if len(repeats) >= 2:
        cut = len(repeats) // 2
        return raw[repeats[:cut]].mean(axis=1).to_numpy(float), raw[repeats[cut:]].mean(axis=1).to_numpy(float), ()
    if set(HALVES) <= set(raw.columns):
        odd, even = (raw[name].to_numpy(float) for name in HALVES)
        return odd, np.where(even > 0, even, np.nan), ()
    nothing = np.full(len(raw), np.nan)
    return nothing, nothing, ("no repeats in the table: the noise ceiling is unknown",)
