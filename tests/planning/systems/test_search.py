"""The best configuration of a system is the best of all, counted by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.planning.systems import grid as grid_module
from mlperf.specs import JobSpec, load_machine
from mlperf.systems.base.system import Setting, Solution, SystemComponent, checked_run, checked_times

pytestmark = pytest.mark.slow

JOB = JobSpec(dataset_size=60_000, subbatch_size=2, n_nodes=4)
SIZES: dict[str, Any] = {"n_nodes": [1, 2, 4, 8], "n_gpus_per_node": [1, 2], "subbatch_size": [1, 2, 4]}


@dataclass(frozen=True)
class Groups:
    """Workers in groups that compute together; a group must divide the workers."""

    name: str = "groups"
    title: str = "groups of workers"
    components: tuple = (SystemComponent("compute", "step", "work", "a step", needed=True),)
    settings: tuple = (Setting("group", 1.0, "workers of a group", 1.0),)
    outputs: tuple = ("epoch_s", "mean_minibatch_size", "step_s")

    def solve(self, times: Any, run: Any) -> Solution:
        seconds, sizes = checked_times(self, times), checked_run(self, run)
        workers = sizes["n_nodes"] * sizes["n_gpus_per_node"]
        step = seconds["compute"] * (1.0 + 0.1 * sizes["n_nodes"]) / np.sqrt(sizes["group"])
        size = np.broadcast_to(workers / sizes["group"] * sizes["subbatch_size"], step.shape)
        return Solution(
            {"epoch_s": sizes["dataset_size"] / size * step, "mean_minibatch_size": size, "step_s": step},
            {"step": {"compute": step}},
        )

    def refusals(self, run: Any) -> Any:
        sizes = checked_run(self, run)
        return {"the group does not divide the workers": sizes["n_nodes"] * sizes["n_gpus_per_node"] % sizes["group"] > 0}


def test_the_best_of_all_that_can_run_and_fits_the_window(small_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine("cpu-cluster")
    groups = [1, 2, 3]
    # A group of one can always run; a larger one takes the square root of its size less time for so many fewer samples.
    alone = mlperf.predict_system(small_model, Groups(), "alexnet", machine, JOB, n_draws=20, **SIZES).to_frame()
    frame = pd.concat([alone.assign(group=g, epoch_s=alone["epoch_s"] * g**0.5) for g in groups], ignore_index=True)
    frame["mean_minibatch_size"] /= frame["group"]
    runs = (frame["n_nodes"] * frame["n_gpus_per_node"]) % frame["group"] == 0
    held = frame[runs & frame["mean_minibatch_size"].between(3.0, 9.0)].sort_values("epoch_s", kind="stable")
    monkeypatch.setattr(grid_module, "CHUNK", 13)
    found = mlperf.search_system(
        small_model, Groups(), "alexnet", machine, JOB, settings={"group": groups}, minibatch=(3.0, 9.0), top=5, **SIZES
    )
    np.testing.assert_allclose(found.best["epoch_s"], held["epoch_s"].iloc[:5], rtol=1e-12)
    assert found.refused == {"the group does not divide the workers": int((~runs).sum())}
    assert found.n_configs == len(frame)
    assert (found.best["epoch_low_s"] <= found.best["epoch_s"]).all()
    front = found.pareto
    gpus = (front["n_nodes"] * front["n_gpus_per_node"]).to_numpy()
    assert (np.diff(gpus) > 0).all()
    assert (np.diff(front["epoch_s"]) < 0).all()


def test_nothing_in_the_window_tells_the_nearest(small_model: Any) -> None:
    found = mlperf.search_system(small_model, Groups(), "alexnet", "cpu-cluster", JOB, minibatch=(5000.0, 6000.0), **SIZES)
    assert not len(found.best)
    assert found.misses["mean_minibatch_size"].iloc[0] == 8 * 2 * 4


def test_the_cheapest_is_not_the_fastest(small_model: Any) -> None:
    machine = mlperf.MachineSpec("priced", 8, 2, price_per_node_hour=3.0)
    fastest = mlperf.search_system(small_model, Groups(), "alexnet", machine, JOB, **SIZES)
    cheapest = mlperf.search_system(small_model, Groups(), "alexnet", machine, JOB, objective="cost", **SIZES)
    assert fastest.best["n_nodes"].iloc[0] == 8
    assert cheapest.best["n_nodes"].iloc[0] == 1
    row = cheapest.best.iloc[0]
    assert row["cost"] == pytest.approx(3.0 * row["n_nodes"] * row["epoch_s"] / 3600.0)


def test_the_interval_of_a_row_is_that_of_one_run_as_predicted(small_model: Any) -> None:
    job = JobSpec(dataset_size=60_000, subbatch_size=2, n_nodes=2)
    sizes = {"n_nodes": [2], "n_gpus_per_node": [1], "subbatch_size": [2]}
    found = mlperf.search_system(small_model, "data-parallel", "alexnet", "cpu-cluster", job, **sizes)
    predicted = mlperf.predict_system(small_model, "data-parallel", "alexnet", "cpu-cluster", job, **sizes)
    row, told = found.best.iloc[0], predicted.prediction_interval["epoch_s"]
    pd.testing.assert_frame_equal(found.outside, predicted.outside)
    assert "exchange: not measured: assumed from the machine's specification" in found.outside["why"].tolist()
    assert (row["epoch_low_s"], row["epoch_high_s"]) == pytest.approx((told.lower[0], told.upper[0]), rel=1e-9)
