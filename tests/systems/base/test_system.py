"""A system is asked with checked times and runs; SPRINT is one of them without loss."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.base.system import Solution, checked_run, checked_times
from mlperf.systems.registry import SYSTEMS, find_system
from mlperf.systems.sprint.solve import solve
from mlperf.systems.sprint.system import SPRINT

TIMES = {
    "compute_gradient": 0.4,
    "fetch_weights": 0.01,
    "update_gradient": 0.004,
    "sum_gradient": 0.006,
    "update_old_weights": 0.01,
    "allreduce": 0.08,
    "update_weights": 0.012,
}
RUN = {
    "n_nodes": np.array([1, 2, 8, 16]),
    "n_gpus_per_node": np.array([4, 4, 8, 3]),
    "subbatch_size": np.array([4, 8, 8, 5]),
    "dataset_size": 1_281_167,
}


def test_sprint_as_a_system_gives_what_its_own_equations_give() -> None:
    found, own = SPRINT.solve(TIMES, RUN), solve(TIMES, **RUN)
    for name in SPRINT.outputs:
        np.testing.assert_array_equal(found.outputs[name], getattr(own, name))
    for activity, parts in (("gpu", own.gpu_breakdown_s), ("update", own.update_breakdown_s)):
        for component, seconds in parts.items():
            np.testing.assert_array_equal(found.breakdown_s[activity][component], seconds)
        total = np.sum(list(found.breakdown_s[activity].values()), axis=0)
        np.testing.assert_allclose(total, found.outputs[f"{activity}_iteration_s"], rtol=1e-9)
    assert found.flags.keys() == own.flags.keys()


def test_spreads_reach_the_equations() -> None:
    still = SPRINT.solve(TIMES, RUN)
    spread = SPRINT.solve({**TIMES, "gpu_work_std": 0.1}, RUN)
    assert (spread.outputs["update_iteration_s"] != still.outputs["update_iteration_s"])[1:].all()


def test_an_unknown_component_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="compute_gradeint") as caught:
        checked_times(SPRINT, {"compute_gradeint": 1.0})
    assert "compute_gradient" in str(caught.value.hint)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_a_time_that_cannot_be_is_refused(wrong: float) -> None:
    with pytest.raises(DataError, match="compute_gradient"):
        checked_times(SPRINT, {"compute_gradient": wrong})


def test_a_run_without_nodes_is_refused() -> None:
    with pytest.raises(UsageError, match="n_nodes"):
        checked_run(SPRINT, {"subbatch_size": 1, "n_gpus_per_node": 1, "dataset_size": 1})
    with pytest.raises(DataError, match="got 0 for 'n_gpus_per_node'"):
        checked_run(SPRINT, {**RUN, "n_gpus_per_node": 0})


def test_a_solution_has_an_epoch() -> None:
    with pytest.raises(UsageError, match="epoch_s"):
        Solution({"step_s": np.ones(1)}, {})


def test_every_system_is_found_and_described() -> None:
    for name in SYSTEMS:
        system = find_system(name)
        assert system.name == name
        assert system.title
        assert system.outputs[0] == "epoch_s"
        assert len({component.name for component in system.components}) == len(system.components)
        assert all(component.meaning for component in system.components)


def test_an_unknown_system_is_refused() -> None:
    with pytest.raises(UsageError, match="expected one of") as caught:
        find_system("sprnt")
    assert "sprint" in str(caught.value.hint)
    with pytest.raises(UsageError, match="no module"):
        find_system("nothing_of_that_name:SYSTEM")
    with pytest.raises(UsageError, match="expected a system"):
        find_system("mlperf.systems.registry:SYSTEMS")
