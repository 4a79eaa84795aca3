"""Output files of cachegrind: counts by function, totals, and the geometry of the simulated caches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import DataError

CACHE = re.compile(r"desc: (I1|D1|LL) cache:\s+(\d+) B, (\d+) B, (direct-mapped|fully associative|\d+-way associative)")


@dataclass(frozen=True, slots=True)
class Cache:
    """Size, line and ways of a simulated cache; one way where it is mapped directly."""

    size_bytes: int
    line_bytes: int
    ways: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """What cachegrind counted in one process.

    Attributes
    ----------
    events : tuple of str
        ``Ir``, ``Dr``, ..., the order of all counts.
    totals : tuple of int
        Of the whole process.
    functions : mapping
        (file, function) to its counts.
    caches : mapping
        ``"I1"``, ``"D1"``, ``"LL"`` to their geometry.
    """

    events: tuple[str, ...]
    totals: tuple[int, ...]
    functions: Mapping[tuple[str, str], tuple[int, ...]]
    caches: Mapping[str, Cache]


def read_simulation(path: Path) -> Simulation:
    """Read one output file.

    Raises
    ------
    DataError
        It is not one, or it breaks off.
    """
    events: tuple[str, ...] = ()
    totals: tuple[int, ...] = ()
    caches: dict[str, Cache] = {}
    functions: dict[tuple[str, str], list[int]] = {}
    place = ("", "")
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        try:
            if line[:1].isdigit():
                add(functions[place], line.split()[1:])
            elif line.startswith(("fl=", "fi=", "fe=")):
                place = (line[3:], place[1])
                functions.setdefault(place, [0] * len(events))
            elif line.startswith("fn="):
                place = (place[0], line[3:])
                functions.setdefault(place, [0] * len(events))
            elif line.startswith("events:"):
                events = tuple(line.split()[1:])
            elif line.startswith("summary:"):
                totals = tuple(int(word) for word in line.split()[1:])
            elif found := CACHE.match(line):
                caches[found[1]] = cache(found)
        except (ValueError, KeyError, IndexError) as error:
            raise DataError(f"got {line[:60]!r}, expected a line of cachegrind", place=f"{path}, line {number}") from error
    if not totals:
        raise DataError("breaks off before its summary", place=str(path), hint="Was the command killed? Run it again.")
    named = {key: tuple(counts) for key, counts in functions.items() if any(counts)}
    return Simulation(events, totals, named, caches)


def add(counts: list[int], words: Iterable[str]) -> None:
    """Add the counts of one line; what is left out at its end is zero."""
    for at, word in enumerate(words):
        counts[at] += int(word)


def cache(found: re.Match[str]) -> Cache:
    """Geometry of one description."""
    size_bytes, line_bytes, kind = int(found[2]), int(found[3]), found[4]
    ways = {"direct-mapped": 1, "fully associative": size_bytes // line_bytes}
    return Cache(size_bytes, line_bytes, ways[kind] if kind in ways else int(kind.partition("-")[0]))


def whole_run(simulations: Iterable[Simulation]) -> Simulation:
    """All processes of a command added up."""
    every = tuple(simulations)
    first = every[0]
    functions: dict[tuple[str, str], list[int]] = {}
    for one in every:
        for key, counts in one.functions.items():
            add(functions.setdefault(key, [0] * len(first.events)), [str(count) for count in counts])
    totals = tuple(sum(column) for column in zip(*(one.totals for one in every), strict=True))
    return Simulation(first.events, totals, {key: tuple(counts) for key, counts in functions.items()}, first.caches)
