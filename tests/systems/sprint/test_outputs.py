"""Outputs and breakdowns: the published tables, conservation, sums of parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.iterations import CLOSED_FORMS
from mlperf.systems.sprint.outputs import epoch_outputs, epoch_time, mean_minibatch_size

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]
COUPLING = {"lock_weights_gpu", "lock_gradient_gpu", "lock_gradient_update", "lock_weights_update"}


@pytest.fixture(scope="module")
def tables(reference: Any) -> Any:
    return reference("sprint_tables.json")


def half_digit(printed: str) -> float:
    """Half a unit in the last printed place."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


def error_band(measured: str, predicted: str) -> tuple[float, float]:
    """The error in per cent that two rounded prints allow."""
    corners = [
        100.0 * abs((float(predicted) + j * half_digit(predicted)) / (float(measured) + i * half_digit(measured)) - 1.0)
        for i in (-1, 1)
        for j in (-1, 1)
    ]
    return min(corners), max(corners)


def test_table_10_gives_its_periods_back(tables: Any) -> None:
    """Equations 9 and 10 backwards (G, U, rho) and forwards (T_Epoch, N_mb), measured and predicted column."""
    for row in tables["table_10"]:
        run = RunGrid(row["nodes"], row["n"], row["subbatch"], tables["dataset_size"])
        for column in (0, 1):
            gpu_s, update_s = row["gpu_s"][column], row["update_s"][column]
            minibatch = float(row["minibatch"][column])
            assert epoch_time(np.array(gpu_s), run) == pytest.approx(row["epoch_s"][column], rel=1e-3)
            assert mean_minibatch_size(np.array(gpu_s), np.array(update_s), run) == pytest.approx(minibatch, rel=1e-3)
            ratio = minibatch / run.samples_per_iteration.item()
            assert update_s / gpu_s == pytest.approx(ratio, rel=1e-3)


def test_all_twelve_printed_errors_are_those_of_the_printed_values(tables: Any) -> None:
    for row in tables["table_10"]:
        for values, printed in ((row["epoch_s"], row["epoch_error"]), (row["minibatch"], row["minibatch_error"])):
            low, high = error_band(str(values[0]), str(values[1]))
            assert low - half_digit(printed) <= float(printed) <= high + half_digit(printed), row


def test_two_of_the_error_bands_are_the_known_ones() -> None:
    assert error_band("3276", "3257") == pytest.approx((0.55, 0.61), abs=0.005)
    assert error_band("2025", "1779") == pytest.approx((12.10, 12.19), abs=0.005)


def test_predicted_and_measured_order_agree(tables: Any) -> None:
    measured, predicted = np.array([row["epoch_s"] for row in tables["table_10"]]).T
    assert (np.argsort(measured) == np.argsort(predicted)).all()


def test_epoch_errors_are_iteration_errors_and_the_means_are_the_papers(tables: Any) -> None:
    rows = {name: row for name, row in tables["tables_8_and_9"].items() if name != "columns"}
    assert all(row["gpu"] == row["epoch"] for row in rows.values())
    kfc = [row for name, row in rows.items() if name.startswith("kfc")]
    assert np.mean([row["epoch"][1] for row in kfc]) == pytest.approx(6.29, abs=0.005)
    assert np.mean([row["minibatch"][1] for row in kfc]) == pytest.approx(8.37, abs=0.01)


def test_minibatch_errors_stay_below_the_bound_of_both_periods(tables: Any) -> None:
    bounds = {"kfc A": 26.9, "kfc B": 20.3, "kfc C": 40.3, "tsubame2 A": 41.5}
    for name, bound in bounds.items():
        row = tables["tables_8_and_9"][name]
        worst = 100.0 * ((1.0 + row["update"][0] / 100.0) / (1.0 - row["gpu"][0] / 100.0) - 1.0)
        assert worst == pytest.approx(bound, abs=0.06)
        assert row["minibatch"][0] <= worst


def test_errors_of_outputs_are_errors_of_periods() -> None:
    """e_epoch = e_G and e_mb = (1 + e_U) / (1 + e_G) - 1."""
    run = RunGrid(8, 4, 2, 1000)
    gpu_s, update_s, e_gpu, e_update = np.array(0.5), np.array(0.3), 0.07, -0.12
    wrong_gpu_s, wrong_update_s = gpu_s * (1 + e_gpu), update_s * (1 + e_update)
    assert epoch_time(wrong_gpu_s, run) / epoch_time(gpu_s, run) - 1 == pytest.approx(e_gpu)
    e_minibatch = mean_minibatch_size(wrong_gpu_s, wrong_update_s, run) / mean_minibatch_size(gpu_s, update_s, run) - 1
    assert e_minibatch == pytest.approx((1 + e_update) / (1 + e_gpu) - 1)


def test_an_epoch_is_its_updates(calibrated: Machine) -> None:
    """T_Epoch = N_File U / N_mb."""
    times, run = calibrated("kfc", [4, 8], [8, 4], 0.1)
    state = solve_iterations(times, run)
    outputs = epoch_outputs(times, state, run)
    assert outputs.epoch_s == pytest.approx(run.dataset_size * state.update_iteration_s / outputs.mean_minibatch_size)


@pytest.mark.parametrize("closed", CLOSED_FORMS)
def test_breakdowns_hold_sixteen_components_and_sum_to_the_periods(calibrated: Machine, closed: str) -> None:
    times, run = calibrated("tsubame2", [4, 16, 32], [5, 3, 1], 0.1)
    state = solve_iterations(times, run, closed)
    outputs = epoch_outputs(times, state, run)
    names = set(outputs.gpu_breakdown_s) | set(outputs.update_breakdown_s)
    measured = {name.removesuffix("_s") for name in ComponentTimes.__slots__[:12]}
    assert names == measured | COUPLING
    assert len(names) == 16
    assert sum(outputs.gpu_breakdown_s.values()) == pytest.approx(state.gpu_iteration_s, rel=1e-12)
    assert sum(outputs.update_breakdown_s.values()) == pytest.approx(state.update_iteration_s, rel=1e-12)
    assert outputs.update_breakdown_s["allreduce"] == pytest.approx(times.allreduce_s + state.barrier_wait_s)
