"""Intervals after measurements: exact limits; factors on top of a what-if."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.log_factors import update_log_factors
from mlperf.planning.calibration.narrowing import (
    combined,
    log_std,
    narrowed,
    observed_notes,
    output_std,
    prior_spread,
    told_factors,
)

SHARES = np.array([[1.0]])
VALUE = np.array([10.0])


def interval(log_std: float) -> Interval:
    return Interval(VALUE * np.exp(-1.959964 * log_std), VALUE * np.exp(1.959964 * log_std), 0.95)


def test_spreads_of_draws_and_of_intervals() -> None:
    rng = np.random.default_rng(0)
    drawn = np.exp(0.3 * rng.standard_normal((20_000, 3)))
    assert log_std(drawn) == pytest.approx(0.3, rel=0.02)
    assert log_std(np.zeros((10, 2))) == 0.0
    assert log_std(np.ones((10, 2))) == 1e-3
    assert_allclose(output_std(interval(0.2)), 0.2, rtol=1e-6)


def test_components_are_as_unsure_as_what_left_out_runs_showed() -> None:
    spread = np.array([0.1])
    assert_allclose(prior_spread(spread, SHARES, interval(0.05)), 0.1)
    assert_allclose(prior_spread(spread, SHARES, interval(0.25)), 0.25, rtol=1e-6)


def test_an_interval_stays_without_measurements_and_shrinks_to_the_noise_with_many() -> None:
    none = update_log_factors(("step",), np.array([0.2]), np.empty((0, 1)), np.empty(0), np.empty(0, np.int64))
    for kind in ("mean", "run"):
        found = narrowed(interval(0.2), VALUE, SHARES, none, kind)
        assert_allclose([found.lower, found.upper], [interval(0.2).lower, interval(0.2).upper], rtol=1e-6)
    rng = np.random.default_rng(1)
    ratio = 0.02 * rng.standard_normal(3000)
    many = update_log_factors(("step",), np.array([0.2]), np.ones((3000, 1)), ratio, np.zeros(3000, np.int64))
    assert_allclose(output_std(narrowed(interval(0.2), VALUE, SHARES, many, "run")), 0.02, rtol=0.05)
    assert output_std(narrowed(interval(0.2), VALUE, SHARES, many, "mean"))[0] < 0.001
    # What the component does not explain stays.
    assert output_std(narrowed(interval(0.5), VALUE, SHARES, many, "mean"))[0] > 0.45
    assert len(told_factors(many, 0.95)) == 1
    assert not len(told_factors(none, 0.95))


def test_an_output_that_is_zero_keeps_its_interval() -> None:
    none = update_log_factors(("step",), np.array([0.2]), np.empty((0, 1)), np.empty(0), np.empty(0, np.int64))
    found = narrowed(Interval(np.zeros(1), np.ones(1), 0.95), np.zeros(1), SHARES, none, "run")
    assert (found.lower[0], found.upper[0]) == (0.0, 1.0)


@pytest.mark.parametrize("rounding", [0.0, 1e-15])
def test_an_output_that_the_model_takes_as_exact_stays_so(rounding: float) -> None:
    ratio = np.array([0.1, -0.1])
    scattered = update_log_factors(("network",), np.array([0.35]), np.ones((2, 1)), ratio, np.zeros(2, np.int64))
    exact = Interval(VALUE * (1.0 - rounding), VALUE, 0.95)
    for kind in ("mean", "run"):
        found = narrowed(exact, VALUE, SHARES, scattered, kind)
        assert_allclose([found.lower, found.upper], 10.0, rtol=1e-12)


def test_a_what_if_multiplies_the_factors() -> None:
    assert combined({"a": 0.5, "c": 0.25}, {"a": 1.2, "b": 1.1, "d": 1.0}) == {"a": 0.6, "b": 1.1, "c": 0.25}
    assert combined(None, {}) == {}


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        ([0.1], "too few measurements of step_s"),
        ([0.1, 0.12], "too few measurements of step_s"),
        ([0.4, -0.4, 0.1, 0.0], "measurements of step_s scatter by"),
        ([0.1, 0.11, 0.12, 0.1], ""),
    ],
)
def test_what_few_or_scattered_measurements_cannot_tell_is_said(ratio: list[float], words: str) -> None:
    n = len(ratio)
    found = update_log_factors(("step",), np.array([0.1]), np.ones((n, 1)), np.array(ratio), np.full(n, 1, np.int64))
    told = observed_notes(found, ["allreduce", "step_s"])
    assert len(told) == bool(words)
    assert all(words in note for note in told)


def test_one_run_scatters_as_whole_steps_do_not_as_a_part() -> None:
    """An exchange that scatters by half says little of a step of which it is a tenth."""
    prior, shares = np.array([0.05, 0.05]), np.array([[0.9, 0.1]] * 3 + [[0.0, 1.0]] * 3)
    ratio, column = np.array([0.0, 0.01, -0.01, 0.5, -0.5, 0.0]), np.array([0, 0, 0, 1, 1, 1])
    known = update_log_factors(("compute", "exchange"), prior, shares, ratio, column)
    wide, step = known.widened(0.95), np.array([[0.9, 0.1]])
    assert known.scale == 1.0
    assert wide.noise_std[1] > 5.0 * wide.noise_std[0]
    by_steps = output_std(narrowed(interval(0.05), VALUE, step, known, "run", wholes=[0]))
    after = np.einsum("rc,cd,rd->r", step, wide.covariance, step)
    other = 0.05**2 - np.square(step * prior).sum()
    assert by_steps == pytest.approx(np.sqrt(after + other + wide.noise_std[0] ** 2), rel=1e-6)
    assert output_std(narrowed(interval(0.05), VALUE, step, known, "run")) > 2.0 * by_steps


def test_the_mean_is_no_surer_than_the_factors_of_a_model_that_was_far_off() -> None:
    ratio = np.array([1.5, 1.51, 1.49])
    known = update_log_factors(("step",), np.array([0.06]), np.ones((3, 1)), ratio, np.zeros(3, np.int64))
    assert known.scale > 3.0
    assert output_std(narrowed(interval(0.005), VALUE, SHARES, known, "mean")) == pytest.approx(known.widened(0.95).std, rel=1e-6)
    assert any("less" in note for note in observed_notes(known, ["step_s"]))
