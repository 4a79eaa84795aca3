"""The table of simulated counts: which kernels it lacks, and several simulators at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from mlperf.collect.contraction.cachegrind import CacheSimulation, portions, simulate
from mlperf.collect.contraction.units import Unit
from mlperf.collect.protocol.protocol import Progress
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.datasets.dictionary.contraction_schema import CACHEGRIND, CONTRACTION_TABLES

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
        (unit, part)
        for unit in units
        for part in portions([pattern for pattern in unit.patterns if (*unit.key(pattern), *simulation.key) not in known])
    ]
    progress.start("cachegrind", len(missing))
    with ThreadPoolExecutor(max(n_jobs, 1)) as pool:
        waiting = {pool.submit(simulate, unit, part, simulation): unit for unit, part in missing}
        try:
            for done in as_completed(waiting):
                table.add(rows_of(waiting[done], done.result(), simulation))
                table.flush()
                progress.advance()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


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
