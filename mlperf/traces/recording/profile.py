"""Counts and times of calls by place and region, and which region is hot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.call_sites import call_sites
from mlperf.traces.readers.rank_file import RankFile
from mlperf.traces.readers.recorded import read_rank_files

COLUMNS = ("region", "call", "site", "n_calls", "time_s", "size_bytes")
FEW_PASSES = 4
"""Regions with fewer passes are recorded whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Profile(Shown, frame="calls"):
    """What calls took, by place.

    Attributes
    ----------
    calls : DataFrame
        ``region`` (the innermost; empty outside all), ``call``, ``site``, ``n_calls``, ``time_s``, ``size_bytes``: sums over the
        ranks, the longest time first.
    passes : DataFrame
        ``region``, ``pass``, ``time_s``: mean over the ranks of every pass through every region.
    n_ranks : int
        Ranks that were counted.
    """

    calls: pd.DataFrame
    passes: pd.DataFrame
    n_ranks: int

    @property
    def hot_region(self) -> str:
        """The region in whose calls the ranks spent the longest; empty: more was spent outside all regions."""
        times = self.calls.groupby("region")["time_s"].sum()
        return str(times.idxmax()) if len(times) else ""

    def typical_pass(self, region: str) -> str:
        """The pass nearest to the median time, as ``"n:n+1"``; empty where a region has fewer than four."""
        rows = self.passes[self.passes["region"] == region]
        if len(rows) < FEW_PASSES:
            return ""
        time_s = rows["time_s"].to_numpy()
        number = int(rows["pass"].to_numpy()[np.argmin(np.abs(time_s - np.median(time_s)))])
        return f"{number}:{number + 1}"


def read_profile(folder: Path) -> Profile:
    """Read what a run that only counted left.

    Raises
    ------
    DataError
        No rank left a file, or one is not what a recorder writes.
    """
    files = read_rank_files(folder)
    calls = pd.concat([_calls(each) for each in files])
    sums = calls.groupby(["region", "call", "site"], as_index=False)[["n_calls", "time_s", "size_bytes"]].sum()
    passes = pd.concat([_passes(each) for each in files]).groupby(["region", "pass"], as_index=False)[["time_s"]].mean()
    return Profile(sums.sort_values("time_s", ascending=False, ignore_index=True), passes, len(files))


def _calls(file: RankFile) -> pd.DataFrame:
    """Counts of one rank."""
    places = call_sites(file.sites)
    rows = file.profile
    return pd.DataFrame(
        {
            "region": [file.strings.get(number, "") if number >= 0 else "" for number in rows["comm"].tolist()],
            "call": [file.strings[number] for number in rows["name"].tolist()],
            "site": [places.get(address, "") for address in rows["site"].tolist()],
            "n_calls": rows["id"].astype(np.int64),
            "time_s": rows["start_ns"] * 1e-9,
            "size_bytes": rows["size"].astype(np.int64),
        },
        columns=list(COLUMNS),
    )


def _passes(file: RankFile) -> pd.DataFrame:
    """Passes of one rank through regions."""
    rows = file.events[file.events["kind"] == Kind.REGION]
    names = [file.strings[number] for number in rows["name"].tolist()]
    time_s = (rows["end_ns"] - rows["start_ns"]) * 1e-9
    return pd.DataFrame({"region": names, "pass": rows["id"].astype(np.int64), "time_s": time_s})
