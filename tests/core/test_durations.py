"""Durations: what is taken, what is refused, and Slurm's own way of writing them."""

from __future__ import annotations

import math
import re

import pytest

from mlperf.core.durations import duration_s, number_in, slurm_time
from mlperf.core.errors import DataError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("12h", 43200),
        ("90min", 5400),
        ("90m", 5400),
        ("2d", 172800),
        ("1h30min", 5400),
        ("1 d 2 h", 93600),
        ("0.5h", 1800),
        ("9hours", 32400),
        ("1 hour 30 minutes", 5400),
        ("1 Week 2days", 777600),
        ("2hrs5mins1sec", 7501),
        ("90 seconds", 90),
        (20, 20),
    ],
)
def test_durations(text: object, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["12", "h", "12 parsecs", "12 secondss", "1h30", "-3h", "", "1e3h", True, None, -1.0, float("nan"), "9" * 20 + "d"]
)
def test_others_are_refused_with_their_place(text: object) -> None:
    with pytest.raises(DataError, match=re.escape("run, startup_s: got")):
        duration_s(text, "run, startup_s")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1, "00:01:00"), (45240, "12:34:00"), (45241, "12:35:00"), (86400, "1-00:00:00"), (86400 * 25 + 3600, "25-01:00:00")],
)
def test_slurm_gets_hours_or_days_and_whole_minutes(seconds: float, text: str) -> None:
    assert slurm_time(seconds) == text
    days, _, clock = text.rpartition("-")
    hours, minutes, _ = map(int, clock.split(":"))
    assert 0 <= (int(days or 0) * 24 + hours) * 3600 + minutes * 60 - seconds < 60


def test_numbers_and_what_is_none() -> None:
    assert [number_in(text) for text in ("1.5", " -2 ", b"3", "inf", "1e3")] == [1.5, -2.0, 3.0, math.inf, 1000.0]
    assert all(math.isnan(number_in(text)) for text in ("", "a", "1,5", b"\xff", "nan"))
