"""GOAL schedules, for LogGOPSim and its relatives."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlperf.core.errors import DataError
from mlperf.core.files import replacing
from mlperf.traces.events.kinds import COMMUNICATION, Flag, Kind
from mlperf.traces.events.table import EventTable

POSTED = (Kind.ISEND, Kind.IRECV)


def write_goal(table: EventTable, path: Path | str) -> None:
    """Write every rank as one chain: computations between calls, messages with size, peer and tag.

    Raises
    ------
    DataError
        The trace has collective operations, which GOAL cannot say: expand them first. Or a call both sends and receives.
    """
    if np.any(table.kind == Kind.COLL):
        raise DataError("the trace has collective operations, and GOAL has none", hint="mlperf trace export --to alog keeps them.")
    table = table.take(np.isin(table.kind, [int(kind) for kind in (*COMMUNICATION, Kind.COMPUTE)])).by_rank()
    lines = [f"num_ranks {table.n_ranks}"]
    for rank in range(table.n_ranks):
        lines += ["", f"rank {rank} {{", *_rank_lines(table.take(table.rank == rank)), "}"]
    with replacing(Path(path)) as stream:
        stream.write(("\n".join(lines) + "\n").encode())


def _rank_lines(events: EventTable) -> list[str]:
    """Statements of a rank and their orders."""
    lines: list[str] = []
    now, before, how = 0, "", "requires"
    posted: dict[int, list[str]] = {}
    pending: list[str] = []
    shared: tuple[int, str, str, list[str]] = (-1, "", "", [])
    paired = ((events.flags & int(Flag.PAIRED)) > 0).tolist()
    columns = (events.start_ns, events.duration_ns, events.kind, events.size_bytes, events.peer, events.tag, events.corr)
    for number, (start, duration, kind, size, peer, tag, corr) in enumerate(zip(*(each.tolist() for each in columns), strict=True)):
        if start > now:
            lines.append(f"c{number}: calc {start - now}")
            lines += _orders(f"c{number}", before, how, pending)
            before, how, pending = f"c{number}", "requires", []
        if kind == Kind.COMPUTE:
            continue
        now = max(now, start + duration)
        if kind == Kind.WAIT:
            pending += posted.pop(corr, [])
            continue
        label = f"m{number}"
        what, towards = ("send", "to") if kind in (Kind.SEND, Kind.ISEND) else ("recv", "from")
        lines.append(f"{label}: {what} {size}b {towards} {peer} tag {max(tag, 0)}")
        if paired[number] and shared[0] == corr:
            # The second half comes after what the first comes after; what follows waits for both.
            lines += _orders(label, *shared[1:])
            before, how, pending = label, "requires", [before]
            continue
        lines += _orders(label, before, how, pending)
        shared = (corr if paired[number] else -1, before, how, pending)
        if kind in POSTED:
            posted.setdefault(corr, []).append(label)
        before, how, pending = label, "irequires" if kind in POSTED else "requires", []
    rest = int(events.end_ns.max(initial=0)) - now
    if pending or rest > 0:
        lines.append(f"end: calc {rest}")
        lines += _orders("end", before, how, pending)
    return lines


def _orders(label: str, before: str, how: str, pending: list[str]) -> list[str]:
    """What a statement comes after."""
    chain = [f"{label} {how} {before}"] if before and before not in pending else []
    return [*chain, *(f"{label} requires {each}" for each in pending)]
