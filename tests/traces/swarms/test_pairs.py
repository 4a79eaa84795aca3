from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.traces.swarms.pairs import FOLLOWS, NO_ORDER, TOGETHER, Beginnings, find_pairs, synchronisations
from mlperf.traces.timeline.windows import Windows

pytestmark = pytest.mark.slow

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


def score(seeds: range, n_steps: int, n_leaders: int) -> float:
    """F1 of followers over some draws; several leaders a step are the swarms of two steps taken as one."""
    true = wrong = missed = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        windows = steps_of(rng, n_steps)
        swarms, truth = planted(rng, windows)
        if n_leaders > 1:
            windows = Windows(0, windows.number[::2], windows.start_ns[::2], windows.end_ns[1::2], windows.origin)
        found = called(find_pairs(swarms, windows))
        true, wrong, missed = true + len(found & truth), wrong + len(found - truth), missed + len(truth - found)
    return 2 * true / (2 * true + wrong + missed)


@pytest.mark.parametrize(("n_steps", "n_leaders"), [(20, 1), (40, 1), (100, 1), (200, 2)])
def test_planted_followers_are_found_and_unrelated_swarms_are_not(n_steps: int, n_leaders: int) -> None:
    assert score(range(6), n_steps, n_leaders) >= 0.9


@pytest.mark.parametrize("seed", range(5))
def test_unrelated_swarms_alone_have_no_followers(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    windows = steps_of(rng)
    swarms = [Beginnings(str(number), np.sort(rng.integers(0, windows.end_ns[-1], 40 * (number % 4 + 1)))) for number in range(20)]
    assert called(find_pairs(swarms, windows)) == set()


def test_lag_order_and_co_occurrence_are_those_planted() -> None:
    rng = np.random.default_rng(3)
    windows = steps_of(rng)
    leader = windows.start_ns + rng.integers(0, 30 * MS, len(windows))
    present = np.arange(len(windows)) % 4 != 0
    swarms = [Beginnings("late", (leader + 12 * MS)[present]), Beginnings("early", leader)]
    row = find_pairs(swarms, windows).iloc[0]
    assert (row["first"], row["second"], row["verdict"]) == ("early", "late", FOLLOWS)
    assert row["lag_s"] == pytest.approx(0.012, abs=1e-9)
    assert row["lag_spread_s"] == pytest.approx(0.0, abs=1e-9)
    assert row["share"] == pytest.approx(0.75)
    assert row["together"] == pytest.approx(0.75)
    assert row["first_before"] == 1.0


def test_what_samples_cannot_tell_apart_is_together() -> None:
    rng = np.random.default_rng(4)
    windows = steps_of(rng)
    leader = windows.start_ns + rng.integers(0, 30 * MS, len(windows))
    swarms = [Beginnings("one", leader, 5 * MS), Beginnings("other", leader + 2 * MS, 5 * MS)]
    assert find_pairs(swarms, windows)["verdict"].tolist() == [TOGETHER]


def test_a_swarm_of_a_few_steps_recurs_after_nothing() -> None:
    windows = steps_of(np.random.default_rng(5))
    few = windows.start_ns[:8] + 20 * MS
    found = find_pairs([Beginnings("few", few), Beginnings("after", few + 3 * MS)], windows)
    assert found["verdict"].tolist() == [NO_ORDER]


def test_what_follows_a_follower_follows_by_way_of_it() -> None:
    rng = np.random.default_rng(6)
    windows = steps_of(rng)
    first = windows.start_ns + rng.integers(0, 20 * MS, len(windows))
    found = find_pairs([Beginnings(name, first + lag * MS) for name, lag in (("a", 0), ("b", 5), ("c", 15))], windows)
    via = {(row["first"], row["second"]): row["via"] for row in found.to_dict("records")}
    assert via == {("a", "b"): "", ("b", "c"): "", ("a", "c"): "b"}


def test_a_follower_of_computation_and_network_synchronises() -> None:
    rng = np.random.default_rng(7)
    windows = steps_of(rng)
    first = windows.start_ns + rng.integers(0, 20 * MS, len(windows))
    other = np.sort(rng.integers(0, windows.end_ns[-1], len(windows)))
    swarms = [Beginnings("gemm", first), Beginnings("send", first + 6 * MS), Beginnings("update", first + 14 * MS)]
    found = find_pairs([*swarms, Beginnings("logging", other)], windows)
    assert synchronisations(found, ["gemm"], ["send"]) == ("update",)
    assert synchronisations(found, ["gemm"], ["logging"]) == ()


def test_few_steps_give_no_pairs() -> None:
    windows = steps_of(np.random.default_rng(8), 4)
    assert find_pairs([Beginnings("a", windows.start_ns), Beginnings("b", windows.start_ns + MS)], windows).empty
