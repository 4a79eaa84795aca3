"""Which region is hot, and which of its passes is typical."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.traces.recording.profile import COLUMNS, Profile

CALLS = (
    ("", "MPI_Bcast", "a", 1, 0.5, 8),
    ("solve", "MPI_Send", "b", 9, 0.4, 8),
    ("solve", "MPI_Recv", "c", 9, 0.3, 8),
    ("io", "MPI_Send", "d", 1, 0.6, 8),
)


def profile(times_s: tuple[float, ...]) -> Profile:
    passes = pd.DataFrame({"region": "solve", "pass": range(len(times_s)), "time_s": times_s})
    return Profile(pd.DataFrame(CALLS, columns=list(COLUMNS)), passes, 4)


def test_the_hot_region_is_where_calls_took_longest_together() -> None:
    assert profile((1.0,)).hot_region == "solve"


@pytest.mark.parametrize(("times_s", "chosen"), [((9.0, 1.0, 2.0, 3.0, 50.0), "3:4"), ((1.0, 2.0, 3.0), "")])
def test_the_typical_pass_is_nearest_to_the_median(times_s: tuple[float, ...], chosen: str) -> None:
    assert profile(times_s).typical_pass("solve") == chosen
    assert profile(times_s).typical_pass("absent") == ""
