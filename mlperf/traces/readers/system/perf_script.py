"""Text of ``perf script``: samples with the time that they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.readers.content import read_content
from mlperf.traces.readers.system.event_counts import plain_event

FIELDS = "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso"
"""What ``perf script -F`` is asked for."""
CLOCKS = ("cpu-clock", "task-clock")
"""Events whose period is time in nanoseconds."""
CYCLES = ("cycles", "cpu-cycles")
_HEAD = re.compile(
    r"(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?P<s>\d+)\.(?P<fraction>\d{6,9}):\s+"
    r"(?:(?P<period>\d+)\s+)?(?P<event>[^\s].*?):(?:[a-zA-Z/]*:)?\s*(?P<rest>.*)"
)
_FRAMES = tuple(
    re.compile(r"\s*(?P<ip>[0-9a-f]+)\s+" + rest + r"\)\s*")
    for rest in (
        # Names of C++ hold blanks and brackets: the offset tells where they end, else that names of files hold next to none.
        r"(?P<name>.*)\+0x(?P<offset>[0-9a-f]+)\s+\((?P<file>.*)",
        r"(?P<name>\[unknown\])(?P<offset>)\s+\((?P<file>.*)",
        r"(?P<name>.*?)(?P<offset>)\s+\((?P<file>[^()]*(?: \(deleted\))?)",
    )
)
# The first: what is behind is the command's own, which may have an option of that name.
_FREQUENCY = re.compile(r"# cmdline :(?:(?! -- ).)*?\s(?:-F\s*|--freq[= ])(\d{1,9})\b")
LIMIT = 2**31 - 1
LONGEST_STACK = 127
LONGEST_NUMBER = 25
"""Digits; more than any number that is not too large has."""


@dataclass(slots=True)
class _Read:
    """Rows as they come, and what is known of stacks met before."""

    path: Path
    strings: Strings = field(default_factory=Strings)
    rows: list[tuple[int, ...]] = field(default_factory=list)
    stacks: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    threads: dict[str, str] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)


def read_perf_script(path: Path) -> EventTable:
    """Read samples.

    Parameters
    ----------
    path : Path
        ``perf script -F comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso`` (``cpu`` may lack), with stacks or without.

    Returns
    -------
    EventTable
        SAMPLE rows. ``weight_ns`` is the period of clock events; of other events one over the frequency that the header's command
        names, else the median distance of samples on one processor, with the flag ASSUMED_TIME. Of several events each would tell
        the same time once more: rows are of one, a clock before cycles before the most frequent, and a note names the others.

    Raises
    ------
    DataError
        The text is not of the format; names file and line.
    """
    text = read_content(path).decode("utf-8", "replace")
    found = _Read(path)
    line = 1
    for block in text.split("\n\n"):
        _block(found, block, line)
        line += block.count("\n") + 2
    rows, notes = _of_one_event(found, np.array(found.rows, dtype=np.int64).reshape(-1, 10))
    n_without_function = int((rows[:, 6] == UNSET).sum())
    if n_without_function:
        notes.append(f"{n_without_function} samples of {path.name} name no function")
    weight, flags, more = _weights(found, rows, _FREQUENCY.search(text[:20_000]))
    return event_table(
        len(rows),
        kind=int(Kind.SAMPLE),
        start_ns=rows[:, 0],
        pid=rows[:, 1],
        tid=rows[:, 2],
        cpu=rows[:, 3],
        name=rows[:, 6],
        name2=rows[:, 7],
        site=rows[:, 8],
        tag=rows[:, 9],
        weight_ns=weight,
        flags=flags,
        strings=found.strings.all(),
        sources=(f"perf: {path.name}",),
        notes=(*notes, *more),
        attributes={"threads": found.threads},
    )


def _block(found: _Read, block: str, line: int) -> None:
    """One sample with its stack, or several without."""
    lines = block.split("\n")
    at = 0
    while at < len(lines):
        text = lines[at]
        if not text.strip() or text.startswith("#"):
            at += 1
            continue
        head = _HEAD.fullmatch(text)
        if head is None:
            hint = f"perf script -F {FIELDS}"
            raise DataError(
                f"got {text[:60]!r}, expected a sample's first line", place=f"{found.path}, line {line + at}", hint=hint
            )
        end = at + 1
        while end < len(lines) and lines[end][:1] in "\t " and lines[end].strip() and _HEAD.fullmatch(lines[end]) is None:
            end += 1
        _sample(found, head, "\n".join(lines[at + 1 : end]) or head["rest"], f"{found.path}, line {line + at}")
        at = end


def _sample(found: _Read, head: re.Match[str], stack: str, place: str) -> None:
    """Add a row."""
    numbers = {name: int((head[name] or str(UNSET))[:LONGEST_NUMBER]) for name in ("pid", "tid", "cpu", "period")}
    if len(head["s"]) > 9 or max(numbers["pid"], numbers["tid"], numbers["cpu"]) > LIMIT or numbers["period"] > 2**62:
        raise DataError("got a number that is too large", place=place)
    known = found.stacks.get(stack)
    if known is None:
        known = found.stacks[stack] = _stack(found.strings, stack)
    event = found.events.setdefault(plain_event(head["event"]), len(found.events))
    # A process that becomes another program is called after the last one.
    found.threads[f"{numbers['pid']}/{numbers['tid']}"] = head["comm"].strip()
    time_ns = int(head["s"]) * 1_000_000_000 + int(head["fraction"].ljust(9, "0"))
    found.rows.append((time_ns, numbers["pid"], numbers["tid"], numbers["cpu"], numbers["period"], event, *known))


def _stack(strings: Strings, text: str) -> tuple[int, int, int, int]:
    """Innermost function, its file, the stack from the root, and the offset in the function."""
    frames = [frame for line in text.split("\n") if (frame := _frame(line))]
    if not frames:
        return UNSET, UNSET, UNSET, UNSET
    names = [f"[{_short(frame['file'])}]" if frame["name"] == "[unknown]" else frame["name"] for frame in frames]
    folded = ";".join(name.replace(";", ",") for name in reversed(names[:LONGEST_STACK]))
    offset = min(int(frames[0]["offset"], 16), LIMIT) if frames[0]["offset"] else UNSET
    return strings.number(names[0]), strings.number(frames[0]["file"]), strings.number(folded), offset


def _frame(line: str) -> re.Match[str] | None:
    """A line of a stack."""
    return next((found for pattern in _FRAMES if (found := pattern.fullmatch(line))), None)


def _short(file: str) -> str:
    """A file's own name."""
    return file.rpartition("/")[2].strip("[]") or "unknown"


