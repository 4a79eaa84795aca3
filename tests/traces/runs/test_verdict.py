"""What an interval decides."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlperf.traces.runs.ratio import Ratio, block_ratio
from mlperf.traces.runs.verdict import more_blocks, more_blocks_at_most, verdict


@pytest.mark.parametrize(
    ("low", "high", "margin", "said"),
    [
        (0.7, 0.9, 0.01, "faster"),
        (1.1, 1.3, 0.01, "slower"),
        (0.9, 1.1, 0.01, "inconclusive"),
        (0.995, 1.005, 0.01, "no difference"),
        (1.001, 1.005, 0.01, "no difference"),
        (1.001, 1.005, 0.0, "slower"),
        (float("nan"), float("nan"), 0.01, "inconclusive"),
    ],
)
def test_intervals(low: float, high: float, margin: float, said: str) -> None:
    assert verdict(Ratio(1.0, low, high, 0.1, 6), margin) == said


def test_rates_and_numbers() -> None:
    up = Ratio(1.2, 1.1, 1.3, 0.1, 6)
    assert verdict(up, 0.01, higher_is_better=True, is_time=False) == "better"
    assert verdict(up, 0.01, is_time=False) == "worse"


def test_as_many_more_blocks_as_decide() -> None:
    rng = np.random.default_rng(4)
    deviation, effect = 0.1, 0.05
    first = Ratio(math.exp(effect), 0.9, 1.2, deviation / math.sqrt(8), 8)
    more = more_blocks(first, 0.0)
    assert more is not None
    decided = sum(block_ratio(rng.normal(effect, deviation, 8 + more)).low > 1 for _ in range(1500))
    assert decided / 1500 == pytest.approx(0.8, abs=0.06)
    assert more_blocks(Ratio(1.0, 0.9, 1.1, float("nan"), 8), 0.01) is None
    assert more_blocks(Ratio(1.0, 0.9, 1.1, 0.1, 8), 0.0) is None


def test_as_many_blocks_as_decide_whatever_the_ratio_is() -> None:
    """A ratio that noise made promises too few: of programs that are alike, those decide half of the comparisons."""
    rng = np.random.default_rng(5)
    promised, surely = [], []
    for _ in range(60):
        first = block_ratio(rng.normal(0.0, 0.03, 6))
        if verdict(first, 0.01) != "inconclusive":
            continue
        for found, how_many in ((promised, more_blocks), (surely, more_blocks_at_most)):
            more = how_many(first, 0.01)
            assert more is not None
            found.append(verdict(block_ratio(rng.normal(0.0, 0.03, 6 + more)), 0.01) != "inconclusive")
    assert np.mean(promised) < 0.75
    assert np.mean(surely) >= 0.8
    assert more_blocks_at_most(Ratio(1.0, 0.9, 1.1, 0.1, 8), 0.0) is None
