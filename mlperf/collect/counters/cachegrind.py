"""``valgrind --tool=cachegrind``: instructions, accesses, misses and branches of a simulated machine, the same on every run."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.collect.counters.offers import ABSENT, OK, CounterOffer, SourceOffer, absent_source, source_offer
from mlperf.core.errors import DataError, UsageError

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
                totals = tuple(map(count, line.split()[1:]))
            elif found := CACHE.match(line):
                caches[found[1]] = cache(found)
        except (ValueError, KeyError, IndexError) as error:
            raise DataError(f"got {line[:60]!r}, expected a line of cachegrind", place=f"{path}, line {number}") from error
    if not totals:
        raise DataError("breaks off before its summary", place=str(path), hint="Was the command killed? Run it again.")
    if len(totals) != len(events) or len(set(events)) < len(events):
        got = f"got {len(totals)} totals of the events {' '.join(events)}, expected one of each"
        raise DataError(got, place=str(path), hint="Run the command again.")
    named = {key: tuple(counts) for key, counts in functions.items() if any(counts)}
    return Simulation(events, totals, named, caches)


def add(counts: list[int], words: Iterable[str]) -> None:
    """Add the counts of one line; what is left out at its end is zero."""
    for at, word in enumerate(words):
        counts[at] += count(word)


def count(word: str) -> int:
    """A count; ValueError: it is none, or more than a counter of 64 bits holds."""
    if not (word.isascii() and word.isdigit() and int(word) < 2**64):
        raise ValueError(word)
    return int(word)


def cache(found: re.Match[str]) -> Cache:
    """Geometry of one description."""
    size_bytes, line_bytes, kind = count(found[2]), count(found[3]), found[4]
    if not 0 < line_bytes <= size_bytes:
        raise ValueError(found[0])
    ways = {"direct-mapped": 1, "fully associative": size_bytes // line_bytes}
    n_ways = ways[kind] if kind in ways else count(kind.partition("-")[0])
    if not 0 < n_ways <= size_bytes // line_bytes:
        raise ValueError(found[0])
    return Cache(size_bytes, line_bytes, n_ways)


def whole_run(simulations: Iterable[Simulation]) -> Simulation:
    """All processes of a command added up."""
    every = tuple(simulations)
    first = every[0]
    if any(one.events != first.events for one in every):
        raise DataError("counted other events in one process than in another, expected the same", place="cachegrind")
    functions: dict[tuple[str, str], list[int]] = {}
    for one in every:
        for key, counts in one.functions.items():
            add(functions.setdefault(key, [0] * len(first.events)), [str(count) for count in counts])
    totals = tuple(sum(column) for column in zip(*(one.totals for one in every), strict=True))
    return Simulation(first.events, totals, {key: tuple(counts) for key, counts in functions.items()}, first.caches)


PACKAGE = "valgrind"
PATIENCE_S = 60.0
ABOUT_SLOWER = 50
PREFIX = "cg_"
GEOMETRY = {"l1": "D1", "ll": "LL"}


@dataclass(frozen=True, slots=True)
class SimulatedCaches:
    """Geometry that the simulation is asked for, ``"SIZE,WAYS,LINE"`` in bytes; empty: as this machine's.

    The tool knows two levels. A second cache between them can be had by giving its geometry as that of the last.
    """

    l1: str = ""
    ll: str = ""

    @property
    def options(self) -> list[str]:
        """Options of cachegrind that describe the simulated caches."""
        return [f"--{GEOMETRY[name]}={text}" for name, text in (("l1", self.l1), ("ll", self.ll)) if text]


def check_geometry(text: str) -> str:
    """Accept ``SIZE,WAYS,LINE`` as the tool does.

    Raises
    ------
    UsageError
        No three numbers, or the number of sets is no power of two.
    """
    try:
        size, ways, line = (int(word) for word in text.split(","))
        is_cache = min(size, ways, line) > 0 and line >= 16 and size % (ways * line) == 0
        sets = size // (ways * line) if is_cache else 3
    except ValueError:
        sets = 3
    if sets & (sets - 1) or sets == 0 or line & (line - 1):
        raise UsageError(
            f"got cache {text!r}, expected SIZE,WAYS,LINE in bytes with SIZE / (WAYS x LINE) and LINE powers of two",
            hint="For example 32768,8,64.",
        )
    return text


def command_line(command: Sequence[str], caches: SimulatedCaches, folder: Path) -> list[str]:
    """The tool around a command; every process of it writes a file ``cachegrind.PID``."""
    return [
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=yes",
        "--branch-sim=yes",
        "--trace-children=yes",
        f"--cachegrind-out-file={folder}/cachegrind.%p",
        f"--log-file={folder}/log.%p",
        *caches.options,
        "--",
        *command,
    ]


def read_folder(folder: Path) -> Simulation:
    """Add up what every process of the command wrote.

    Raises
    ------
    DataError
        None of them wrote a whole file.
    """
    found = [read_simulation(path) for path in sorted(folder.glob("cachegrind.*"))]
    if not found:
        logs = "".join(path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("log.*")))
        said = next((line.partition("== ")[2] for line in logs.splitlines() if "valgrind:" in line or "fatal" in line), "nothing")
        raise DataError(
            f"cachegrind wrote no counts: it says {said!r}",
            place="cachegrind",
            hint="It cannot run programs for other machines, and older versions of it no AVX-512 instructions.",
        )
    return whole_run(found)


def counters_from(simulation: Simulation) -> dict[str, float]:
    """Columns of one run: counts, and the geometry they hold for."""
    values = {PREFIX + event: float(count) for event, count in zip(simulation.events, simulation.totals, strict=True)}
    return values | geometry(simulation)


def geometry(simulation: Simulation) -> dict[str, float]:
    """Columns that say which caches were simulated."""
    found: dict[str, float] = {}
    for name, known in GEOMETRY.items():
        if known in simulation.caches:
            cache = simulation.caches[known]
            found |= {f"{PREFIX}{name}_bytes": float(cache.size_bytes), f"{PREFIX}{name}_ways": float(cache.ways)}
            found[f"{PREFIX}line_bytes"] = float(cache.line_bytes)
    return found


def function_table(simulation: Simulation) -> pd.DataFrame:
    """One row a function, the one with most instructions first; ``function``, ``file`` and the counts."""
    rows = [(function, file, *counts) for (file, function), counts in simulation.functions.items()]
    columns = [PREFIX + event for event in simulation.events]
    table = pd.DataFrame(rows, columns=["function", "file", *columns])
    # A function inlined from other files has lines in each of them.
    merged = table.groupby("function", as_index=False, sort=False).agg({"file": "first"} | dict.fromkeys(columns, "sum"))
    ordered = merged.sort_values([columns[0], "function"], ascending=[False, True], kind="stable").reset_index(drop=True)
    return ordered.assign(**geometry(simulation))


def probe_cachegrind(names: Sequence[str], folder: Path) -> SourceOffer:
    """Simulate a program that does nothing."""
    if shutil.which("valgrind") is None:
        return absent_source("cachegrind", names, "the program valgrind is not installed", PACKAGE)
    try:
        line = command_line(["true"], SimulatedCaches(), folder)
        subprocess.run(line, capture_output=True, check=False, timeout=PATIENCE_S)  # noqa: S603 - valgrind on true
        found = counters_from(read_folder(folder))
    except (OSError, subprocess.TimeoutExpired, DataError) as error:
        return absent_source("cachegrind", names, f"valgrind failed: {error}")
    offers = [CounterOffer(name, OK) if name in found else CounterOffer(name, ABSENT, "not counted") for name in names]
    return source_offer("cachegrind", offers)
