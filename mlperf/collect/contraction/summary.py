"""What a campaign of contractions holds: kernels, rounds, times and noise of each build and size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.collect.protocol.order import Drift, drift
from mlperf.core.shown import Shown, records_frame
from mlperf.datasets.dictionary.contraction_schema import CACHEGRIND, KEY, ROUNDS
from mlperf.datasets.reading.read import read_table
from mlperf.models.validation.scores import noise_floor

UNIT = ["build", "N", "offset_bytes"]


@dataclass(frozen=True, slots=True)
class UnitSummary(Shown):
    """One build at one size and alignment.

    Attributes
    ----------
    build, N, offset_bytes
        Which.
    n_kernels, n_rounds : int
        What was measured.
    time_median_s, time_sum_s : float
        Median over kernels of their mean time, and the sum of the means: seconds of one round.
    operations_per_cycle : float
        Median over kernels; 0 where the clock is not known.
    noise_floor : float
        Mean relative difference of medians over odd and even rounds; NaN below two rounds.
    check_error : float
        Worst relative deviation from einsum.
    """

    build: str
    N: int
    offset_bytes: int
    n_kernels: int
    n_rounds: int
    time_median_s: float
    time_sum_s: float
    operations_per_cycle: float
    noise_floor: float
    check_error: float


@dataclass(frozen=True, slots=True)
class CollectedContractions(Shown):
    """Result of a run of `collect_contractions`.

    Attributes
    ----------
    folder : str
        The campaign.
    complete : bool
        Whether all rounds were finished; False when the budget ended first.
    n_compiled : int
        Kernels that are ready, over all builds, sizes and alignments of this run.
    n_simulated : int
        Rows of the table of simulated counts.
    clock : str
        Where clock cycles come from.
    drift : Drift or None
        Whether the machine's speed moved; None before the first round.
    units : tuple of UnitSummary
        All that the folder holds.
    """

    folder: str
    complete: bool
    n_compiled: int
    n_simulated: int
    clock: str
    drift: Drift | None
    units: tuple[UnitSummary, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row per build, size and alignment."""
        return records_frame(UnitSummary, self.units)


def summarise_contractions(
    folder: Path, times: pd.DataFrame | None, clock: str, n_compiled: int, *, complete: bool
) -> CollectedContractions:
    """Read the tables back and describe them."""
    simulated = folder / "cachegrind.csv"
    n_simulated = len(read_table(simulated, CACHEGRIND)) if simulated.is_file() else 0
    if times is None:
        return CollectedContractions(str(folder), complete, n_compiled, n_simulated, clock, None, ())
    rounds = read_table(folder / "rounds.csv.gz", ROUNDS)
    units = tuple(unit_summary(part, rounds.merge(part[UNIT].head(1))) for _, part in times.groupby(UNIT))
    moved = drift(rounds, KEY, "cpu_s", "pattern")
    return CollectedContractions(str(folder), complete, n_compiled, n_simulated, clock, moved, units)


def unit_summary(times: pd.DataFrame, rounds: pd.DataFrame) -> UnitSummary:
    """One build at one size and alignment, from its rows of both tables."""
    first = times.iloc[0]
    return UnitSummary(
        build=str(first["build"]),
        N=int(first["N"]),
        offset_bytes=int(first["offset_bytes"]),
        n_kernels=len(times),
        n_rounds=int(times["n_rounds"].min()),
        time_median_s=float(times["time_mean_s"].median()),
        time_sum_s=float(times["time_mean_s"].sum()),
        operations_per_cycle=float(times["operations_per_cycle"].median()),
        noise_floor=noise_floor(rounds, KEY, "cpu_s", order="round", by_number=True).mape,
        check_error=float(times["check_error"].max()),
    )
