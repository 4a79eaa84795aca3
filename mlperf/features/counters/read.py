"""From files of counted runs to one feature table."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.datasets.dictionary.counters import COUNTERS
from mlperf.datasets.dictionary.numbers import EMPTY_HINT
from mlperf.datasets.reading.any_table import read_typed_table
from mlperf.datasets.reading.grid import read_grid
from mlperf.datasets.reading.read import ReadTable
from mlperf.datasets.reading.source import read_source
from mlperf.features.counters.table import COUNT, EXIT_CODE, KEY_SEPARATOR, LINE_BYTES, counter_features
from mlperf.features.network.base import KEY, FeatureTable


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
