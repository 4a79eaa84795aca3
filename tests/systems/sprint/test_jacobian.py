"""Sensitivities, delta method and draws against Euler's theorem, linear algebra and sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.jacobian import (
    RunOutputs,
    coefficient_draws,
    coefficient_jacobian,
    component_jacobian,
    delta_std,
    draw_interval,
    elasticities,
    run_outputs,
    stacked_jacobian,
    window_probability,
)

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]


def test_elasticities_sum_to_the_degree_of_each_output(calibrated: Machine) -> None:
    """Euler: times scale with all times (degree 1), the mini-batch does not (degree 0)."""
    times, run = calibrated("kfc", [2, 8, 16], [8, 4, 1], 0.15)
    by_component = elasticities(times, run)
    for name, degree in (("epoch_s", 1.0), ("update_iteration_s", 1.0), ("mean_minibatch_size", 0.0)):
        total = sum(getattr(outputs, name) for outputs in by_component.values())
        assert total == pytest.approx(degree, abs=2e-6)


def test_derivatives_are_difference_quotients(calibrated: Machine) -> None:
    times, run = calibrated("kfc", [8], [4], 0.1)
    slope = component_jacobian(times, run, "second_moment")["sum_gradient"].update_iteration_s
    moved = [run_outputs(times.scaled({"sum_gradient": 1.0 + step}), run, "second_moment") for step in (1e-3, -1e-3)]
    quotient = (moved[0].update_iteration_s - moved[1].update_iteration_s) / (2e-3 * times.sum_gradient_s)
    assert slope == pytest.approx(quotient, rel=1e-5)


def coefficients_of(times: ComponentTimes, run: RunGrid) -> tuple[Callable[[FloatArray], ComponentTimes], FloatArray]:
    """Work and sum as two coefficients."""

    def times_of(vectors: FloatArray) -> ComponentTimes:
        parts = {field.name: getattr(times, field.name) for field in fields(times)}
        parts["compute_gradient_s"] = vectors[:, :1] + vectors[:, 1:2] * run.subbatch_size
        parts["sum_gradient_s"] = vectors[:, 2:3] * np.ones(run.shape)
        return ComponentTimes(**parts)

    return times_of, np.array([0.13534, 0.06669, 0.02481])


def test_the_delta_method_agrees_with_joint_draws(calibrated: Machine) -> None:
    """Standard errors and 95 % limits of 4000 draws, correlated coefficients of about 2 %."""
    times, run = calibrated("kfc", [8, 16], [8, 4], 0.1)
    times_of, coefficients = coefficients_of(times, run)
    spread = 0.02 * coefficients
    correlation = np.array([[1.0, -0.6, 0.0], [-0.6, 1.0, 0.0], [0.0, 0.0, 1.0]])
    covariance = correlation * np.outer(spread, spread)
    predicted = delta_std(coefficient_jacobian(times_of, coefficients, run, closed="second_moment"), covariance)
    draws = coefficient_draws(coefficients, covariance, np.random.default_rng(3), 4000)
    drawn = run_outputs(times_of(draws), run, "second_moment")
    for name in ("epoch_s", "update_iteration_s", "mean_minibatch_size"):
        assert getattr(predicted, name) == pytest.approx(getattr(drawn, name).std(axis=0), rel=0.05)
    centre = run_outputs(times_of(coefficients[None]), run, "second_moment").epoch_s[0]
    assert draw_interval(drawn.epoch_s) == pytest.approx(centre + 1.96 * np.array([[-1.0], [1.0]]) * predicted.epoch_s, rel=0.005)


def test_component_and_coefficient_derivatives_agree(calibrated: Machine) -> None:
    times, run = calibrated("kfc", [8, 16], [8, 4], 0.0)
    times_of, coefficients = coefficients_of(times, run)
    by_coefficient = coefficient_jacobian(times_of, coefficients, run, closed="second_moment")
    by_component = stacked_jacobian(component_jacobian(times, run, "second_moment"), ("compute_gradient", "sum_gradient"))
    assert by_coefficient.epoch_s[0] == pytest.approx(by_component.epoch_s[0], rel=1e-5)
    assert by_coefficient.epoch_s[1] == pytest.approx(by_component.epoch_s[0] * run.subbatch_size, rel=1e-5)
    assert by_coefficient.update_iteration_s[2] == pytest.approx(by_component.update_iteration_s[1], rel=1e-5)


def test_a_fixed_coefficient_has_no_derivative(calibrated: Machine) -> None:
    times, run = calibrated("kfc", [8], [8], 0.1)
    times_of, coefficients = coefficients_of(times, run)
    jacobian = coefficient_jacobian(times_of, coefficients, run, np.array([1e-5, 0.0, 1e-6]))
    assert jacobian.epoch_s[1].tolist() == [0.0]
    assert (jacobian.epoch_s[0] > 0.0).all()


def test_draws_have_the_covariance_and_allow_a_singular_one() -> None:
    covariance = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    draws = coefficient_draws(np.array([1.0, 2.0, 3.0]), covariance, np.random.default_rng(0), 100_000)
    assert np.cov(draws.T) == pytest.approx(covariance, abs=0.06)
    assert (draws[:, 2] == 3.0).all()
    with pytest.raises(UsageError, match="positive semi-definite"):
        coefficient_draws(np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]]), np.random.default_rng(0), 3)


def test_the_window_probability_counts_draws() -> None:
    draws = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]])
    assert window_probability(draws, (2.0, 6.0)).tolist() == [0.75, 0.5]


def test_outputs_keep_one_shape(calibrated: Machine) -> None:
    times, run = calibrated("kfc", [8, 16], [8, 4], 0.1)
    outputs = run_outputs(times, run, "paper")
    assert isinstance(outputs, RunOutputs)
    assert {getattr(outputs, field.name).shape for field in fields(outputs)} == {(2,)}
