"""SimGrid's time-independent traces."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlperf.core.errors import DataError
from mlperf.core.files import replacing
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.ti import COLLECTIVES, NS_PER_FLOP, ROOT_PLACES, TYPE_BYTES

BYTE = next(number for number, size in TYPE_BYTES.items() if size == 1 and number == "6")

TWO_TYPES = ("gather", "allgather", "alltoall", "scatter")
"""Operations that name what is sent and what is received."""


def write_ti(table: EventTable, path: Path | str) -> None:
    """Write the list and, beside it, ``NAME_rank.txt`` for every rank; computation as nanoseconds of a host of one Gflop/s.

    Raises
    ------
    DataError
        The trace has calls that the format's blocking actions cannot say: non-blocking ones, or ones that send and receive at once.
    """
    path = Path(path)
    posted = np.isin(table.kind, (int(Kind.ISEND), int(Kind.IRECV), int(Kind.WAIT)))
    paired = (table.flags & int(Flag.PAIRED)) > 0
    if np.any(posted) or np.any(paired):
        what = "non-blocking calls" if np.any(posted) else "calls that send and receive at once"
        raise DataError(f"the trace has {what}, which time-independent traces of blocking actions cannot say")
    names = [f"{path.stem}_{rank}.txt" for rank in range(table.n_ranks)]
    for rank, name in enumerate(names):
        with replacing(path.parent / name) as stream:
            stream.write(("\n".join(_lines(table.take(table.rank == rank).by_time(), rank, table.n_ranks)) + "\n").encode())
    with replacing(path) as stream:
        stream.write(("\n".join(names) + "\n").encode())


def _lines(events: EventTable, rank: int, n_ranks: int) -> list[str]:
    """Actions of a rank."""
    lines, now = [f"{rank} init"], 0
    names = events.text(events.name)
    columns = (events.start_ns, events.duration_ns, events.kind, events.size_bytes, events.peer, events.tag)
    for (start, duration, kind, size, peer, tag), name in zip(
        zip(*(each.tolist() for each in columns), strict=True), names, strict=True
    ):
        if kind == Kind.COMPUTE:
            continue
        if start > now:
            lines.append(f"{rank} compute {(start - now) // NS_PER_FLOP}")
        if kind in (Kind.SEND, Kind.RECV):
            lines.append(f"{rank} {'send' if kind == Kind.SEND else 'recv'} {peer} {max(tag, 0)} {size} {BYTE}")
        elif kind == Kind.COLL:
            lines.append(_collective(rank, name, size, peer, n_ranks))
        now = max(now, start + duration) if kind in (Kind.SEND, Kind.RECV, Kind.COLL) else now
    rest = (int(events.end_ns.max(initial=0)) - now) // NS_PER_FLOP
    return [*lines, *([f"{rank} compute {rest}"] if rest > 0 else []), f"{rank} finalize"]


def _collective(rank: int, name: str, size: int, root: int, n_ranks: int) -> str:
    """One collective action: counts, then the root of those that have one, then types."""
    action = name.lower().removeprefix("mpi_").replace("_", "")
    if action not in COLLECTIVES:
        raise DataError(f"the trace has {name}, and time-independent traces have none", hint=f"They have {', '.join(COLLECTIVES)}.")
    words = [str(rank), action]
    if action == "barrier":
        return " ".join(words)
    if action == "reducescatter":
        # A count for each rank: what is left over goes to the first.
        words += [str(size // n_ranks + (size % n_ranks if each == 0 else 0)) for each in range(n_ranks)] + ["0"]
    else:
        words += {"bcast": [f"{size}"], "allreduce": [f"{size}", "0"], "reduce": [f"{size}", "0"], "scan": [f"{size}", "0"]}.get(
            action, [f"{size}", f"{size}"]
        )
    if action in ROOT_PLACES:
        words.append(str(max(root, 0)))
    return " ".join([*words, BYTE, *([BYTE] if action in TWO_TYPES else [])])
