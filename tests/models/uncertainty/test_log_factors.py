"""Factors between a model and measurements: limits, a planted factor, the same posterior as by brute force, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlperf.models.uncertainty.log_factors import N_ROUNDS, LogFactors, _after_rounds, update_log_factors

pytestmark = pytest.mark.slow

NAMES = ("compute", "exchange")
PRIOR = np.array([0.2, 0.1])
COMPUTE, WHOLE = np.array([1.0, 0.0]), np.array([0.7, 0.3])


def updated(shares: np.ndarray, ratio: np.ndarray) -> LogFactors:
    return update_log_factors(NAMES, PRIOR, shares.reshape(-1, 2), np.asarray(ratio), np.zeros(len(ratio), np.int64))


def test_without_measurements_nothing_changes() -> None:
    found = update_log_factors(NAMES, PRIOR, np.empty((0, 2)), np.empty(0), np.empty(0, np.int64))
    assert_allclose(found.mean, 0.0)
    assert_allclose(found.std, PRIOR)
    assert_allclose(found.to_table(0.95)["measured_share"], 0.0)
    assert_allclose(found.relative_width(COMPUTE[None], np.array([0.2]), 0.0), 1.0)


def test_many_measurements_are_believed() -> None:
    rng = np.random.default_rng(0)
    ratio = np.log(1.3) + 0.02 * rng.standard_normal(2000)
    found = updated(np.tile(COMPUTE, (2000, 1)), ratio)
    assert found.factors["compute"] == pytest.approx(1.3, rel=0.003)
    assert found.factors["exchange"] == 1.0
    assert found.noise_std[0] == pytest.approx(0.02, rel=0.05)
    assert found.std[0] < 0.001


def test_few_measurements_are_weighed_with_the_model() -> None:
    """One of 30 % counts for less than three of 30 %, and those for less than ten."""
    means = [updated(np.tile(COMPUTE, (n, 1)), np.full(n, 0.3)).mean[0] for n in (1, 3, 10)]
    assert 0.15 < means[0] < means[1] < means[2] < 0.3
    noisy = updated(np.tile(COMPUTE, (3, 1)), np.array([-0.3, 0.3, 0.9])).mean[0]
    assert 0.0 < noisy < means[1]


def test_a_sum_moves_the_part_that_is_less_sure_and_larger() -> None:
    found = updated(np.tile(WHOLE, (5, 1)), np.full(5, 0.2))
    assert found.mean[0] > 5.0 * found.mean[1] > 0.0
    # Parts of one sum that is known are known against each other.
    assert found.covariance[0, 1] < 0.0
    assert found.relative_width(WHOLE[None], np.array([np.hypot(0.7 * 0.2, 0.3 * 0.1)]), 0.0)[0] < 0.3


def test_the_posterior_is_that_of_weighted_draws() -> None:
    """Importance sampling of the same prior with the same noise."""
    shares, ratio, column = np.array([WHOLE, WHOLE, COMPUTE]), np.array([0.25, 0.2, 0.1]), np.array([0, 0, 1])
    found = update_log_factors(NAMES, PRIOR, shares, ratio, column)
    drawn = np.random.default_rng(1).standard_normal((400_000, 2)) * PRIOR
    misfit = (ratio - drawn @ shares.T) / found.noise_std[column]
    weight = np.exp(-0.5 * np.sum(np.square(misfit), axis=1))
    weight /= weight.sum()
    assert_allclose(weight @ drawn, found.mean, atol=0.002)
    about = drawn - weight @ drawn
    assert_allclose((weight[:, None] * about).T @ about, found.covariance, atol=0.0005)


@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize("n_rows", [1, 3, 8])
def test_intervals_of_the_next_run_cover_and_are_narrower(noise: float, n_rows: int) -> None:
    """Factors drawn as the model says, measurements that scatter less, or as much as first guessed."""
    rng = np.random.default_rng(n_rows)
    inside, widths = 0, []
    for _ in range(300):
        truth = 0.2 * rng.standard_normal()
        found = updated(np.tile(COMPUTE, (n_rows, 1)), truth + noise * rng.standard_normal(n_rows))
        width = found.relative_width(COMPUTE[None], np.array([0.2]), found.noise_std[0])[0]
        inside += bool(abs(truth + noise * rng.standard_normal() - found.mean[0]) <= 1.96 * 0.2 * width)
        widths.append(width)
    assert inside / 300 >= 0.92
    assert np.mean(widths) < (0.72 if n_rows == 1 else 0.62)


def further_runs(n_rows: int, truth_std: float, noise: float, n_trials: int) -> tuple[float, float]:
    """Share of further runs inside the interval, and mean error of the factor, of a model that says 6 %."""
    rng, inside, errors = np.random.default_rng(n_rows), 0, []
    for _ in range(n_trials):
        truth = truth_std * rng.standard_normal()
        ratio = truth + noise * rng.standard_normal(n_rows)
        found = update_log_factors(("step",), np.array([0.06]), np.ones((n_rows, 1)), ratio, np.zeros(n_rows, np.int64))
        errors.append(abs(found.mean[0] - truth))
        wide = found.widened(0.95)
        half = 1.96 * np.hypot(wide.std[0], wide.noise_std[0])
        inside += bool(abs(truth + noise * rng.standard_normal() - wide.mean[0]) <= half)
    return inside / n_trials, float(np.mean(errors))


@pytest.mark.parametrize(("n_rows", "least"), [(3, 0.85), (5, 0.90), (10, 0.92)])
def test_intervals_cover_where_measurements_scatter_more_than_the_model_said(n_rows: int, least: float) -> None:
    """A scatter of 10 % beside a spread of 6 %: 73, 81 and 87 % without Student's t; a standard error is 0.021."""
    assert further_runs(n_rows, 0.06, 0.1, 200)[0] >= least


