"""Rounds in random order over all kernels of all units; a new process of every program in each round."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from mlperf.collect.contraction.checks import Expected, check_error
from mlperf.collect.contraction.program import Program
from mlperf.collect.contraction.units import Unit
from mlperf.collect.protocol.clocks import Reference, load_average
from mlperf.collect.protocol.protocol import FLUSH_EVERY_S, Campaign, flush, last_sequence
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.datasets.dictionary.contraction_schema import KEY

REFERENCE_EVERY_S = 1.0
Done = frozenset[tuple[str, ...]]


@dataclass(slots=True)
class Visitor:
    """What all visits share.

    Parameters
    ----------
    campaign : Campaign
        Folder, seed, deadline, progress, position in the order of measuring.
    table : GrowingTable
        Where the rows go.
    expected : mapping
        Checksums by (N, pattern).
    least_s : float
        CPU time of a visit at least, seconds.
    """

    campaign: Campaign
    table: GrowingTable
    expected: Expected
    least_s: float
    chain_hz: list[float] = field(default_factory=list)
    reference: Reference = field(default_factory=Reference)
    reference_s: float = 0.0
    referred_s: float = float("-inf")

    def circumstances(self, number: int) -> dict[str, float | int]:
        """Round, position, load and the time of the reference kernel, taken anew once a second."""
        if time.monotonic() - self.referred_s > REFERENCE_EVERY_S:
            self.reference_s, self.referred_s = self.reference.time_s(), time.monotonic()
        return {"round": number, "sequence": self.campaign.sequence, "load": load_average(), "reference_s": self.reference_s}


def run_rounds(visitor: Visitor, units: Sequence[Unit], rounds: int) -> bool:
    """Visit every kernel in every round; what the table holds already is not measured again.

    Returns
    -------
    bool
        Whether all rounds are complete; False when the budget ended first.

    Raises
    ------
    DataError
        A kernel computes something else than einsum, or crashes; names it. Finished visits are in the table.
    """
    done = finished(visitor.table)
    visitor.campaign.sequence = 1 + last_sequence(visitor.table)
    visitor.campaign.flushed_s = time.monotonic()
    try:
        return all(run_round(visitor, units, number, rounds, done.get(number, frozenset())) for number in range(1, rounds + 1))
    finally:
        flush(visitor.campaign, [visitor.table])


def run_round(visitor: Visitor, units: Sequence[Unit], number: int, rounds: int, done: Done) -> bool:
    """One round, up to the end of the budget; False where it ended early."""
    campaign = visitor.campaign
    visits = [(place, pattern) for place, unit in enumerate(units) for pattern in unit.patterns if unit.key(pattern) not in done]
    order = np.random.default_rng([campaign.seed, number]).permutation(len(visits))
    if not len(order):
        return True
    campaign.progress.start(f"contractions, round {number} of {rounds}", len(visits))
    with ExitStack() as stack:
        programs = {place: stack.enter_context(Program(units[place])) for place in sorted({place for place, _ in visits})}
        visitor.chain_hz.append(next(iter(programs.values())).core_hz())
        for chosen in order:
            if campaign.ends:
                return False
            place, pattern = visits[chosen]
            take(visitor, programs[place], pattern, number)
            campaign.progress.advance()
    return True


def take(visitor: Visitor, program: Program, pattern: str, number: int) -> None:
    """One visit: measure, check, remember."""
    unit, beside = program.unit, visitor.circumstances(number)
    timing = program.time(pattern, visitor.least_s)
    error = check_error(unit, pattern, timing.checksum, visitor.expected[unit.n, pattern])
    visitor.table.add(
        [
            {
                "build": unit.build.name,
                "N": unit.n,
                "offset_bytes": unit.offset_bytes,
                "pattern": pattern,
                "cpu_s": timing.cpu_s,
                "wall_s": timing.wall_s,
                "n_runs": timing.n_runs,
                "cycles": timing.cycles,
                "check_error": error,
                **beside,
            }
        ]
    )
    visitor.campaign.sequence += 1
    visitor.campaign.n_taken += 1
    if time.monotonic() - visitor.campaign.flushed_s > FLUSH_EVERY_S:
        flush(visitor.campaign, [visitor.table])


def finished(table: GrowingTable) -> dict[int, Done]:
    """Keys of the kernels that were visited, by round."""
    found: dict[int, set[tuple[str, ...]]] = {}
    for row in table.rows():
        found.setdefault(int(row["round"]), set()).add(tuple(row[name] for name in KEY))
    return {number: frozenset(keys) for number, keys in found.items()}
