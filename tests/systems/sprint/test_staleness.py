"""Staleness against direct sampling of its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import State
from mlperf.systems.sprint.staleness import mean_staleness, staleness_distribution


def solved(case: dict[str, Any]) -> tuple[ComponentTimes, State, RunGrid]:
    """A state with the periods and waits of a reference case."""
    one, zero = np.ones(1), np.zeros(1)
    work = dict.fromkeys(ComponentTimes.__slots__[:13], zero)
    work |= {"update_gradient_s": one * case["deposit_s"], "sum_gradient_s": one * case["sum_s"]}
    times = ComponentTimes(**(work | {"update_weights_s": one * case["overwrite_s"]}))
    arrays = {name: zero for name in State.__slots__ if name not in ("closed", "flags")}
    arrays |= {
        "gpu_iteration_s": one * case["gpu_s"],
        "update_iteration_s": one * case["update_s"],
        "gpu_std_s": one * case["std_s"],
        "ready_probability": one * case["p"],
        "lock_weights_gpu_s": one * case["lock_weights_s"],
        "lock_gradient_update_s": one * case["lock_gradient_s"],
    }
    state = State(**arrays, closed=np.array(["phases"]), flags={})
    return times, state, RunGrid(np.array([4]), np.array([case["n"]]), np.array([1]), np.array([100]))


def test_the_distribution_matches_sampling(reference: Any) -> None:
    for case in reference("sprint_monte_carlo.json")["staleness"]:
        distribution = staleness_distribution(*solved(case))
        cdf = np.array([distribution.cdf(float(j)) for j in range(14)])
        assert (np.abs(cdf - case["cdf"]) <= 4.0 * np.array(case["cdf_std_err"]) + 2e-5).all(), case
        assert distribution.probabilities.sum() == pytest.approx(1.0)


def test_the_mean_is_that_of_sampling_and_of_the_distribution(reference: Any) -> None:
    for case in reference("sprint_monte_carlo.json")["staleness"]:
        mean = mean_staleness(*solved(case))
        assert mean == pytest.approx(case["mean"], abs=4.0 * case["std_err"] + 1e-6), case
        assert mean == pytest.approx(staleness_distribution(*solved(case)).mean, abs=1e-6)


def test_the_uniform_limit_joins_the_exact_sum() -> None:
    """Deviations just below and just above one update period give the same mean."""
    base = {"n": 2, "gpu_s": 2.0, "update_s": 0.5, "deposit_s": 0.02, "sum_s": 0.02, "overwrite_s": 0.2}
    rest = {"p": 0.25, "lock_weights_s": 0.0, "lock_gradient_s": 0.0}
    below, above = (mean_staleness(*solved(base | rest | {"std_s": std_s})) for std_s in (0.4999, 0.5001))
    assert below == pytest.approx(above, abs=1e-7)


def test_the_naive_value_is_the_limit_without_holds() -> None:
    """1 + G/U when nothing is held and n = 1."""
    case = {"n": 1, "gpu_s": 1.7, "update_s": 0.4, "std_s": 0.2, "deposit_s": 0.0, "sum_s": 0.0, "overwrite_s": 0.0}
    mean = mean_staleness(*solved(case | {"p": 0.2, "lock_weights_s": 0.0, "lock_gradient_s": 0.0}))
    assert mean == pytest.approx(1.0 + 1.7 / 0.4, rel=1e-9)


def test_gradients_that_a_million_updates_pass_by_have_a_distribution() -> None:
    """A huge sub-batch of a tiny network. Without holds the mean is 1 + y - (a - a^2 / 2), the deviation that of y."""
    case = {"n": 1, "gpu_s": 1.4, "update_s": 1e-6, "std_s": 0.1, "deposit_s": 0.0, "sum_s": 0.0, "overwrite_s": 1e-7}
    distribution = staleness_distribution(*solved(case | {"p": 1e-6, "lock_weights_s": 0.0, "lock_gradient_s": 0.0}))
    assert distribution.mean == pytest.approx(1.0 + 1.4e6 - 0.095, rel=1e-9)
    assert distribution.std == pytest.approx(1e5, rel=1e-6)


def test_gradients_that_billions_of_updates_pass_by_are_refused_before_memory_is_asked_for() -> None:
    case = {"n": 1, "gpu_s": 1e4, "update_s": 1e-6, "std_s": 10.0, "deposit_s": 0.0, "sum_s": 0.0, "overwrite_s": 0.0}
    with pytest.raises(DataError, match=r"GPU iterations of 1e\+04 s beside an update of 1e-06 s"):
        staleness_distribution(*solved(case | {"p": 1e-10, "lock_weights_s": 0.0, "lock_gradient_s": 0.0}))