@pytest.mark.parametrize(("n_rows", "most"), [(1, 0.035), (3, 0.018), (10, 0.011)])
def test_steps_of_a_machine_far_from_the_model_are_believed(n_rows: int, most: float) -> None:
    """Factors about e where the model says 6 %: three steps moved it a fifth of the way before, and scatter got the rest."""
    inside, error = further_runs(n_rows, 1.0, 0.03, 100)
    assert error < most
    assert inside >= 0.9


def test_measurements_that_scatter_as_the_model_said_widen_nothing() -> None:
    found = updated(np.tile(WHOLE, (4, 1)), np.array([0.30, 0.31, 0.29, 0.30]))
    wide = found.widened(0.95)
    assert_allclose(wide.covariance, found.covariance)
    assert_allclose(wide.noise_std, found.noise_std)


def test_a_kind_without_rows_has_no_noise() -> None:
    """Kinds are numbered by their column; nothing can be learnt of one whose predictions are 0."""
    found = update_log_factors(NAMES, PRIOR, np.tile(COMPUTE, (3, 1)), np.full(3, 0.1), np.full(3, 2, np.int64))
    assert found.kinds.tolist() == [2]
    assert np.isfinite(found.noise_std).all()


def test_a_model_that_is_not_contradicted_is_as_sure_as_it_says() -> None:
    assert updated(np.tile(COMPUTE, (3, 1)), np.full(3, 0.2)).scale == 1.0
    far = updated(np.tile(COMPUTE, (3, 1)), np.full(3, 2.0))
    assert far.scale > 3.0
    assert far.factors["compute"] == pytest.approx(np.exp(2.0), rel=0.02)
    # Of what was not measured the model is believed as little.
    assert far.std[1] == pytest.approx(far.scale * PRIOR[1])
    assert far.to_table(0.95)["measured_share"].tolist() == pytest.approx([1.0, 0.0], abs=0.02)


@pytest.mark.parametrize("period", [1, 2, 3])
def test_rounds_that_come_back_are_not_made_again(period: int) -> None:
    """Rounds of which every ``period``-th gives the same numbers, after five that do not: what `N_ROUNDS` of them would say."""
    made = []

    def next_round(variance: np.ndarray) -> tuple[np.ndarray, float]:
        made.append(float(variance[0]))
        return variance + 1.0 if variance[0] < 5.0 + period - 1.0 else np.array([5.0]), float(variance[0])

    every = [(np.zeros(1), 1.0)]
    for _ in range(N_ROUNDS):
        every.append(next_round(every[-1][0]))
    made.clear()
    variance, scale = _after_rounds(next_round, np.zeros(1))
    assert (variance.tolist(), scale) == (every[-1][0].tolist(), every[-1][1])
    assert len(made) == 5 + period
