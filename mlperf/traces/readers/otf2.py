"""OTF2 archives, what Score-P and its relatives write, by the format's own library."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlperf.core.errors import DataError
from mlperf.core.extras import require
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.readers.alog import number_regions

NS_PER_S = 10**9
COLUMNS = ("start_ns", "duration_ns", "rank", "kind", "name", "tid", "size_bytes", "peer", "tag", "comm", "corr", "flags")
ROOTLESS = 2**32 - 1
"""A root that is none."""


@dataclass(slots=True)
class Frame:
    """A function that is being run.

    Attributes
    ----------
    name : str
    start : int
        Ticks of the trace's clock.
    ends : list of dict
        Rows of messages that it begins.
    completed : list of dict
        Rows of messages, posted before, that it completes.
    collective : event or None
        What the library tells of a collective operation.
    """

    name: str
    start: int
    ends: list[dict[str, int]] = field(default_factory=list)
    completed: list[dict[str, int]] = field(default_factory=list)
    collective: Any = None


@dataclass(slots=True)
class Walk:
    """What is known while events are read one after another.

    Attributes
    ----------
    rank_of : dict
        Location to rank and thread.
    rows : list of dict
        Finished and unfinished rows; times still in ticks.
    stacks : dict
        Location to its open functions.
    requests : dict
        Location and request to the row that was posted.
    n_waits : int
        Waits so far: the next number for what belongs together.
    last : int
        Time of the last event.
    """

    rank_of: dict[Any, tuple[int, int]]
    strings: Strings = field(default_factory=Strings)
    rows: list[dict[str, int]] = field(default_factory=list)
    stacks: dict[Any, list[Frame]] = field(default_factory=dict)
    requests: dict[tuple[Any, int], dict[str, int]] = field(default_factory=dict)
    n_waits: int = 0
    last: int = 0


def read_otf2(path: Path | str) -> EventTable:
    """Read the anchor file of an archive (``traces.otf2``), or the folder that holds it.

    Functions of MPI become messages, waits and collective operations with the times of their calls; other functions are regions.

    Raises
    ------
    MissingExtraError
        The package ``otf2`` is not installed.
    DataError
        The library cannot read the archive.

    References
    ----------
    Eschweiler et al., Open Trace Format 2 (2012).
    """
    path = Path(path)
    if path.is_dir():
        path = next(iter(sorted(path.glob("*.otf2"))), path / "traces.otf2")
    library, failure = require("otf2", "traces"), require("_otf2.ErrorCodes", "traces").Error
    if not path.is_file():
        raise DataError("cannot be read (no such file)", place=str(path))
    # The library raises errors of many kinds, one of them for every function of its core.
    try:
        with library.reader.open(str(path)) as trace:
            resolution = int(trace.timer_resolution)
            origin = int(trace.definitions.clock_properties.global_offset)
            walk = Walk(_ranks(trace.definitions.locations))
            for location, event in trace.events:
                _take(walk, location, event)
    except (RuntimeError, ValueError, TypeError, KeyError, AttributeError, OSError, failure) as error:
        hint = "Is the folder of its traces beside it? Archives of some writers are refused by the library."
        raise DataError(f"is no archive that the OTF2 library reads ({error})", place=str(path), hint=hint) from error
    return _table(path, walk, origin, resolution)


def _ranks(locations: Any) -> dict[Any, tuple[int, int]]:
    """Rank and thread of every location: location groups in their order are ranks."""
    ranks: dict[Any, int] = {}
    threads: dict[int, int] = {}
    found = {}
    for location in locations:
        rank = ranks.setdefault(location.group, len(ranks))
        found[location] = (rank, threads.setdefault(rank, 0))
        threads[rank] += 1
    return found


def _take(walk: Walk, location: Any, event: Any) -> None:
    """Take one event in."""
    walk.last = max(walk.last, event.time)
    stack = walk.stacks.setdefault(location, [])
    what = type(event).__name__
    if what == "Enter":
        stack.append(Frame(event.region.name, event.time))
    elif what == "Leave" and stack:
        _leave(walk, location, stack.pop(), event.time)
    elif what in ("MpiSend", "MpiRecv", "MpiIsend", "MpiIrecvRequest"):
        _begin(walk, location, stack[-1] if stack else Frame("", event.time), what, event)
    elif what in ("MpiIrecv", "MpiIsendComplete"):
        _complete(walk, location, stack[-1] if stack else Frame("", event.time), what, event)
    elif what == "MpiCollectiveEnd" and stack:
        stack[-1].collective = event


def _begin(walk: Walk, location: Any, frame: Frame, what: str, event: Any) -> None:
    """The row of a message that begins in a function."""
    kind = {"MpiSend": Kind.SEND, "MpiRecv": Kind.RECV, "MpiIsend": Kind.ISEND, "MpiIrecvRequest": Kind.IRECV}[what]
    row = _row(walk, location, frame, kind)
    if what != "MpiIrecvRequest":
        _address(walk, row, event, event.sender if what == "MpiRecv" else event.receiver)
    if kind in (Kind.ISEND, Kind.IRECV):
        walk.requests[location, event.request_id] = row
    frame.ends.append(row)


def _complete(walk: Walk, location: Any, frame: Frame, what: str, event: Any) -> None:
    """A posted message is complete in this function; a receive only now tells what came."""
    row = walk.requests.pop((location, event.request_id), None)
    if row is None:
        row = _row(walk, location, frame, Kind.RECV if what == "MpiIrecv" else Kind.SEND)
        row["flags"] |= int(Flag.TRUNCATED)
    if what == "MpiIrecv":
        _address(walk, row, event, event.sender)
    frame.completed.append(row)


def _address(walk: Walk, row: dict[str, int], event: Any, peer: int) -> None:
    """Peer as a rank of the run, tag, size, communicator."""
    members = list(event.communicator.group.members)
    row["peer"] = walk.rank_of[members[peer]][0] if members else row["rank"]
    row["tag"], row["size_bytes"], row["comm"] = event.msg_tag, event.msg_length, _number(event.communicator)


def _number(definition: Any) -> int:
    """A definition's number in the archive."""
    return int(definition._ref)


