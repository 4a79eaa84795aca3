"""Counts of every kernel under cachegrind: simulated caches of a chosen geometry, all kernels of a unit in one run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from mlperf.collect.contraction.builds import find_program
from mlperf.collect.contraction.program import crashed
from mlperf.collect.contraction.sources import kernel_name
from mlperf.collect.contraction.units import Unit
from mlperf.collect.counters.cachegrind import Simulation, check_geometry, read_simulation
from mlperf.collect.protocol.protocol import Progress, side_by_side
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.core.children import ended_with_parent
from mlperf.core.errors import DataError
from mlperf.core.temporaries import scratch_folder
from mlperf.datasets.dictionary.contraction_schema import CACHEGRIND, CONTRACTION_TABLES

KERNELS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class CacheSimulation:
    """Geometry of the simulated caches; the last level stands for the L2.

    Attributes
    ----------
    l1_bytes, l1_ways, l2_bytes, l2_ways : int
        Capacity and associativity; the first level holds data, an equal one instructions.
    line_bytes : int
        Length of a line.

    Raises
    ------
    UsageError
        A geometry that the simulator cannot have: sets that are no power of two.
    """

    l1_bytes: int = 32 * 1024
    l1_ways: int = 8
    l2_bytes: int = 512 * 1024
    l2_ways: int = 8
    line_bytes: int = 64

    def __post_init__(self) -> None:
        check_geometry(f"{self.l1_bytes},{self.l1_ways},{self.line_bytes}")
        check_geometry(f"{self.l2_bytes},{self.l2_ways},{self.line_bytes}")

    def options(self) -> list[str]:
        """Options of valgrind that describe the simulated caches."""
        l1 = f"{self.l1_bytes},{self.l1_ways},{self.line_bytes}"
        last = f"{self.l2_bytes},{self.l2_ways},{self.line_bytes}"
        return ["--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes", f"--I1={l1}", f"--D1={l1}", f"--LL={last}"]

    def cells(self) -> dict[str, int]:
        """The geometry as columns of the table."""
        return asdict(self)

    @property
    def key(self) -> tuple[str, ...]:
        """The geometry as key cells."""
        return tuple(str(value) for value in self.cells().values())


def portions(patterns: Sequence[str]) -> Iterator[Sequence[str]]:
    """The patterns in portions for one run: what is finished survives an interrupt."""
    for first in range(0, len(patterns), KERNELS_AT_ONCE):
        yield patterns[first : first + KERNELS_AT_ONCE]


def simulate(unit: Unit, patterns: Sequence[str], simulation: CacheSimulation) -> dict[str, dict[str, int]]:
    """Counts of one call of each kernel, by pattern and event.

    A kernel starts with the caches that the one before left, its result zeroed.

    Raises
    ------
    MissingExtraError
        valgrind is not installed.
    DataError
        valgrind refused the geometry or the code.
    """
    valgrind = find_program("valgrind")
    numbers = [str(unit.patterns.index(pattern)) for pattern in patterns]
    with scratch_folder() as folder:
        out = folder / "counts"
        command = [valgrind, *simulation.options(), f"--cachegrind-out-file={out}", str(unit.program.resolve()), *numbers]
        done = subprocess.run(  # noqa: S603 - valgrind on our program
            command, capture_output=True, text=True, check=False, preexec_fn=ended_with_parent()
        )
        if done.returncode or not out.is_file():
            raise refused(unit, done)
        counts = function_counts(read_simulation(out))
    return {pattern: counted(counts, unit, pattern) for pattern in patterns}


def counted(counts: Mapping[str, dict[str, int]], unit: Unit, pattern: str) -> dict[str, int]:
    """The counts of one kernel.

    Raises
    ------
    DataError
        The simulator did not see it.
    """
    name = kernel_name(pattern)
    if name not in counts:
        raise DataError("got no counts of this function", place=f"kernel {name}, build {unit.label}, cachegrind")
    return counts[name]


def refused(unit: Unit, done: subprocess.CompletedProcess[str]) -> DataError:
    """The error for a simulation that ended badly, with valgrind's own words."""
    if done.returncode < 0:
        return crashed(unit, "", done.returncode)
    said = [line.partition("==")[2] for line in done.stderr.splitlines() if line.strip("= ")]
    return DataError(
        f"valgrind ended with exit code {done.returncode}: {' '.join(said[-3:])[:300]}",
        place=f"build {unit.label}",
        hint="It knows the instructions of a common x86-64 processor; sets (size / ways / line) must be a power of two.",
    )


def function_counts(simulation: Simulation) -> dict[str, dict[str, int]]:
    """Counts by function and event, summed over the files that its lines came from."""
    found: dict[str, dict[str, int]] = {}
    for (_, function), counts in simulation.functions.items():
        known = found.setdefault(function, dict.fromkeys(simulation.events, 0))
        for event, count in zip(simulation.events, counts, strict=True):
            known[event] += count
    return found


EVENTS = tuple(name.removeprefix("cg_") for name in CACHEGRIND.names if name.startswith("cg_"))


def simulate_units(folder: Path, units: Sequence[Unit], simulation: CacheSimulation, n_jobs: int, progress: Progress) -> None:
    """Add the counts of every kernel that the folder's table lacks for this geometry.

    Raises
    ------
    MissingExtraError
        valgrind is not installed.
    DataError
        valgrind refused the geometry or the code.
    """
    table = GrowingTable(folder, "cachegrind", CONTRACTION_TABLES)
    known = {tuple(row[name] for name in CACHEGRIND.key) for row in table.rows()}
    missing = [
        (unit, part, simulation)
        for unit in units
        for part in portions([pattern for pattern in unit.patterns if (*unit.key(pattern), *simulation.key) not in known])
    ]
    progress.start("cachegrind", len(missing))
    for (unit, *_), counts in side_by_side(simulate, missing, n_jobs):
        table.add(rows_of(unit, counts, simulation))
        table.flush()
        progress.advance()


def rows_of(unit: Unit, counts: dict[str, dict[str, int]], simulation: CacheSimulation) -> list[dict[str, object]]:
    """Rows of the table."""
    return [
        {
            "build": unit.build.name,
            "N": unit.n,
            "offset_bytes": unit.offset_bytes,
            "pattern": pattern,
            **simulation.cells(),
            **{f"cg_{event}": events.get(event, 0) for event in EVENTS},
        }
        for pattern, events in counts.items()
    ]
