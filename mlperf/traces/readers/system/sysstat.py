"""Tables of vmstat and mpstat: what the processors did, a line a reading."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from mlperf.core.durations import number_in
from mlperf.core.errors import DataError
from mlperf.traces.events.counters import CounterTable, Series, counter_table
from mlperf.traces.readers.content import read_content

VMSTAT = {
    "us": Series("cpu.user", "share"),
    "sy": Series("cpu.system", "share"),
    "id": Series("cpu.idle", "share"),
    "wa": Series("cpu.iowait", "share"),
    "st": Series("cpu.steal", "share"),
    "si": Series("swap.in", "bytes/s"),
    "so": Series("swap.out", "bytes/s"),
    "bi": Series("disk.read", "bytes/s"),
    "bo": Series("disk.written", "bytes/s"),
    "in": Series("system.interrupts", "1/s"),
    "cs": Series("system.switches", "1/s"),
    "r": Series("system.runnable", "processes"),
    "b": Series("system.blocked", "processes"),
    "free": Series("memory.free", "bytes"),
}
KIB = 1024.0
SCALES = {"us": 0.01, "sy": 0.01, "id": 0.01, "wa": 0.01, "st": 0.01, "si": KIB, "so": KIB, "bi": KIB, "bo": KIB, "free": KIB}
MPSTAT = {
    "usr": "user",
    "nice": "nice",
    "sys": "system",
    "iowait": "iowait",
    "irq": "irq",
    "soft": "softirq",
    "steal": "steal",
    "idle": "idle",
}
SECOND = 1_000_000_000
HALF_DAY_S = 43_200
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})\s+(\d{2}:\d{2}:\d{2})(?:\s+[A-Z]{2,5})?\s*$")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?:\s+([AP]M))?\s+(.*)")
Readings = dict[Series, tuple[list[int], list[float]]]


def read_vmstat(path: Path) -> CounterTable:
    """Read ``vmstat [-t] [-n] SECONDS``; without ``-t`` lines are taken to be a second apart, with a note.

    The first line of numbers is a mean since the machine started and is left out.

    Raises
    ------
    DataError
        There is no header, or a line has not its columns; names file, line and column.
    """
    names: list[str] = []
    found: Readings = {}
    notes: list[str] = []
    number, at = 0, 0
    for line_number, line in enumerate(read_content(path).decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if not words or words[0] == "procs":
            continue
        if {"us", "sy", "id"} <= set(words):
            names = [word for word in words if word in VMSTAT or word in ("swpd", "buff", "cache", "inact", "active", "gu")]
            continue
        place = f"{path}, line {line_number}"
        if not names:
            raise DataError(f"got {line[:40]!r} before the names of columns", place=place, hint="vmstat -t 1")
        number += 1
        stamp = _TIME.search(line)
        at = _since_1970(f"{stamp[1]} {stamp[2]}", place) if stamp else at + SECOND
        if not stamp and number == 2:
            notes.append("lines carry no time (vmstat -t): they are taken to be a second apart")
        # The first line is read like the others, and what it says left out.
        _values(found if number > 1 else {}, names, words, at, place)
    if not names:
        raise DataError("has no names of columns", place=str(path), hint="vmstat -t 1")
    return _table(found, notes)


def _values(found: Readings, names: list[str], words: list[str], at: int, place: str) -> None:
    """One line of numbers."""
    if len(words) < len(names):
        raise DataError(f"got {len(words)} columns, expected {len(names)}", place=place)
    for name, word in zip(names, words, strict=False):
        value = _number(word, f"{place}, column {name}")
        if name in VMSTAT:
            times, values = found.setdefault(VMSTAT[name], ([], []))
            times.append(at)
            values.append(value * SCALES.get(name, 1.0))


def read_mpstat(path: Path) -> CounterTable:
    """Read ``mpstat -P ALL SECONDS``, text or ``-o JSON``: shares of each processor's time.

    Raises
    ------
    DataError
        It is neither; names file, line and column.
    """
    text = read_content(path).decode("utf-8", "replace")
    found: Readings = {}
    if text.lstrip().startswith("{"):
        for at, what, values in _of_json(text, path):
            _add(found, at, what, values)
    else:
        for at, what, values in _of_text(text, path):
            _add(found, at, what, values)
    if not found:
        raise DataError("has no readings", place=str(path), hint="mpstat -P ALL 1")
    return _table(found, [])


def _add(found: Readings, at: int, what: str, values: dict[str, float]) -> None:
    """Shares of one processor at one time."""
    for name, value in values.items():
        times, shares = found.setdefault(Series(f"cpu.{name}", "share", what), ([], []))
        times.append(at)
        shares.append(value / 100)


def _of_text(text: str, path: Path) -> Iterator[tuple[int, str, dict[str, float]]]:
    """Lines ``time cpu shares`` behind a header with the date."""
    day, names, before, days = "1970-01-01", [], 0, 0
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{path}, line {number}"
        if line.startswith("Linux"):
            dated = re.search(r"(\d{4}-\d{2}-\d{2})|(\d{2})/(\d{2})/(\d{2,4})", line)
            if dated:
                year = dated[4] if dated[4] and len(dated[4]) == 4 else f"20{dated[4]}"
                day = dated[1] or f"{year}-{dated[2]}-{dated[3]}"
            continue
        timed = _CLOCK.fullmatch(line.strip())
        if not line.strip() or line.startswith("Average"):
            continue
        if timed is None:
            raise DataError(f"got {line[:40]!r}, expected a time and a processor", place=place, hint="mpstat -P ALL 1")
        words = timed[5].split()
        if words[:1] == ["CPU"]:
            names = [MPSTAT.get(word.lstrip("%"), "") for word in words[1:]]
            continue
        if len(words) != len(names) + 1:
            raise DataError(f"got {len(words)} columns, expected {len(names) + 1}", place=place)
        seconds = _of_day(timed)
        days += _is_next_day(seconds, before)
        before = seconds
        at = _since_1970(f"{day} 00:00:00", place) + (seconds + 86_400 * days) * SECOND
        what = "" if words[0] == "all" else f"cpu{words[0]}"
        yield (
            at,
            what,
            {name: _number(word, f"{place}, column {name}") for name, word in zip(names, words[1:], strict=True) if name},
        )


def _of_day(timed: re.Match[str]) -> int:
    """Seconds since midnight."""
    hour = int(timed[1]) % 12 + 12 * (timed[4] == "PM") if timed[4] else int(timed[1])
    return hour * 3600 + int(timed[2]) * 60 + int(timed[3])


def _is_next_day(seconds: int, before: int) -> bool:
    """Whether midnight lies between two readings; a clock that was set back by less than half a day is that, and no day."""
    return before - seconds > HALF_DAY_S


def _of_json(text: str, path: Path) -> Iterator[tuple[int, str, dict[str, float]]]:
    """``sysstat.hosts[].statistics[]`` of sysstat 12."""
    try:
        hosts = json.loads(text)["sysstat"]["hosts"]
        for host in hosts:
            day = str(host["date"])
            if "-" not in day:
                day = datetime.strptime(day, "%m/%d/%Y" if len(day) > 8 else "%m/%d/%y").strftime("%Y-%m-%d")
            before, days = 0, 0
            for reading in host["statistics"]:
                timed = _CLOCK.fullmatch(f"{reading['timestamp']} ")
                if timed is None:
                    raise DataError(f"got time {reading['timestamp']!r}, expected 23:59:59 or 11:59:59 PM", place=str(path))
                seconds = _of_day(timed)
                days += _is_next_day(seconds, before)
                before = seconds
                at = _since_1970(f"{day} 00:00:00", str(path)) + (seconds + 86_400 * days) * SECOND
                for load in reading["cpu-load"]:
                    # Before sysstat 12.1.3 all processors together are called -1.
                    what = "" if load["cpu"] in ("all", "-1") else f"cpu{load['cpu']}"
                    yield at, what, {MPSTAT[name]: _number(str(load[name]), str(path)) for name in MPSTAT if name in load}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"is not what mpstat -o JSON writes ({error!r})", place=str(path)) from None


def _since_1970(text: str, place: str) -> int:
    """Nanoseconds of a local time taken as UTC: these tools do not say their zone."""
    try:
        found = datetime.strptime(text, "%Y-%m-%d %H:%M:%S")
    except ValueError:
        raise DataError(f"got {text!r}, expected a date and a time", place=place) from None
    return int((found - datetime(1970, 1, 1)) / timedelta(microseconds=1)) * 1000


def _number(word: str, place: str) -> float:
    """A number that is not negative; a comma may stand for the point."""
    value = number_in(word.replace(",", "."))
    if not 0 <= value < 1e18:
        raise DataError(f"got {word!r}, expected a number >= 0", place=place)
    return value


def _table(found: Readings, notes: list[str]) -> CounterTable:
    """Series on the clock of the first reading."""
    origin = min((times[0] for times, _ in found.values()), default=0)
    readings: list[tuple[Series, Any, Any]] = [
        (about, [at - origin for at in times], values) for about, (times, values) in found.items()
    ]
    return counter_table(readings, origin_ns=origin, notes=notes)
