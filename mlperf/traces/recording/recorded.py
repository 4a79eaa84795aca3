"""What a recording holds and what it cost: the result of `mlperf.traces.recording.record`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.traces.readers.rank_file import RankFile
from mlperf.traces.readers.recorded import PATTERN, read_rank_files, read_recorded, regions_of, share_recorded
from mlperf.traces.recording.profile import Profile

NOTHING = "No rank wrote a file: did the command start an MPI program, with the MPI that the recorder was built with?"
REGION_COLUMNS = ("region", "passes", "recorded", "time_s", "recorded_s")


@dataclass(frozen=True, slots=True, eq=False)
class Recorded(Shown):
    """One recording.

    Attributes
    ----------
    folder : str
        Where it is.
    command : tuple of str
        What was run.
    command_exit_code : int
        The command's own; 128 + number where a signal ended it.
    wall_s : float
        Of the command, seconds.
    n_ranks, n_events : int
        Ranks of the run; communication events and passes of regions in the recording.
    n_bytes : int
        Size of all files.
    bytes_per_event : float
        Names and places included.
    own_share : float
        What the recorder itself took of the ranks' time from their start to their end, by its own clock on every 64th event; NaN
        where no rank came to its end. Caches that it displaces are not in it: paired runs with and without it tell that.
    selected : str
        The part of the run that was asked for; empty: all.
    scale : float
        How many times as long the run was in its recorded regions as the recording is: what a result for the recording is to be
        multiplied by for the run, where all passes are alike. 1: all passes are recorded.
    regions : DataFrame
        ``region``, ``passes``, ``recorded``, ``time_s``, ``recorded_s``: of the run and of the recording, means over the ranks.
    calls : DataFrame
        Of a profile: see `Profile`; empty without one.
    notes : tuple of str
        What is missing, counted.
    """

    folder: str
    command: tuple[str, ...]
    command_exit_code: int
    wall_s: float
    n_ranks: int
    n_events: int
    n_bytes: int
    bytes_per_event: float
    own_share: float
    selected: str
    scale: float
    regions: pd.DataFrame
    calls: pd.DataFrame
    notes: tuple[str, ...] = ()


def recorded(
    folder: Path,
    command: Sequence[str],
    exit_code: int,
    *,
    wall_s: float = 0.0,
    profile: Profile | None = None,
    selected: str = "",
) -> Recorded:
    """Sum up what the ranks left in a folder."""
    files = read_rank_files(folder) if any(folder.glob(PATTERN)) else []
    regions = regions_of(files) if files else {}
    n_events, n_bytes = sum(len(each.events) for each in files), sum(each.n_bytes for each in files)
    rows = [
        (name, each["passes"], each["recorded"], each["ns"] * 1e-9, each["recorded_ns"] * 1e-9) for name, each in regions.items()
    ]
    has_events = any(len(each.events) and not len(each.profile) for each in files)
    notes = read_recorded(folder).notes if has_events else ()
    return Recorded(
        folder=str(folder),
        command=tuple(command),
        command_exit_code=exit_code,
        wall_s=wall_s,
        n_ranks=files[0].n_ranks if files else 0,
        n_events=n_events,
        n_bytes=n_bytes,
        bytes_per_event=n_bytes / n_events if n_events else float("nan"),
        own_share=_own_share(files),
        selected=selected,
        scale=share_recorded(regions),
        regions=pd.DataFrame(rows, columns=list(REGION_COLUMNS)),
        calls=profile.calls if profile else pd.DataFrame(),
        notes=(*notes, *(() if files else (NOTHING,)), *_scaled(regions, share_recorded(regions))),
    )


def _own_share(files: Sequence[RankFile]) -> float:
    """The recorder's part of the ranks' time."""
    whole = [each for each in files if each.is_whole]
    run_ns = sum(each.run_ns for each in whole)
    return sum(each.own_ns for each in whole) / run_ns if run_ns else float("nan")


def _scaled(regions: dict[str, dict[str, float]], scale: float) -> tuple[str, ...]:
    """A label for results that stand for more than was recorded."""
    parts = [
        f"{each['recorded']:g} of {each['passes']:g} passes of {name}"
        for name, each in regions.items()
        if 0 < each["recorded"] < each["passes"]
    ]
    return (f"Recorded: {', '.join(parts)}; times of the run are those of the recording x {scale:.4g}.",) if parts else ()
