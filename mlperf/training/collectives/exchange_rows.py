"""Measured collectives as rows of participants, machines, bytes and seconds, checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.reading.notes import refuse_cells
from mlperf.datasets.reading.time_units import TIME_SUFFIXES, seconds_in

PARTICIPANTS = ("n_gpus", "n_ranks", "n_workers", "n_processes")
SIZES = ("size_bytes", "message_bytes", "n_bytes")
TIMES = tuple(f"{name}{end}" for end in TIME_SUFFIXES for name in ("exchange", "time", "allreduce", "time_median", "time_mean"))
MACHINES, PER_MACHINE, OPERATION = "n_nodes", "n_gpus_per_node", "operation"
COLUMNS = (*PARTICIPANTS, *SIZES, *TIMES, MACHINES, PER_MACHINE, OPERATION)
"""Every column that is read."""
ALL_REDUCE = "all_reduce"
COUNTS = ("N", "M")


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeRows:
    """What was measured, one row a configuration, repeats merged.

    Attributes
    ----------
    frame : DataFrame
        ``N`` participants, ``M`` machines, ``S`` bytes of the vector, ``time_s`` (median over repeats); see `terms_frame`.
    noise : float
        Median relative difference of a repeat from its configuration's median, a fraction; NaN without repeats.
    operation : str
        ``"all_reduce"``.
    gpus_per_node : float
        Participants a machine holds, as far as is known; NaN where no machines were told.
    notes : tuple of str
        What was left out and why.
    """

    frame: pd.DataFrame
    noise: float
    operation: str
    gpus_per_node: float
    notes: tuple[str, ...]


def exchange_rows(
    table: pd.DataFrame, operation: str | None = None, n_gpus_per_node: int | None = None, time: str | None = None
) -> ExchangeRows:
    """Rows of one operation.

    Parameters
    ----------
    table : DataFrame
        One row a measurement: participants (one of `PARTICIPANTS`, or ``n_nodes`` and ``n_gpus_per_node``), bytes (one of
        `SIZES`), times (one of `TIMES`, whose ending is the unit); machines (``n_nodes``), ``operation`` where there are several.
    operation : str, optional
        Which, where the table has several; by default ``all_reduce``.
    n_gpus_per_node : int, optional
        Participants that a machine holds, where the table does not say on how many machines they were.
    time : str, optional
        Column of the times, where it has another name; seconds where that ends in no unit.

    Raises
    ------
    UsageError
        No such operation, or several and none of them an all-reduce.
    DataError
        A column is missing, or a cell makes no sense: says which.
    """
    table, chosen = _of_operation(table, operation)
    timed = time or _named(table, TIMES, "the time")
    seconds = (seconds_in(timed) or 1.0) * _numbers(table, timed, 0.0)
    size = _numbers(table, _named(table, SIZES, "bytes of the vector"), 0.0)
    n_gpus, n_nodes = _counts(table, n_gpus_per_node)
    frame = pd.DataFrame({"N": n_gpus, "M": n_nodes, "S": size, "time_s": seconds})
    alone = frame["N"] == 1
    notes = (f"{int(alone.sum())} rows of one participant left out: it exchanges nothing",) if alone.any() else ()
    frame = frame.loc[~alone]
    if frame.empty:
        raise DataError("got no row with two or more participants", hint="An exchange needs somebody to exchange with.")
    merged = frame.groupby(["N", "M", "S"])["time_s"].median().reset_index()
    again = frame.groupby(["N", "M", "S"])["time_s"]
    apart = (frame["time_s"] / again.transform("median") - 1.0).abs()[again.transform("size") > 1]
    per_node = float((n_gpus / n_nodes).max()) if n_gpus_per_node or MACHINES in table else float("nan")
    return ExchangeRows(merged, float(apart.median()) if len(apart) else float("nan"), chosen, per_node, notes)


def terms_frame(n_gpus: ArrayLike, n_nodes: ArrayLike, size_bytes: ArrayLike) -> dict[str, FloatArray]:
    """Columns that forms are written in, flat: N, M, S, and whether all take part ``inside`` one machine or ``across`` several."""
    flat = [np.ravel(each) for each in np.broadcast_arrays(*(np.asarray(each, float) for each in (n_gpus, n_nodes, size_bytes)))]
    across = np.asarray(flat[1] > 1.0, dtype=np.float64)
    steps = np.ceil(np.log2(np.maximum(flat[0], 1.0)))
    return {"N": flat[0], "M": flat[1], "S": flat[2], "inside": 1.0 - across, "across": across, "ceil_log2_N": steps}


def machines_of(n_gpus: FloatArray, gpus_per_node: float) -> FloatArray:
    """Machines that so many participants fill; one where nobody said how many a machine holds."""
    return np.ceil(n_gpus / gpus_per_node) if gpus_per_node == gpus_per_node else np.ones_like(n_gpus)


def _of_operation(table: pd.DataFrame, operation: str | None) -> tuple[pd.DataFrame, str]:
    if OPERATION not in table:
        return table, operation or ALL_REDUCE
    known = [str(name) for name in pd.unique(table[OPERATION])]
    wanted = operation or (known[0] if len(known) == 1 else ALL_REDUCE)
    if wanted not in known:
        got = f"got operation {wanted!r}, expected one of {', '.join(known)}"
        raise UsageError(got, place="column operation", hint=nearest_hint(wanted, known))
    return table[table[OPERATION].astype(str) == wanted], wanted


def _counts(table: pd.DataFrame, per_node: int | None) -> tuple[FloatArray, FloatArray]:
    if MACHINES in table and PER_MACHINE in table:
        n_nodes = _numbers(table, MACHINES, 1.0)
        return n_nodes * _numbers(table, PER_MACHINE, 1.0), n_nodes
    n_gpus = _numbers(table, _named(table, PARTICIPANTS, "participants"), 1.0)
    if MACHINES in table:
        return n_gpus, _numbers(table, MACHINES, 1.0)
    return n_gpus, machines_of(n_gpus, float(per_node) if per_node else float("nan"))


def _named(table: pd.DataFrame, names: tuple[str, ...], meaning: str) -> str:
    found = next((name for name in names if name in table), None)
    if found is None:
        got = f"got columns {', '.join(map(str, table.columns))}, expected {meaning} as one of {names_text(names)}"
        raise DataError(got, place="table of an exchange")
    return found


def names_text(names: tuple[str, ...]) -> str:
    """Names of a column, those of times in seconds alone with the other units behind them."""
    plain = [name for name in names if not name.endswith(TIME_SUFFIXES[1:])]
    return ", ".join(plain) + (f" (or {', '.join(TIME_SUFFIXES[1:])})" if len(plain) < len(names) else "")


def _numbers(table: pd.DataFrame, name: str, least: float) -> FloatArray:
    if name not in table:
        raise DataError(f"got no column {name!r}, expected one of {', '.join(map(str, table.columns))}")
    values = pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64)
    wrong = ~np.isfinite(values) | (values < least) | (values <= 0.0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        expected = f"a number >= {least:g}" if least > 0.0 else "a number > 0"
        if np.isnan(values[row]):
            refuse_cells(table, name, expected)
        raise DataError(f"got {str(table[name].iloc[row])!r}, expected {expected}", place=f"row {row + 1}, column {name}")
    return values
