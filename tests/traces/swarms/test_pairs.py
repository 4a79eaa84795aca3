from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.traces.swarms.pairs import FOLLOWS, NO_ORDER, TOGETHER, Beginnings, find_pairs, synchronisations
from mlperf.traces.timeline.windows import Windows

MS = 1_000_000
N_PAIRS = 6
N_UNRELATED = 8


def steps_of(rng: np.random.Generator, n_steps: int = 40) -> Windows:
    """Steps of about 100 ms, 20 % jitter."""
    length = (100 * MS * np.clip(rng.normal(1.0, 0.2, n_steps), 0.5, 1.5)).astype(np.int64)
    end = np.cumsum(length)
    return Windows(0, np.arange(n_steps), end - length, end, "planted")


def planted(rng: np.random.Generator, windows: Windows) -> tuple[list[Beginnings], set[tuple[str, str]]]:
    """Leaders at random moments of each step with a follower after a lag of its own with 20 % jitter; others unrelated."""
    length = windows.end_ns - windows.start_ns
    swarms, truth = [], set()
    for number in range(N_PAIRS):
        lag = rng.uniform(3, 25) * MS
        leader = windows.start_ns + (rng.uniform(0.0, 0.5, len(windows)) * length).astype(np.int64)
        follower = leader + (lag * np.clip(rng.normal(1.0, 0.2, len(windows)), 0.3, 1.7)).astype(np.int64)
        # Now and then one of the two does not happen.
        swarms.append(Beginnings(f"leader {number}", leader[rng.random(len(windows)) > 0.05]))
        swarms.append(Beginnings(f"follower {number}", np.sort(follower[rng.random(len(windows)) > 0.05])))
        truth.add((f"leader {number}", f"follower {number}"))
    for number in range(N_UNRELATED):
        n = int(rng.integers(1, 4)) * len(windows)
        swarms.append(Beginnings(f"unrelated {number}", np.sort(rng.integers(0, windows.end_ns[-1], n))))
    order = rng.permutation(len(swarms))
    return [swarms[place] for place in order], truth


def called(found: pd.DataFrame) -> set[tuple[str, str]]:
    follows = found[found["verdict"] == FOLLOWS]
    return set(zip(follows["first"], follows["second"], strict=True))


def test_planted_followers_are_found_and_unrelated_swarms_are_not() -> None:
    true = wrong = missed = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        windows = steps_of(rng)
        swarms, truth = planted(rng, windows)
        found = called(find_pairs(swarms, windows))
        true += len(found & truth)
        wrong += len(found - truth)
        missed += len(truth - found)
    assert 2 * true / (2 * true + wrong + missed) >= 0.9


@pytest.mark.parametrize("seed", range(5))
def test_unrelated_swarms_alone_have_no_followers(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    windows = steps_of(rng)
    swarms = [Beginnings(str(number), np.sort(rng.integers(0, windows.end_ns[-1], 40 * (number % 4 + 1)))) for number in range(20)]
    assert called(find_pairs(swarms, windows)) == set()
