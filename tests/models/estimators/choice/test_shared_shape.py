"""Costs with a common shape: a cache's end is found, and a cost seen at one length borrows the shape of the others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.models.estimators.choice.shared_shape import Lengths, fit_shared_shape

LENGTHS = np.array([0.5e6, 1e6, 1.5e6, 3e6, 5e6, 8e6])


def times(lengths: np.ndarray, cost: float, seed: int) -> np.ndarray:
    """Twice as dear beyond two million numbers, 1 % noise."""
    noise = np.random.default_rng(seed).normal(0.0, 0.01, len(lengths))
    return cost * (lengths + np.maximum(lengths - 2e6, 0.0)) * np.exp(noise)


def test_the_end_of_a_cache_is_found_for_all() -> None:
    costs = {f"op{seed}": Lengths("n", LENGTHS, times(LENGTHS, 1e-9 * (seed + 1), seed)) for seed in range(4)}
    found = fit_shared_shape(costs, knots=(2e6, 4e6))
    asked = np.array([0.7e6, 2.5e6, 6e6])
    for seed in range(4):
        truth = 1e-9 * (seed + 1) * (asked + np.maximum(asked - 2e6, 0.0))
        assert found[f"op{seed}"].predict(pd.DataFrame({"n": asked})) == pytest.approx(truth, rel=0.03)


def test_a_cost_at_one_length_borrows_the_exponent() -> None:
    """Three costs grow as n^1.5 at three lengths, beyond the cache; the fourth was seen once."""
    share = np.array([1e6, 2e6, 4e6])
    costs = {f"share{number}": Lengths("s", share, (number + 1) * 1e-12 * share**1.5) for number in range(3)}
    costs["whole"] = Lengths("n", np.array([4e6]), np.array([3e-12 * 4e6**1.5]))
    found = fit_shared_shape(costs, knots=(1e6,))["whole"].predict(pd.DataFrame({"n": [1e6, 8e6]}))
    assert found == pytest.approx([3e-12 * 1e6**1.5, 3e-12 * 8e6**1.5], rel=0.05)


def test_exponents_that_differ_widen_the_interval() -> None:
    share = np.array([1e6, 2e6, 4e6])
    costs = {f"share{g}": Lengths("s", share, 1e-10 * share**g) for g in (1.0, 1.2, 1.4)}
    costs["whole"] = Lengths("n", np.array([4e6]), np.array([1.0]))
    interval = fit_shared_shape(costs, knots=())["whole"].predict_interval(pd.DataFrame({"n": [1e6]}), kind="mean")
    assert interval.upper[0] / interval.lower[0] > 1.3


def test_costs_at_one_length_are_proportional_up_to_the_end_of_a_cache() -> None:
    """Beyond it what a further number costs is open: once, twice or four times as much, and the interval holds all three."""
    costs = {"a": Lengths("n", np.array([1e6]), np.array([2.0])), "b": Lengths("n", np.array([1e6]), np.array([3.0]))}
    found = fit_shared_shape(costs, knots=(2e6,))["b"]
    assert found.predict(pd.DataFrame({"n": [0.5e6, 2e6]})) == pytest.approx([1.5, 6.0])
    interval = found.predict_interval(pd.DataFrame({"n": [4e6]}), kind="mean")
    assert (interval.lower[0], interval.upper[0]) == pytest.approx((12.0, 6.0 + 4 * 6.0), rel=0.05)


def test_where_no_cache_is_known_it_may_end_beyond_the_longest_vector() -> None:
    costs = {"a": Lengths("n", np.array([1e6]), np.array([1.0]))}
    interval = fit_shared_shape(costs, knots=())["a"].predict_interval(pd.DataFrame({"n": [4e6]}), kind="mean")
    assert interval.lower[0] == pytest.approx(4.0, rel=0.1)
    assert interval.upper[0] == pytest.approx(1.0 + 4 * 3.0, rel=0.05)


def test_what_a_call_costs_is_found_as_one_number_of_all() -> None:
    """Costs of n + 3e5 numbers each, seen at three lengths; the fourth cost, seen once, has the same overhead."""
    share = np.array([0.25e6, 0.5e6, 1e6])
    costs = {f"share{cost}": Lengths("s", share, cost * 1e-9 * (share + 3e5)) for cost in (1, 2, 3)}
    costs["whole"] = Lengths("n", np.array([1e6]), np.array([4e-9 * 1.3e6]))
    found = fit_shared_shape(costs, knots=(8e6,))["whole"].predict(pd.DataFrame({"n": [2e6]}))
    assert found == pytest.approx([4e-9 * 2.3e6], rel=0.03)


def test_beyond_all_lengths_a_cache_may_still_end_whatever_the_shape() -> None:
    """Costs that follow hinges of their own up to two million numbers: what comes beyond the cache is in the interval."""
    lengths = np.array([0.5e6, 1e6, 1.5e6, 2e6])
    costs = {f"op{seed}": Lengths("n", lengths, (lengths + np.maximum(lengths - 1e6, 0.0)) * 1e-9) for seed in range(4)}
    found = fit_shared_shape(costs, knots=(4e6,))["op0"]
    asked = pd.DataFrame({"n": [2e6, 4e6, 8e6]})
    interval = found.predict_interval(asked, kind="mean")
    width = interval.upper / interval.lower
    assert width[:2] == pytest.approx(1.0, abs=0.05)
    assert interval.lower[2] == pytest.approx(1e-9 * (8e6 + 7e6), rel=0.05)
    assert interval.upper[2] == pytest.approx(1e-9 * (4e6 + 3e6 + 4 * 2 * 4e6), rel=0.05)


def test_forms_that_hardly_count_are_not_made() -> None:
    """Of nine exponents, cached shapes and ends, those with a weight remain."""
    costs = {f"op{seed}": Lengths("n", LENGTHS, times(LENGTHS, 1e-9 * (seed + 1), seed)) for seed in range(3)}
    for found in fit_shared_shape(costs, knots=(2e6, 16e6)).values():
        assert len(found.forms) == len(found.forms_) == len(found.weights_)
