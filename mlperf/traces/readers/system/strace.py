"""Text of ``strace -f -ttt -T``: system calls with their time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.readers.content import read_content

MOVING = frozenset(
    (
        *("read", "pread64", "readv", "preadv", "recvfrom", "recvmsg"),
        *("write", "pwrite64", "writev", "pwritev", "sendto", "sendmsg"),
        *("sendfile", "copy_file_range", "splice"),
    )
)
"""Calls whose result is a number of bytes."""
OWN_WORDS = "strace: "
"""What strace says of itself among the calls where it has no ``-o``: "Process 5 attached"."""
HINT = "strace -f -ttt -T -o FILE COMMAND"
_LINE = re.compile(r"(?:\[pid\s+)?(?:(?P<tid>\d+)\]?\s+)?(?P<s>\d{1,12})\.(?P<fraction>\d{6,9})\s+(?P<rest>.+)")
# The last ") = " is the call's own: what it reads and writes may hold another.
_CALL = re.compile(r"(?P<name>[a-z_0-9]+)\(.*\)\s+=\s+(?P<result>\?|-?\d+|0x[0-9a-f]+).*?(?:<(?P<took>\d+\.\d+)>)?\s*")
_BEGUN = re.compile(r"(?P<name>[a-z_0-9]+)\(.*<unfinished \.\.\.>\s*")
_RESUMED = re.compile(r"<\.\.\.\s+(?P<name>[a-z_0-9]+)\s+resumed>(?P<rest>.*)")
_RESULT = re.compile(r".*\)\s+=\s+(?P<result>\?|-?\d+|0x[0-9a-f]+).*?(?:<(?P<took>\d+\.\d+)>)?\s*")
_NEWS = re.compile(r"(?:---|\+\+\+)\s+(?P<what>.*?)\s+(?:---|\+\+\+)")
LIMIT = 2**31 - 1


@dataclass(slots=True)
class _Read:
    """Rows as they come: start, duration, thread, name, bytes, kind, flags."""

    path: Path
    strings: Strings = field(default_factory=Strings)
    rows: list[tuple[int, int, int, int, int, int, int]] = field(default_factory=list)
    begun: dict[tuple[int, str], int] = field(default_factory=dict)
    n_lone: int = 0
    n_without_time: int = 0


def read_strace(path: Path) -> EventTable:
    """Read system calls.

    Returns
    -------
    EventTable
        SYSCALL rows with thread, name, duration and, of calls that move data, bytes; signals and ends are MARK rows. Times are as
        the file says, CLOCK_REALTIME since 1970 with ``-ttt``, and `origin_ns` is the first of them. A call that never returned
        has the flag TRUNCATED; one without ``-T`` has no duration and the flag ASSUMED_TIME.

    Raises
    ------
    DataError
        A line is none of strace's; names file and line.
    """
    found = _Read(path)
    for number, line in enumerate(read_content(path).decode("utf-8", "replace").splitlines(), 1):
        if line.strip() and not line.startswith(OWN_WORDS):
            _line(found, line, f"{path}, line {number}")
    for (tid, name), start in found.begun.items():
        found.rows.append((start, 0, tid, found.strings.number(name), 0, int(Kind.SYSCALL), int(Flag.TRUNCATED)))
    rows = np.array(found.rows, dtype=np.int64).reshape(-1, 7)
    origin = int(rows[:, 0].min()) if len(rows) else 0
    notes = [f"{len(found.begun)} calls did not return before the file ends"] if found.begun else []
    notes += [f"{found.n_lone} calls return that never began: the file begins inside them"] if found.n_lone else []
    notes += [f"{found.n_without_time} calls say no duration (strace -T)"] if found.n_without_time else []
    return event_table(
        len(rows),
        start_ns=rows[:, 0] - origin,
        duration_ns=rows[:, 1],
        tid=rows[:, 2],
        name=rows[:, 3],
        size_bytes=rows[:, 4],
        kind=rows[:, 5],
        flags=rows[:, 6],
        strings=found.strings.all(),
        sources=(f"strace: {path.name}",),
        origin_ns=origin,
        notes=notes,
    ).by_time()


def _line(found: _Read, line: str, place: str) -> None:
    """One line: a call, a part of one, a signal or an end."""
    head = _LINE.fullmatch(line)
    if head is None:
        raise DataError(f"got {line[:60]!r}, expected thread, time and call", place=place, hint=HINT)
    tid = int(head["tid"]) if head["tid"] else UNSET
    if tid > LIMIT:
        raise DataError(f"got thread {tid}, expected a smaller number", place=place)
    at = int(head["s"]) * 1_000_000_000 + int(head["fraction"].ljust(9, "0"))
    rest = head["rest"]
    if begun := _BEGUN.fullmatch(rest):
        found.begun[tid, begun["name"]] = at
    elif resumed := _RESUMED.fullmatch(rest):
        start = found.begun.pop((tid, resumed["name"]), None)
        found.n_lone += start is None
        result = _RESULT.fullmatch(resumed["rest"])
        _add(found, at if start is None else start, tid, resumed["name"], result, at)
    elif news := _NEWS.fullmatch(rest):
        found.rows.append((at, 0, tid, found.strings.number(news["what"].split(" {")[0]), 0, int(Kind.MARK), 0))
    elif call := _CALL.fullmatch(rest):
        _add(found, at, tid, call["name"], call, None)
    else:
        raise DataError(f"got {rest[:60]!r}, expected a call and its result", place=place, hint=HINT)


def _add(found: _Read, start: int, tid: int, name: str, result: re.Match[str] | None, returned: int | None) -> None:
    """A call that returned."""
    took = result["took"] if result else None
    duration, flags = (round(float(took) * 1e9), 0) if took and len(took) < 20 else (0, int(Flag.ASSUMED_TIME))
    if flags and returned is not None:
        duration, flags = max(returned - start, 0), 0
    value = result["result"] if result else ""
    # What ends a thread never returns and says "?".
    found.n_without_time += flags > 0 and value != "?"
    size = int(value) if name in MOVING and value.isdigit() and len(value) < 19 else 0
    found.rows.append((start, duration, tid, found.strings.number(name), size, int(Kind.SYSCALL), flags))
