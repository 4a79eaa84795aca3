"""From visits to the times of a campaign of contractions, and what it holds: kernels, rounds, noise of each build and size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.collect.contraction.sources import kernel_name
from mlperf.collect.protocol.order import Drift, drift
from mlperf.core.shown import Shown, records_frame
from mlperf.datasets.campaigns.write import write_table
from mlperf.datasets.dictionary.contraction_schema import CACHEGRIND, KEY, ROUNDS, TIMES
from mlperf.datasets.reading.read import read_table
from mlperf.models.validation.scores import halves_difference
from mlperf.specs.patterns import swap_group

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
        return records_frame(UnitSummary, self.units).rename(columns={"noise_floor": "halves_differ"})


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
        noise_floor=halves_difference(rounds, KEY, "cpu_s", order="round", by_number=True).mape,
        check_error=float(times["check_error"].max()),
    )


DIGITS = 6


def write_times(folder: Path, host: Mapping[str, Any]) -> pd.DataFrame | None:
    """Write ``times.csv`` from the rounds that the folder holds; None where there are none yet.

    Parameters
    ----------
    folder : Path
        The campaign.
    host : mapping
        Content of ``host.json``: machine, builds, clock, family.
    """
    path = folder / "rounds.csv.gz"
    if not path.is_file():
        return None
    times = times_of(read_table(path, ROUNDS), host)
    write_table(times, folder / "times.csv", TIMES)
    return times


def times_of(rounds: pd.DataFrame, host: Mapping[str, Any]) -> pd.DataFrame:
    """The table of times, rows by build, size, alignment and pattern."""
    groups = rounds.groupby(list(KEY), sort=True)
    means = groups[["wall_s", "cycles"]].mean()
    times = groups["cpu_s"].agg(["mean", "median", "min", "std", "count"])
    odd = rounds[rounds["round"] % 2 == 1].groupby(list(KEY))["cpu_s"].mean().reindex(times.index)
    even = rounds[rounds["round"] % 2 == 0].groupby(list(KEY))["cpu_s"].mean().reindex(times.index)
    frame = times.index.to_frame(index=False)
    contractions = host["contractions"]
    frame["n_operations"] = frame["N"] ** len(contractions["indices"])
    frame["machine"] = host["host"]["machine"]
    frame["pattern_set"] = contractions["rule"]
    frame["compiler_flags"] = frame["build"].map({name: each["compiler_flags"] for name, each in host["builds"].items()})
    frame["kernel"] = frame["pattern"].map(kernel_name)
    frame["swap_group"] = frame["pattern"].map(swap_group)
    frame["n_rounds"] = times["count"].to_numpy()
    for column, values in (
        ("time_mean_s", times["mean"]),
        ("time_median_s", times["median"]),
        ("time_min_s", times["min"]),
        ("time_sd_s", times["std"].fillna(0.0)),
        ("time_odd_s", odd.fillna(times["mean"])),
        ("time_even_s", even.fillna(0.0)),
        ("wall_mean_s", means["wall_s"]),
    ):
        frame[column] = rounded(values)
    counted = groups["cycles"].min().to_numpy() > 0
    by_clock = times["mean"].to_numpy() * host["clock"]["frequency_hz"]
    cycles = np.where(counted, means["cycles"].to_numpy(), by_clock)
    frame["cycles_mean"] = rounded(cycles)
    frame["operations_per_cycle"] = rounded(np.divide(frame["n_operations"], cycles, out=np.zeros(len(frame)), where=cycles > 0))
    frame["check_error"] = rounded(groups["check_error"].max())
    return frame[list(TIMES.names)]


def rounded(values: Any) -> Any:
    """Six significant digits: far below the noise of any time."""
    return np.array([float(f"{value:.{DIGITS}g}") for value in np.asarray(values, dtype=float)])
