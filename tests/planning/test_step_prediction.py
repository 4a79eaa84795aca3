"""Kernel calls of steps are shared, taken and summed as if each were built by itself; intervals hold their share of new errors."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.planning.step_prediction import predict_steps, step_calls, step_interval, step_seconds, waiting_share
from mlperf.specs import load_cnn
from mlperf.training.gradient.gradient import GradientModel
from mlperf.training.gradient.launches import Launches

CNNS = ("alexnet", "resnet18")
CONFIGS = pd.DataFrame({"cnn": [0, 1, 0, 1, 0], "subbatch_size": [2, 1, 2, 4, 1]})


@pytest.fixture(scope="module")
def networks() -> list[Any]:
    return [load_cnn(name) for name in CNNS]


def test_a_step_that_several_configurations_run_is_built_once(small_model: Any, networks: list[Any]) -> None:
    steps = step_calls(small_model.gradient, networks, CONFIGS)
    assert steps.number.tolist() == [0, 1, 0, 2, 3]
    assert steps.n_steps == steps.calls["run"].nunique() == 4
    assert steps.calls.groupby("run")["cnn"].first().tolist() == ["alexnet", "resnet18", "resnet18", "alexnet"]


@pytest.mark.parametrize("rows", [[3, 0], [4, 2, 0, 4], [1]])
def test_taken_steps_are_those_built_for_the_rows_alone(small_model: Any, networks: list[Any], rows: list[int]) -> None:
    taken = step_calls(small_model.gradient, networks, CONFIGS).take(np.array(rows))
    alone = step_calls(small_model.gradient, networks, CONFIGS.iloc[rows])
    assert taken.number.tolist() == alone.number.tolist()
    pd.testing.assert_frame_equal(taken.calls, alone.calls, check_dtype=False)


def test_calls_are_worked_out_once_a_model_and_method(
    small_model: Any, networks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked = small_model.gradient, []
    of_calls = GradientModel.call_times
    monkeypatch.setattr(
        GradientModel, "call_times", lambda self, calls, method: asked.append((self, method)) or of_calls(self, calls, method)
    )
    steps, another = step_calls(model, networks, CONFIGS), replace(model)
    found = [predict_steps(each, steps, method) for each in (model, model, another) for method in ("linear", "learnt", "linear")]
    told = [(each is another, method) for each, method in asked]
    assert told == [(False, "linear"), (False, "learnt"), (True, "linear"), (True, "learnt")]
    assert found[0].step_s.tolist() == found[3].step_s.tolist() == found[6].step_s.tolist() != found[1].step_s.tolist()
    taken = steps.take(np.array([3, 1]))
    assert taken.call_times(another, "linear").tolist() == of_calls(another, taken.calls, "linear").tolist()
    assert len(asked) == 4
    with pytest.raises(ValueError, match="read-only"):
        steps.call_times(model, "linear")[0] = 1.0


def test_a_step_is_the_sum_of_its_calls(small_model: Any, networks: list[Any]) -> None:
    model = small_model.gradient
    steps = step_calls(model, networks, CONFIGS)
    times = model.call_times(steps.calls, "linear")
    expected = [sum(times[steps.calls["run"] == number]) for number in (0, 1, 0, 2, 3)]
    assert step_seconds(model, steps, "linear") == pytest.approx(expected, rel=1e-12)
    assert predict_steps(model, steps, "linear").step_s == pytest.approx(expected, rel=1e-12)


def test_an_interval_fails_for_at_most_its_share_of_new_errors() -> None:
    """Split conformal intervals: whatever the distribution, a new error falls outside with at most 1 - level."""
    rng = np.random.default_rng(3)
    outside = []
    for _ in range(2000):
        errors = rng.standard_exponential(100)
        score = SimpleNamespace(log_residuals=lambda _method, _part, known=errors[:-1]: known)
        interval = step_interval(score, "learnt", np.ones(1), level=0.9)
        outside.append(not interval.lower[0] <= np.exp(errors[-1]) <= interval.upper[0])
    # 99 errors make the ranks exact: the share is 10 %, four standard errors of 2000 trials are 2.7 %.
    assert np.mean(outside) == pytest.approx(0.1, abs=0.027)


@pytest.mark.parametrize("n_errors", [4, 12, 38])
def test_intervals_of_few_left_out_steps_cover_too(n_errors: int) -> None:
    rng = np.random.default_rng(n_errors)
    inside = []
    for _ in range(2000):
        errors = 0.1 * rng.standard_normal(n_errors + 1)
        score = SimpleNamespace(log_residuals=lambda _method, _part, known=errors[:-1]: known)
        interval = step_interval(score, "learnt", np.ones(1))
        inside.append(interval.lower[0] <= np.exp(errors[-1]) <= interval.upper[0])
    assert 0.93 <= np.mean(inside) <= 0.99


def test_a_device_waits_for_the_share_that_its_work_does_not_fill(small_model: Any, networks: list[Any]) -> None:
    """A host waits for nobody; on a device busy and step time differ by what the launches keep it waiting."""
    steps = step_calls(small_model.gradient, networks, CONFIGS)
    assert waiting_share(small_model.gradient, steps) is None
    slow = replace(small_model.gradient, launches=Launches(call_s=0.0, start_s=100.0, launch_s=0.0))
    found = predict_steps(slow, steps)
    assert found.step_s - found.busy_s == pytest.approx(100.0)
    assert waiting_share(slow, steps) == pytest.approx(100.0 / found.step_s)
    quick = replace(small_model.gradient, launches=Launches(call_s=0.0))
    assert waiting_share(quick, steps) == pytest.approx(0.0)
    assert predict_steps(quick, steps).step_s == pytest.approx(predict_steps(small_model.gradient, steps).step_s)