def _of_one_event(found: _Read, rows: IntArray) -> tuple[IntArray, list[str]]:
    """Samples that stand for time, each moment once."""
    if len(found.events) < 2:
        return rows, []
    names = list(found.events)
    counts = np.bincount(rows[:, 5], minlength=len(names))
    # Of two with as many samples the first: the leader of a group.
    kept = max(range(len(names)), key=lambda at: (names[at] in CLOCKS, names[at] in CYCLES, counts[at], -at))
    others = ", ".join(f"{counts[at]} of {name}" for at, name in enumerate(names) if at != kept)
    told = f"are of several events, which tell the same time: those of {names[kept]} are kept, {others} not"
    return rows[rows[:, 5] == kept], [f"samples of {found.path.name} {told}"]


def _weights(found: _Read, rows: IntArray, frequency: re.Match[str] | None) -> tuple[Any, Any, list[str]]:
    """CPU time of each sample, flags, and what is to be said about it."""
    clocks = [number for name, number in found.events.items() if name in CLOCKS]
    is_clock = np.isin(rows[:, 5], clocks) & (rows[:, 4] > 0)
    if is_clock.all():
        return rows[:, 4], 0, []
    if frequency is not None and 0 < int(frequency[1]) < 10**9:
        each, flags, how = 1_000_000_000 // int(frequency[1]), 0, f"by the frequency of {frequency[1]} a second"
    else:
        each, flags, how = _usual_gap(rows), int(Flag.ASSUMED_TIME), "by the median distance of samples on one processor"
    told = f"{int((~is_clock).sum())} samples of {found.path.name} are not of a clock: they stand for {each} ns each, {how}"
    return np.where(is_clock, rows[:, 4], each), np.where(is_clock, 0, flags), [told]


def _usual_gap(rows: IntArray) -> int:
    """Median distance of samples that follow each other on one processor (one thread where no processor is named)."""
    where = rows[:, 3] if (rows[:, 3] != UNSET).any() else rows[:, 2]
    order = np.lexsort((rows[:, 0], where))
    gaps = np.diff(rows[order, 0])[np.diff(where[order]) == 0]
    return int(np.median(gaps)) if len(gaps) else 0
