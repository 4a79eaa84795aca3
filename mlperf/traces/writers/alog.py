"""ALOG, so that the viewers of its time, and `read_alog`, show recorded and replayed runs."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.files import replacing
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.alog_lines import NS_PER_US, OWN, RECEIVE, SEND

COLOURS = ("green", "red", "yellow", "blue", "orange", "purple", "cyan", "gray")
MESSAGES = (Kind.SEND, Kind.RECV, Kind.ISEND, Kind.IRECV)
ENDS, POINTS, BEGINS = 0, 1, 2
"""Order of lines at one moment: what ends, what takes no time, what begins."""


def write_alog(table: EventTable, path: Path | str) -> None:
    """Write a trace as ALOG.

    Timestamps are whole microseconds; a third word ``ns=`` in the comment keeps the rest. Lines of states tell communicator (task),
    root (data), what belongs together and size (comment), where other writers leave zeros.

    Parameters
    ----------
    table : EventTable
        Rows without a rank are left out by the format and must not be there.
    path : path
        Replaced as a whole.
    """
    table = table.by_rank()
    kinds, state = _states(table)
    body = _body(table, state)
    head = "\n".join(_head(table, kinds, len(body)))
    text = io.StringIO()
    body.to_csv(text, sep=" ", header=False, index=False, lineterminator="\n")
    with replacing(Path(path)) as stream:
        stream.write(f"{head}\n{text.getvalue()}".encode())


def _states(table: EventTable) -> tuple[list[tuple[Kind, str]], IntArray]:
    """Kinds with names, one state each; the state of every row."""
    names = table.text(table.name)
    kinds = [Kind(number) for number in table.kind.tolist()]
    found: dict[tuple[Kind, str], int] = {}
    state = [
        found.setdefault((kind, name or f"MPI_{kind.name.capitalize()}"), len(found))
        for kind, name in zip(kinds, names, strict=True)
    ]
    return list(found), np.array(state, dtype=np.int64)


def _head(table: EventTable, states: list[tuple[Kind, str]], n_lines: int) -> list[str]:
    """Definitions: creator, counts, states with colours."""
    last_us = int(table.end_ns.max(initial=0)) // NS_PER_US
    lines = [
        f"-1 0 0 0 0 0 {OWN}",
        f"-2 0 0 {n_lines} 0 0",
        f"-3 0 0 {table.n_ranks} 0 0",
        "-4 0 1 0 0 0",
        f"-5 0 0 {2 * len(states)} 0 0",
        "-6 0 0 0 0 0",
        f"-7 0 0 0 0 {last_us}",
        "-8 0 0 1 0 0",
        "-11 0 0 0 0 0",
    ]
    for number, (kind, name) in enumerate(states):
        begin, end = 2 * number, 2 * number + 1
        lines.append(f"-13 0 {begin} {end} 0 0 {COLOURS[number % len(COLOURS)]}:boxes {' '.join(name.split())}")
        lines.append(f"-10 0 0 {begin} 0 0 {kind.name}")
    return lines


def _body(table: EventTable, state: IntArray) -> pd.DataFrame:
    """Lines of states and messages, by time."""
    rows: IntArray = np.arange(len(table))
    second = _second_halves(table)
    own = rows[~second]
    message = rows[np.isin(table.kind, [int(kind) for kind in MESSAGES])]
    receives = np.isin(table.kind[message], (int(Kind.RECV), int(Kind.IRECV)))
    state_row = rows - second
    start, end = table.start_ns, table.end_ns
    point = table.duration_ns == 0
    late = receives & ~point[message]
    parts = [
        # time, class, order in the class, row of the state, order in the state, type, row
        (
            start[own],
            np.where(point[own], POINTS, BEGINS),
            np.where(point[own], own, -table.duration_ns[own]),
            own,
            0,
            2 * state[own],
            own,
        ),
        (
            np.where(late, end[message], start[message]),
            np.where(point[message], POINTS, np.where(late, ENDS, BEGINS)),
            np.where(point[message], state_row[message], np.where(late, -start[message], -table.duration_ns[message])),
            state_row[message],
            1,
            np.where(receives, RECEIVE, SEND),
            message,
        ),
        (end[own], np.where(point[own], POINTS, ENDS), np.where(point[own], own, -start[own]), own, 2, 2 * state[own] + 1, own),
    ]
    time, when, place, of, part, kind, row = (
        np.concatenate([np.broadcast_to(each[number], len(each[0])) for each in parts]) for number in range(7)
    )
    order = np.lexsort((part, of, place, when, table.rank[row], time))
    time, kind, row = time[order], kind[order], row[order]
    is_message = kind < 0
    return pd.DataFrame(
        {
            "type": kind,
            "process": table.rank[row],
            "task": table.comm[row],
            "data": table.peer[row],
            "cycle": 0,
            "timestamp": time // NS_PER_US,
            "tag": np.where(is_message, table.tag[row], table.corr[row]),
            "size": table.size_bytes[row],
            "ns": np.array([f"ns={number}" for number in range(NS_PER_US)], dtype=object)[time % NS_PER_US],
        }
    )


def _second_halves(table: EventTable) -> np.ndarray:
    """Whether a row is the second half of a call that sends and receives; it stands behind the first."""
    paired = (table.flags & int(Flag.PAIRED)) > 0
    same = (table.corr[1:] == table.corr[:-1]) & (table.rank[1:] == table.rank[:-1]) & (table.corr[1:] != UNSET)
    second = np.zeros(len(table), dtype=bool)
    second[1:] = paired[1:] & paired[:-1] & same
    return second