def _row(walk: Walk, location: Any, frame: Frame, kind: Kind) -> dict[str, int]:
    """A new row that lasts as long as the function, once that is left."""
    rank, thread = walk.rank_of[location]
    unset = dict.fromkeys(("peer", "tag", "comm", "corr"), UNSET)
    row = {"start_ns": frame.start, "duration_ns": 0, "rank": rank, "tid": thread, "kind": int(kind), "size_bytes": 0, "flags": 0}
    row |= unset | {"name": walk.strings.number(frame.name) if frame.name else UNSET}
    walk.rows.append(row)
    return row


def _leave(walk: Walk, location: Any, frame: Frame, end: int) -> None:
    """A function ends: its messages last as long as it, and it may itself be an event."""
    for row in frame.ends:
        row["duration_ns"] = end - frame.start
    blocking = [row for row in frame.ends if row["kind"] in (Kind.SEND, Kind.RECV)]
    if len(blocking) == 2 and {row["kind"] for row in blocking} == {int(Kind.SEND), int(Kind.RECV)}:
        for row in blocking:
            row["corr"], row["flags"] = walk.n_waits, row["flags"] | int(Flag.PAIRED)
        walk.n_waits += 1
    if frame.collective is not None:
        row = _row(walk, location, frame, Kind.COLL)
        event = frame.collective
        members = list(event.communicator.group.members)
        root = event.root
        row["peer"] = UNSET if root >= min(len(members), ROOTLESS) else walk.rank_of[members[root]][0]
        row["size_bytes"], row["comm"] = max(event.size_sent, event.size_received), _number(event.communicator)
    elif frame.completed:
        row = _row(walk, location, frame, Kind.WAIT)
        for each in (row, *frame.completed):
            each["corr"] = walk.n_waits
        walk.n_waits += 1
    elif frame.ends:
        return
    else:
        row = _row(walk, location, frame, Kind.API if frame.name.startswith(("MPI_", "PMPI_")) else Kind.REGION)
    row["duration_ns"] = end - frame.start


def _table(path: Path, walk: Walk, origin: int, resolution: int) -> EventTable:
    """Rows as columns, ticks as nanoseconds."""
    n_open = 0
    for location, stack in walk.stacks.items():
        for frame in reversed(stack):
            n_open += 1
            before = len(walk.rows)
            _leave(walk, location, frame, walk.last)
            for row in (*frame.ends, *walk.rows[before:]):
                row["flags"] |= int(Flag.TRUNCATED)
    if not walk.rows:
        raise DataError("holds no event", place=str(path))
    for row in walk.rows:
        start = (row["start_ns"] - origin) * NS_PER_S // resolution
        end = (row["start_ns"] + row["duration_ns"] - origin) * NS_PER_S // resolution
        row["start_ns"], row["duration_ns"] = start, end - start
    columns: dict[str, Any] = {name: [row[name] for row in walk.rows] for name in COLUMNS}
    lost = sum(row["kind"] == Kind.IRECV and row["peer"] == UNSET for row in walk.rows)
    notes = [f"{n_open} functions are never left; they end with the trace"] if n_open else []
    notes += [f"{lost} posted receives are never complete; they take no part"] if lost else []
    table = event_table(
        len(walk.rows),
        strings=walk.strings.all(),
        sources=(f"otf2 {path.name}",),
        origin_ns=0,
        notes=notes,
        attributes={"n_ranks": len({rank for rank, _ in walk.rank_of.values()})},
        **columns,
    )
    return number_regions(table.by_rank())
