"""SimGrid's time-independent traces: a list of files, one a rank, with one action a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.readers.content import line_error, not_negative, read_lines, whole_number

TYPE_BYTES = {"0": 8, "1": 4, "2": 1, "3": 2, "4": 8, "5": 4, "6": 1}
"""Bytes of SimGrid's numbers of data types: double, int, char, short, long, float, byte."""
DEFAULT_BYTES = 8
"""Of counts without a data type, unless the rank's ``init`` stands alone: then these are bytes."""
COLLECTIVES = ("barrier", "allreduce", "bcast", "reduce", "gather", "allgather", "alltoall", "scatter", "reducescatter", "scan")
ROOT_PLACES = {"bcast": 1, "reduce": 2, "gather": 2, "scatter": 2}
TYPE_PLACES = {"bcast": 2, "reduce": 3, "allreduce": 2, "gather": 3, "allgather": 2, "alltoall": 2, "scatter": 3, "scan": 2}
"""Where root and data type stand behind an action; of reducescatter the type stands behind a count for each rank and the work."""
NOTHING = ("init", "finalize", "comm_size", "comm_dup")
NS_PER_FLOP = 1
"""As on a host of one Gflop/s."""


def read_ti(path: Path | str) -> EventTable:
    """Read a time-independent trace as one in which messages take no time (flag ASSUMED_TIME): only its replay has times.

    One flop is one nanosecond; other computing speeds are a what-if on computation.

    Parameters
    ----------
    path : path
        The list: one file name a line, in the order of ranks, relative to the list; or one file with the actions of all ranks.

    Raises
    ------
    DataError
        Names file and line.

    References
    ----------
    SimGrid manual, "Trace Replay"; Desprez et al. (2011) for time-independent traces.
    """
    path = Path(path)
    lines = read_lines(path)
    words = [line.split() for line in lines]
    if all(len(each) <= 1 for each in words):
        files = [(path.parent / each[0], read_lines(path.parent / each[0])) for each in words if each]
    else:
        files = [(path, lines)]
    strings = Strings(COLLECTIVES)
    rows: list[tuple[int, ...]] = []
    now: dict[int, int] = {}
    lone = {line.split()[0]: 1 for _, content in files for line in content if line.split()[1:] == ["init"]}
    n_counts = len({line.split()[0] for _, content in files for line in content if _is_action(line)})
    for file, content in files:
        for number, text in enumerate(content, 1):
            if _is_action(text):
                row = _action(file, number, text, now, lone.get(text.split()[0], DEFAULT_BYTES), n_counts)
                rows += [row] if row else []
    n_ranks = max(len(now), 1)
    if sorted(now) != list(range(n_ranks)):
        raise DataError(f"has ranks {sorted(now)[:8]}, expected 0 to {n_ranks - 1}", place=str(path))
    table = np.array(rows, dtype=np.int64).reshape(-1, 8)
    strayed = (table[:, 5] >= n_ranks) | (table[:, 5] < UNSET)
    if np.any(strayed):
        raise DataError(f"got a message with rank {table[strayed][0, 5]} of {n_ranks}", place=str(path))
    names = ("start_ns", "duration_ns", "rank", "kind", "size_bytes", "peer", "tag", "name")
    columns: dict[str, Any] = dict(zip(names, table.T, strict=True))
    return event_table(
        len(table),
        strings=strings.all(),
        sources=(f"ti {path.name}",),
        notes=("time-independent: recorded times of messages are 0, a replay gives them",),
        attributes={"n_ranks": n_ranks},
        comm=0,
        flags=np.where(table[:, 3] == Kind.COMPUTE, 0, int(Flag.ASSUMED_TIME)),
        **columns,
    )


def _is_action(line: str) -> bool:
    """Whether a line is neither empty nor a comment."""
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _action(path: Path, number: int, text: str, now: dict[int, int], untyped: int, n_ranks: int) -> tuple[int, ...] | None:
    """The event of one line; computation only moves the rank's time."""
    words = text.split()
    if len(words) < 2:
        raise line_error(path, number, text, "rank action arguments")
    rank = whole_number(path, number, "rank", words[0].removeprefix("p").removeprefix("rank-"), least=0)
    action, rest = words[1], words[2:]
    start = now.setdefault(rank, 0)
    if action == "compute":
        now[rank] = start + _flops(path, number, rest) * NS_PER_FLOP
        return start, now[rank] - start, rank, int(Kind.COMPUTE), 0, UNSET, UNSET, UNSET
    if action in NOTHING:
        return None
    if action in ("send", "recv"):
        if len(rest) < 3:
            raise line_error(path, number, text, f"{action} peer tag count [type]")
        peer, tag = (whole_number(path, number, name, word, least=-1) for name, word in zip(("peer", "tag"), rest, strict=False))
        size = _count(path, number, rest[2]) * _type_bytes(rest, 3, untyped)
        return start, 0, rank, int(Kind.SEND if action == "send" else Kind.RECV), size, peer, tag, UNSET
    if action in COLLECTIVES:
        counts = rest[:n_ranks] if action == "reducescatter" else rest[:1]
        size = sum(_count(path, number, word) for word in counts) * _type_bytes(rest, TYPE_PLACES.get(action, n_ranks + 1), untyped)
        root = _root(path, number, action, rest)
        return start, 0, rank, int(Kind.COLL), size, root, UNSET, COLLECTIVES.index(action)
    known = ", ".join(("compute", "send", "recv", *COLLECTIVES, *NOTHING))
    raise line_error(path, number, text, f"one of {known}", "Actions of older releases are written in camel case.")


def _root(path: Path, number: int, action: str, rest: Sequence[str]) -> int:
    """The root of a rooted operation, rank 0 where the line leaves it out."""
    place = ROOT_PLACES.get(action)
    if place is None:
        return UNSET
    return whole_number(path, number, "root", rest[place], least=0) if len(rest) > place else 0


def _type_bytes(rest: Sequence[str], place: int, untyped: int) -> int:
    """Bytes of what is counted: of the type at that place, or where none stands there."""
    return TYPE_BYTES.get(rest[place], DEFAULT_BYTES) if len(rest) > place else untyped


def _flops(path: Path, number: int, rest: Sequence[str]) -> int:
    """Flops as a whole number; ``1e+06`` is one."""
    return _count(path, number, rest[0] if rest else "")


def _count(path: Path, number: int, word: str) -> int:
    """A count that may be written as a float."""
    return round(not_negative(word, f"{path}, line {number}", 1e15, "a count >= 0"))
