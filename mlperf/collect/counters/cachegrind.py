"""``valgrind --tool=cachegrind``: instructions, accesses, misses and branches of a simulated machine, the same on every run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.collect.counters.cachegrind_file import Simulation, read_simulation, whole_run
from mlperf.collect.counters.offers import ABSENT, OK, CounterOffer, SourceOffer, absent_source, source_offer
from mlperf.core.errors import DataError, UsageError

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
