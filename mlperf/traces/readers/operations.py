"""Tables of operations of a training job: one row an operation of a rank in a step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.datasets.reading.any_table import read_typed_table
from mlperf.datasets.reading.read import ReadTable

NEEDED = ("step", "rank", "operation", "start_s", "duration_s")
OPTIONAL = ("dp_rank", "stage", "sequence", "micro_batch")
WHOLE = ("step", "rank", "dp_rank", "stage", "sequence", "micro_batch")
LONGEST_S = 1e8
LARGEST_NUMBER = 2**31 - 1
NS_PER_S = 1e9
WHOLE_EXPECTED = f"a whole number from 0 to {LARGEST_NUMBER}"
TIME_EXPECTED = f"seconds of less than {LONGEST_S:g}"
STAGE_HINT = "Tables with stages have both dp_rank and stage; without both, ranks are taken in the usual order of the degrees."


@dataclass(frozen=True, slots=True, eq=False)
class Operations:
    """Operations in the order of the file; every array has shape (n_operations,).

    Attributes
    ----------
    path : Path
        The file.
    step : array of int64
        Number of the training step as the framework counts them; steps may be missing between.
    rank : array of int64
        Global rank.
    dp_rank, stage : array of int64 or None
        Data-parallel rank and pipeline stage of the rank; None where the table has no such columns.
    operation : array of int64
        Number into `names`.
    sequence : array of int64
        0, 1, ... among the operations of one name, rank and step.
    micro_batch : array of int64
        -1 where the operation belongs to none.
    start_ns : array of int64
        Nanoseconds from the start of the step.
    duration_ns : array of int64
        Nanoseconds; of an exchange from its own start to the end of the exchange.
    names : tuple of str
        Names of operations.
    sha256 : str
        Of the table's text.
    notes : tuple of str
        What the reader filled in.
    """

    path: Path
    step: IntArray
    rank: IntArray
    dp_rank: IntArray | None
    stage: IntArray | None
    operation: IntArray
    sequence: IntArray
    micro_batch: IntArray
    start_ns: IntArray
    duration_ns: IntArray
    names: tuple[str, ...]
    sha256: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of operations."""
        return len(self.step)


def read_operations(path: Path | str) -> Operations:
    """Read a table of operations.

    Parameters
    ----------
    path : path
        CSV, gzipped where its name ends in ``.gz``, with the columns ``step, rank, operation, start_s, duration_s``, and, where
        the job has them, ``dp_rank, stage, sequence, micro_batch`` (empty where an operation belongs to none). Further columns
        are left alone. ``start_s`` counts from the start of the operation's step.

    Raises
    ------
    DataError
        Names file, line and column of what is not as said: a missing column, a time that is no number, a negative duration, a
        count that is not whole, a missing cell.
    """
    table = read_typed_table(
        Path(path),
        NEEDED,
        labels=("operation",),
        numbers=lambda name: name in (*NEEDED, *OPTIONAL),
        others=False,
        signed=("start_s",),
    )
    frame = table.frame
    if ("dp_rank" in frame) != ("stage" in frame):
        missing = "stage" if "dp_rank" in frame else "dp_rank"
        raise DataError("is missing beside the other of the two", place=f"{path}, line 1, column {missing}", hint=STAGE_HINT)
    whole = {name: _whole(table, name) for name in WHOLE if name in frame}
    start_ns, duration_ns = _nanoseconds(table, "start_s"), _nanoseconds(table, "duration_s")
    codes, names = _names(table)
    notes = []
    if "sequence" not in whole:
        whole["sequence"] = _by_start(whole["step"], whole["rank"], codes, start_ns)
        notes.append("The table has no column sequence: operations of one name are counted by their start.")
    return Operations(
        path=Path(path),
        step=whole["step"],
        rank=whole["rank"],
        dp_rank=whole.get("dp_rank"),
        stage=whole.get("stage"),
        operation=codes,
        sequence=whole["sequence"],
        micro_batch=whole.get("micro_batch", np.full(len(frame), -1, dtype=np.int64)),
        start_ns=start_ns,
        duration_ns=duration_ns,
        names=names,
        sha256=table.grid.source.sha256,
        notes=tuple(notes),
    )


def _whole(table: ReadTable, name: str) -> IntArray:
    """A column of counts; a micro-batch that is not there is -1."""
    values = np.asarray(table.frame[name], dtype=float)
    absent = np.isnan(values) if name == "micro_batch" else np.zeros(len(values), dtype=bool)
    with np.errstate(invalid="ignore"):
        wrong = ~absent & ~((values >= 0) & (values <= LARGEST_NUMBER) & (values == np.rint(values)))
    _check(table, name, wrong, WHOLE_EXPECTED)
    return np.where(absent, -1, values).astype(np.int64)


def _nanoseconds(table: ReadTable, name: str) -> IntArray:
    """A column of seconds as whole nanoseconds."""
    values = np.asarray(table.frame[name], dtype=float)
    _check(table, name, ~(np.abs(values) < LONGEST_S), TIME_EXPECTED)
    return np.rint(values * NS_PER_S).astype(np.int64)


def _check(table: ReadTable, name: str, wrong: NDArray[np.bool_], expected: str) -> None:
    """DataError: some cell is wrong."""
    if wrong.any():
        raise table.grid.error(
            int(np.argmax(wrong)), name, expected, "See the columns of a table of operations in the documentation."
        )


def _names(table: ReadTable) -> tuple[IntArray, tuple[str, ...]]:
    """Numbers of the operations' names, in the order in which they appear."""
    cells: pd.Series[Any] = table.frame["operation"].str.strip()
    _check(table, "operation", cells.eq("").to_numpy(dtype=bool), "the name of an operation")
    codes, names = pd.factorize(cells)
    return codes.astype(np.int64), tuple(str(name) for name in names)


def _by_start(step: IntArray, rank: IntArray, operation: IntArray, start_ns: IntArray) -> IntArray:
    """Place of each operation among those of its name, rank and step, by start."""
    order = np.lexsort((start_ns, operation, rank, step))
    keys = np.stack((step, rank, operation))[:, order]
    new = np.concatenate(([True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)))
    places = np.arange(len(order))
    sequence = np.empty(len(order), dtype=np.int64)
    sequence[order] = places - np.maximum.accumulate(np.where(new, places, 0))
    return sequence
