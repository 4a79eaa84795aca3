"""From rounds to times: one row a kernel, build, size and alignment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.collect.contraction.sources import kernel_name
from mlperf.datasets.campaigns.write import write_table
from mlperf.datasets.dictionary.contraction_schema import KEY, ROUNDS, TIMES
from mlperf.datasets.reading.read import read_table
from mlperf.specs.patterns import swap_group

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
