"""Planted stragglers: the same one, rotating ones, a few bad steps, nobody."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.ranks.culprits import culprits


def noise(seed: int, n_steps: int = 40, n_members: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.0, 1.0, (n_steps, n_members))


@pytest.mark.parametrize("seed", range(10))
def test_always_the_same_one(seed: int) -> None:
    late = noise(seed)
    late[:36, 2] += 5.0
    found = culprits(late)
    assert (found.pattern, found.leader) == ("always the same", 2)
    assert found.share_of_steps >= 0.9
    assert found.shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(10))
def test_rotating(seed: int) -> None:
    late = noise(seed)
    late[np.arange(40), np.arange(40) % 4] += 5.0
    found = culprits(late)
    assert found.pattern == "rotating"
    assert found.shares.tolist() == [0.25] * 4


@pytest.mark.parametrize("seed", range(10))
def test_a_few_bad_steps(seed: int) -> None:
    late = noise(seed)
    late[[3, 17, 30], [0, 1, 1]] += 100.0
    found = culprits(late)
    assert found.pattern == "a few bad steps"
    assert found.bad_steps.tolist() == [3, 17, 30]
    assert found.share_in_bad_steps > 0.8


def test_nobody_is_late() -> None:
    found = culprits(np.array([[0.0, -1.0], [np.nan, -2.0]]))
    assert (found.pattern, found.leader, found.share_of_steps) == ("nobody", -1, 0.0)
    assert found.latest.tolist() == [-1, -1]


def test_two_steps_tell_nothing_and_one_member_is_always_the_one() -> None:
    assert culprits([[2.0, 1.0], [2.1, 1.0]]).pattern == "too few steps to tell"
    assert culprits([[2.0], [2.1], [2.2]]).pattern == "always the same"


def test_chance_alone_rarely_makes_a_culprit() -> None:
    named = sum(culprits(noise(seed, 30, 2)).pattern == "always the same" for seed in range(400))
    # 5 % at most, and three standard errors of 400 draws.
    assert named / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_no_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="steps x members"):
        culprits(np.zeros((0, 3)))
