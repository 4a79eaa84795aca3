"""Jobs with random times, as a table on disk and as what they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .operation_tables import Operation, operations, simulate, write_table


@dataclass(frozen=True)
class MadeJob:
    n_data: int
    n_stages: int
    n_micro: int
    own: dict[int, dict[Operation, int]]
    gap: dict[int, dict[Operation, int]]
    path: Path

    def replayed(self, step: int, own: dict[Operation, float], *, gaps: bool = False) -> dict[Operation, tuple[float, float]]:
        gap = self.gap[step] if gaps else dict.fromkeys(self.gap[step], 0)
        return simulate(self.n_data, self.n_stages, self.n_micro, own.__getitem__, gap.__getitem__)


def make_job(folder: Path, seed: int, n_steps: int = 3, slow: dict[Operation, int] | None = None) -> MadeJob:
    """Random degrees; times in whole nanoseconds; ``slow`` adds to operations of every step."""
    rng = np.random.default_rng(seed)
    n_data, n_stages, n_micro = (int(rng.integers(low, high)) for low, high in ((1, 4), (2, 5), (2, 6)))
    every = [(d, s, *each) for d in range(n_data) for s in range(n_stages) for each in operations(s, n_stages, n_micro)]
    own, gap, times = {}, {}, {}
    for step in range(10, 10 + n_steps):
        own[step] = {one: int(rng.integers(100_000, 900_000)) * (5 if one[2].endswith("compute") else 1) for one in every}
        for one, more in (slow or {}).items():
            own[step][one] = own[step].get(one, 0) + more
        # The order of computations is read off their starts, so that gaps must not be negative where chains could swap.
        gap[step] = {one: int(rng.integers(0, 50_000)) for one in every}
        times[step] = simulate(n_data, n_stages, n_micro, own[step].__getitem__, gap[step].__getitem__)
    return MadeJob(n_data, n_stages, n_micro, own, gap, write_table(folder / "operations.csv", times, n_data))
