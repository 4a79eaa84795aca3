"""Probabilities of fresh buffers, new weights and several gradients against direct sampling and limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlperf.systems.coupling.probabilities import (
    expected_excess,
    expected_shorter,
    fetch_probability,
    gradient_count_tail,
    gradient_count_terms,
    ready_probability,
)


def test_the_shorter_period_matches_monte_carlo(reference: Any) -> None:
    for case in reference("sprint_monte_carlo.json")["shorter_period"]:
        mean_s = expected_shorter(*(np.array(case[name]) for name in ("gpu_s", "std_s", "update_s")))
        assert mean_s == pytest.approx(case["mean"], abs=4.0 * case["std_err"])


def test_the_shorter_period_has_the_known_value() -> None:
    """Mean 1, deviation 0.2, against 1.0: 1 - 0.2 phi(0)."""
    assert expected_shorter(np.array(1.0), np.array(0.2), np.array(1.0)) == pytest.approx(1.0 - 0.2 * 0.3989422804, abs=1e-7)


def test_without_jitter_the_probabilities_are_the_papers() -> None:
    """The direction matters: p = min(U/G, 1) for sums, q = min(G/U, 1) for fetches."""
    gpu_s, update_s = np.array([0.5, 0.5]), np.array([0.2, 0.8])
    zero = np.zeros(2)
    assert ready_probability(gpu_s, zero, update_s).tolist() == [0.4, 1.0]
    assert fetch_probability(gpu_s, zero, update_s) == pytest.approx([1.0, 0.625], rel=1e-15)


def test_every_fresh_buffer_belongs_to_one_fetch() -> None:
    """For any jitter p E[G] = q E[U]."""
    gpu_s, std_s, update_s = np.array([0.5, 0.5, 0.5]), np.array([0.01, 0.1, 0.2]), np.array([0.2, 0.49, 1.3])
    p, q = ready_probability(gpu_s, std_s, update_s), fetch_probability(gpu_s, std_s, update_s)
    assert p * gpu_s == pytest.approx(q * update_s, rel=1e-12)
    assert (p <= np.minimum(update_s / gpu_s, 1.0) + 1e-15).all()
    assert (q <= np.minimum(gpu_s / update_s, 1.0) + 1e-15).all()


def test_tiny_jitter_is_no_jitter() -> None:
    """No division by a vanishing deviation, and a continuous limit."""
    for std in (0.0, 1e-300, 1e-12):
        assert expected_excess(np.array([-0.3, 0.0, 0.3]), np.full(3, std)) == pytest.approx([0.0, 0.0, 0.3], abs=1e-12)


def test_a_mean_far_above_0_is_its_own_excess() -> None:
    """What a normal's tail adds there is lost in rounding: the short way gives the same bits as the formula."""
    mean, std = np.linspace(1.0, 9.0, 400), np.linspace(1.0, 9.0, 400) / np.linspace(8.5, 40.0, 400)
    mixed = expected_excess(np.append(mean, 0.0), np.append(std, 1.0))
    assert (expected_excess(mean, std) == mixed[:-1]).all()
    assert mixed[-1] == pytest.approx(1.0 / np.sqrt(2.0 * np.pi))


def test_gradients_per_update_match_sampled_renewals(reference: Any) -> None:
    for case in reference("sprint_monte_carlo.json")["gradients_per_update"]:
        tail = gradient_count_tail(*(np.array(case[name]) for name in ("gpu_s", "std_s", "update_s")), 4)
        errors = 4.0 * np.array(case["std_err"]) + 1e-4
        assert (np.abs(tail - case["tail"]) < errors).all(), case


def test_gradients_per_update_have_the_mean_of_the_conservation_law() -> None:
    gpu_s, update_s = np.array([0.4, 0.4, 0.1]), np.array([0.9, 0.2, 1.0])
    tail = gradient_count_tail(gpu_s, 0.2 * gpu_s, update_s, gradient_count_terms(10.0, 0.2))
    assert tail.sum(axis=0) == pytest.approx(update_s / gpu_s, rel=1e-8)


def test_gradients_per_update_of_the_example_have_the_known_variance() -> None:
    """G = 0.4, sigma = 0.08, U = 0.9: variance 0.2500 (Monte Carlo 0.2497)."""
    tail = gradient_count_tail(np.array(0.4), np.array(0.08), np.array(0.9), 12)
    j = np.arange(1, 13)
    assert ((2 * j - 1) * tail).sum() - tail.sum() ** 2 == pytest.approx(0.2500, abs=5e-4)


def test_without_jitter_the_count_is_floor_or_one_more() -> None:
    tail = gradient_count_tail(np.array(0.4), np.array(0.0), np.array(0.9), 4)
    assert tail == pytest.approx([1.0, 1.0, 0.25, 0.0], abs=1e-12)
