"""From files of counted runs to one feature table."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.datasets.dictionary.counters import COUNTERS
from mlperf.datasets.reading.grid import read_grid
from mlperf.datasets.reading.source import Source, read_source
from mlperf.features.counters.table import KEY_SEPARATOR, LINE_BYTES, check_numbers, counter_features, row_names
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
    sources = [read_source(Path(path)) for path in inputs]
    frames = [read_frame(source, key) for source in sources]
    rows, places = pd.concat(frames, ignore_index=True), ", ".join(str(path) for path in inputs)
    table = counter_features(rows, key=key, line_bytes=line_bytes, times=times, place=places)
    return replace(table, inputs={str(source.path): hashlib.sha256(source.data).hexdigest() for source in sources})


def read_frame(source: Source, key: str) -> pd.DataFrame:
    """Rows of one file, its key and its counters checked.

    Raises
    ------
    DataError
        Names file, line and column.
    """
    read_grid(source)
    frame = pd.read_csv(io.BytesIO(source.data), dtype=dict.fromkeys(key.split(KEY_SEPARATOR), str))
    row_names(frame, key, str(source.path))
    for name in frame.columns.intersection(list(COUNTERS)):
        check_numbers(frame[name], name, str(source.path))
    return frame
