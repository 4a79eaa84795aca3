"""From measured counters, as files hold them, to a feature table: counters by their dictionary, and what is computed from them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.dictionary.counters import COUNTERS, SOURCES
from mlperf.datasets.dictionary.numbers import EMPTY_HINT
from mlperf.datasets.reading.any_table import read_typed_table
from mlperf.datasets.reading.grid import read_grid
from mlperf.datasets.reading.read import ReadTable
from mlperf.datasets.reading.source import read_source
from mlperf.datasets.reading.time_units import TIME_SUFFIXES
from mlperf.features.counters.derived import DerivedColumn, derive
from mlperf.features.network.base import KEY, FeatureColumn, FeatureTable

LINEAR_COUNTERS = ("cg_Ir", "cg_Dr", "cg_Dw", "cg_D1mr", "cg_DLmr", "cg_Bcm")
"""Instructions, reads, writes, read misses of both caches, wrong branches: a linear model of six counters."""

LINE_BYTES = 64
KEY_SEPARATOR = ":"
SECONDS = "s"
EXIT_CODE = "exit_code"
COUNT = ("a number >= 0", "A counter that was not counted is an empty cell, never a negative number or a word.")
"""What a cell of a counter should be, and what to do about another."""
NOT_FEATURES = ("run", EXIT_CODE, "scaled", "hw_running_share", "perf_running_share")


def counter_features(
    frame: pd.DataFrame, *, key: str = KEY, line_bytes: int = LINE_BYTES, times: bool = False, place: str = "table"
) -> FeatureTable:
    """Features of counted runs (DWC-B).

    Parameters
    ----------
    frame : DataFrame, shape (n_runs, n_columns)
        One row a run or a kernel: column ``key`` and counters under the names of ``mlperf.datasets.dictionary.counters``.
        Rows of an equal key are averaged, each counter over the rows that hold it.
    key : str
        Column that names the rows, or several as ``kernel:function``; it is called ``kernel`` in the result.
    line_bytes : int
        Bytes that a miss moves, where the table does not tell (``cg_line_bytes``).
    times : bool
        Give also the times of the runs and rates for each second. They hold the time itself: no features of a model of time.
    place : str
        Where the rows come from, for messages.

    Returns
    -------
    FeatureTable
        Kind ``"dwc-b"``: counters as they were counted, sums, bytes, rates for each instruction, access and branch (and second),
        and logarithms. A counter that some kernel lacks in all its rows is left out, and the notes say so.

    Raises
    ------
    DataError
        No column ``key``, no counter, or a counter with something else than numbers >= 0.
    """
    names = [str(name) for name in frame if name in COUNTERS and name not in NOT_FEATURES]
    checked = frame[names].copy()
    checked.insert(0, KEY, _row_names(frame, key, place))
    for name in names:
        _check_numbers(checked[name], name, place)
    means = checked.groupby(KEY, sort=False, as_index=False).mean()
    whole = [name for name in names if means[name].notna().all()]
    if not whole:
        raise DataError(
            f"has no counter that every {KEY} has: got columns {', '.join(map(str, frame.columns))}",
            place=place,
            hint="mlperf collect counters -o table.csv -- COMMAND writes such tables; its page lists the names of counters.",
        )
    kept = [name for name in whole if times or COUNTERS[name].unit != SECONDS]
    counted = [FeatureColumn(each.name, each.unit, each.source, each.doc) for each in (COUNTERS[name] for name in kept)]
    made = derived_columns(means, whole, line_bytes, times=times)
    table = pd.concat([means[[KEY, *kept]], pd.DataFrame({each.column.name: each.values for each in made})], axis=1)
    columns = (*counted, *(each.column for each in made))
    return FeatureTable("dwc-b", table, columns, {}, tuple(row_notes(frame, checked, key, whole, kept)))


def _row_names(frame: pd.DataFrame, key: str, place: str) -> pd.Series[str]:
    """Name of each row, the parts of a key of several columns with a colon between."""
    for part in key.split(KEY_SEPARATOR):
        if part not in frame:
            labels = [str(name) for name in frame if name not in COUNTERS]
            raise DataError(
                f"is missing: got {', '.join(map(str, frame.columns))}",
                place=f"{place}, column {part}",
                hint=nearest_hint(part, labels) or "Say which column names the rows: --key NAME.",
            )
        if frame[part].isna().any():
            row = int(frame[part].isna().to_numpy().argmax())
            raise DataError("got an empty cell, expected the name of the row", place=f"{place}, line {row + 2}, column {part}")
    return frame[key.split(KEY_SEPARATOR)].astype(str).agg(KEY_SEPARATOR.join, axis=1)


def _check_numbers(values: pd.Series[float], name: str, place: str) -> None:
    """Accept counts: numbers >= 0 or empty cells; DataError: names line and value."""
    numbers = pd.to_numeric(values, errors="coerce")
    wrong = (numbers.isna() & values.notna()) | (numbers < 0) | (numbers == float("inf"))
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise DataError(
            f"got {str(values.iloc[row])!r}, expected {COUNT[0]}", place=f"{place}, line {row + 2}, column {name}", hint=COUNT[1]
        )


def derived_columns(means: pd.DataFrame, names: Sequence[str], line_bytes: int, *, times: bool) -> list[DerivedColumn]:
    """What is computed, one source after the other."""
    made: list[DerivedColumn] = []
    for source, (prefix, _) in SOURCES.items():
        own = [COUNTERS[name] for name in names if COUNTERS[name].source == source]
        quantities = {counter.quantity: means[counter.name] for counter in own if counter.quantity}
        line = quantities.pop("line_bytes", pd.Series(float(line_bytes), index=means.index))
        own_s = quantities.pop("cpu_s", None)
        cpu_s = processor_time(means, names, source) if own_s is None else own_s
        made += derive(quantities, prefix, source, line, cpu_s if times else None)
    return made


def processor_time(means: pd.DataFrame, names: Sequence[str], source: str) -> pd.Series[float] | None:
    """Processor time of the run in which hardware events were counted; None for others: a simulation has no time of its own."""
    clocks = [name for name in ("sw_task_clock_s", "ru_cpu_s") if name in names]
    return means[clocks[0]] if source == "hardware" and clocks else None


def row_notes(frame: pd.DataFrame, checked: pd.DataFrame, key: str, whole: Sequence[str], kept: Sequence[str]) -> list[str]:
    """What was left out, averaged, or has to be known of the rows."""
    said = []
    timed = [name for name in whole if name not in kept]
    if timed:
        said.append(f"times of the runs are no features of a model of time (--times gives them): {', '.join(timed)}")
    n_keys = checked[KEY].nunique()
    having = {name: checked.loc[checked[name].notna(), KEY].nunique() for name in checked.columns[1:] if name not in whole}
    said += [f"{name} left out: {n_keys - number} of {n_keys} {key} lack it" for name, number in having.items()]
    unknown = [str(name) for name in frame if name not in (*checked.columns[1:], *key.split(KEY_SEPARATOR), *NOT_FEATURES)]
    if unknown:
        said.append(f"columns that are no known counters were left out: {', '.join(unknown)}")
    if n_keys < len(frame):
        said.append(f"{len(frame)} rows averaged to {n_keys} of different {key}")
        said += mixed_labels(frame, checked[KEY], unknown, key)
    if EXIT_CODE in frame and (frame[EXIT_CODE] != 0).any():
        said.append(f"{int((frame[EXIT_CODE] != 0).sum())} rows are runs that ended with an exit code other than 0")
    return said


def mixed_labels(frame: pd.DataFrame, names: pd.Series[str], labels: Sequence[str], key: str) -> list[str]:
    """That rows of one name were averaged although another column of labels tells them apart; says which key keeps them apart."""
    groups = frame[list(labels)].groupby(names, sort=False)
    # Times differ from run to run and name nothing.
    apart = [label for label in labels if not label.endswith(TIME_SUFFIXES) and (groups[label].nunique(dropna=False) > 1).any()]
    if not apart:
        return []
    return [f"rows that differ in {', '.join(apart)} were averaged: --key {KEY_SEPARATOR.join((key, *apart))} keeps them apart"]


def dwc_b(inputs: Sequence[Path | str], *, key: str = KEY, line_bytes: int = LINE_BYTES, times: bool = False) -> FeatureTable:
    """Features of counted runs, from the tables of ``mlperf collect counters`` or others with the same names of columns.

    Parameters
    ----------
    inputs : sequence of paths
        CSV files (``.csv``, ``.csv.gz``), a row a run or a kernel. Rows of an equal key are averaged, over all files.
    key : str
        Column that names the rows, or several as ``kernel:function``.
    line_bytes : int
        Bytes that a miss moves, where the tables do not tell.
    times : bool
        Give also the times of the runs and rates for each second.

    Returns
    -------
    FeatureTable
        As `counter_features` makes it; ``inputs`` holds the SHA-256 of every file.

    Raises
    ------
    DataError
        A file is no such table.
    UsageError
        No file was named.
    """
    if not inputs:
        raise UsageError(
            "got no table, expected one with counters", hint="mlperf collect counters -o table.csv -- COMMAND makes one."
        )
    tables = [read_frame(Path(path), key) for path in inputs]
    rows, places = pd.concat([table.frame for table in tables], ignore_index=True), ", ".join(str(path) for path in inputs)
    features = counter_features(rows, key=key, line_bytes=line_bytes, times=times, place=places)
    sources = [table.grid.source for table in tables]
    return replace(features, inputs={str(source.path): hashlib.sha256(source.data).hexdigest() for source in sources})


def read_frame(path: Path, key: str) -> ReadTable:
    """Rows of one file, its key and its counters checked.

    Raises
    ------
    DataError
        Names file, line and column.
    """
    parts = key.split(KEY_SEPARATOR)
    header = read_grid(read_source(path)).header
    labels = [name for name in header if name in parts or not is_number(name)]
    table = read_typed_table(path, parts, labels=labels, numbers=is_number)
    blank = ((name, (table.frame[name].str.strip() == "").to_numpy(), "the name of the row", EMPTY_HINT) for name in parts)
    counted = ((name, (table.frame[name] < 0).to_numpy(), *COUNT) for name in header if name not in labels)
    for name, wrong, expected, hint in (*blank, *counted):
        if wrong.any():
            raise table.grid.error(int(wrong.argmax()), name, expected, hint)
    return table


def is_number(column: str) -> bool:
    """Whether a column holds numbers: a counter or an exit code."""
    return column in COUNTERS or column == EXIT_CODE
