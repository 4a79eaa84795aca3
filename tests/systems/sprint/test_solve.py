"""Own component times to the epoch: what the equations give, with names and shapes as people write them."""

from __future__ import annotations

import numpy as np
import pytest

import mlperf
from mlperf.core.errors import DataError, UsageError
from mlperf.systems import ComponentTimes, RunGrid, epoch_outputs, solve_iterations

TIMES = {"compute_gradient": 0.1, "fetch_weights_s": 0.004, "sum_gradient": 0.002, "update_weights": 0.005, "allreduce": 0.05}


def test_it_is_what_the_equations_give() -> None:
    found = mlperf.solve(TIMES, dataset_size=50_000, n_nodes=[1, 2, 8], n_gpus_per_node=4, subbatch_size=16)
    zeros = dict.fromkeys(
        ("load_image_s", "deform_image_s", "compute_update_value_s", "update_gradient_s", "update_old_weights_s"), 0.0
    )
    seconds = {name if name.endswith("_s") else f"{name}_s": value for name, value in TIMES.items()}
    times = ComponentTimes(**zeros, **seconds, add_momentum_s=0.0, update_momentum_s=0.0, gpu_work_std_s=0.0)
    run = RunGrid.product([1, 2, 8], [4], [16], 50_000)
    state = solve_iterations(times, run)
    np.testing.assert_allclose(found.epoch_s, epoch_outputs(times, state, run).epoch_s, rtol=1e-12)
    frame = found.to_frame()
    assert frame["n_nodes"].tolist() == [1, 2, 8]
    np.testing.assert_allclose(frame["epoch_s"], 50_000 * frame["gpu_iteration_s"] / (frame["n_nodes"] * 4 * 16))
    np.testing.assert_allclose(sum(found.gpu_breakdown_s.values()), found.gpu_iteration_s)


def test_typos_and_impossible_times_are_refused() -> None:
    with pytest.raises(UsageError, match="got the component 'sum_gradint'") as caught:
        mlperf.solve({"sum_gradint": 0.1}, dataset_size=1)
    assert "sum_gradient_s" in str(caught.value.hint)
    with pytest.raises(DataError):
        mlperf.solve({"compute_gradient": -0.1, "sum_gradient": 0.1}, dataset_size=1)


def test_no_configuration_and_words_for_times_are_refused() -> None:
    with pytest.raises(UsageError, match="got no configuration, expected at least one"):
        mlperf.solve(TIMES, dataset_size=1, n_nodes=np.array([], int))
    with pytest.raises(DataError, match="got sum_gradient = 'fast', expected seconds >= 0"):
        mlperf.solve(TIMES | {"sum_gradient": "fast"}, dataset_size=1)


def test_sizes_that_cannot_be_solved_are_refused_at_once() -> None:
    for sizes in ({"n_nodes": 10**9, "n_gpus_per_node": 10**9}, {"n_gpus_per_node": [8, 5000]}):
        with pytest.raises(DataError, match=r"n_gpus_per_node: got [\d,]+, expected at most 4,096 GPUs a node"):
            mlperf.solve(TIMES, dataset_size=50_000, **sizes)
    with pytest.raises(DataError, match=r"subbatch_size: got 8e\+18, expected at most 9\.01e\+15 samples"):
        mlperf.solve(TIMES, dataset_size=50_000, n_nodes=10**18, n_gpus_per_node=8)
    assert np.isfinite(mlperf.solve(TIMES, dataset_size=50_000, n_nodes=10**9, n_gpus_per_node=1024).epoch_s).all()
