"""Checks and conversions of component times and run grids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.base.times import ComponentTimes, RunGrid


def make_times(**changed: Any) -> ComponentTimes:
    values: dict[str, Any] = {name: 0.1 * (i + 1) for i, name in enumerate(ComponentTimes.__slots__[:13])}
    return ComponentTimes(**(values | changed))


def test_work_is_the_sum_of_its_parts() -> None:
    times = make_times()
    assert times.gpu_work_s == pytest.approx(0.2 + 0.3 + 0.4 + 0.5)
    assert times.update_work_s == pytest.approx(0.8 + 0.9 + 1.0 + 1.1)


@pytest.mark.parametrize("bad", [-1e-9, np.nan, np.inf])
def test_a_wrong_time_is_named(bad: float) -> None:
    with pytest.raises(DataError, match="load_image_s"):
        make_times(load_image_s=np.array([0.1, bad]))


def test_shapes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(UsageError, match=r"load_image_s \(3,\)"):
        make_times(load_image_s=np.ones(3), allreduce_s=np.ones(2))


def test_taking_rows_keeps_scalars() -> None:
    times = make_times(allreduce_s=np.array([1.0, 2.0, 3.0])).take([2, 0])
    assert times.allreduce_s.tolist() == [3.0, 1.0]
    assert times.shape == (2,)


def test_scaling_names_an_unknown_component() -> None:
    assert make_times().scaled({"sum_gradient": 0.25}).sum_gradient_s == pytest.approx(0.25 * 0.7)
    with pytest.raises(UsageError, match="'sum_gradients'"):
        make_times().scaled({"sum_gradients": 0.25})


def test_a_product_grid_runs_sub_batches_fastest() -> None:
    run = RunGrid.product([1, 2], [4], [1, 8], 1000)
    assert run.n_nodes.tolist() == [1, 1, 2, 2]
    assert run.subbatch_size.tolist() == [1, 8, 1, 8]
    assert run.samples_per_iteration.tolist() == [4, 32, 8, 64]
    assert run.dataset_size.tolist() == [1000] * 4


@pytest.mark.parametrize("bad", [0, -2, 1.5])
def test_a_wrong_count_is_named(bad: float) -> None:
    with pytest.raises(DataError, match="n_nodes"):
        RunGrid(np.array([1, bad]), np.array(1), np.array(1), np.array(1))


@pytest.mark.parametrize(("name", "meant"), [("exchange", "allreduce"), ("exhange", "allreduce"), ("sum_gradeint", "sum_gradient")])
def test_a_component_by_the_name_of_another_system_is_told_its_own(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"got component '{name}', expected one of fetch_weights") as caught:
        make_times().scaled({name: 0.5})
    assert caught.value.hint == f"Did you mean '{meant}'?"
