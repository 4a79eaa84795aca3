"""Scaling of made runs, whose steps, devices and noise the maker knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.scaling import relative_error, scaling


def run(n_ranks: int, step_ms: float, *, n_steps: int = 30, noise: float = 0.0, slow: float = 0.0, devices: int = 0) -> Recording:
    """Steps of all ranks at once; the last rank's are longer by a share."""
    maker, rng = Made(), np.random.default_rng(n_ranks)
    at = 0
    for _ in range(n_steps):
        length = int(step_ms * MS * (1 + noise * rng.standard_normal()))
        for rank in range(n_ranks):
            own = int(length * (1 + slow)) if rank == n_ranks - 1 else length
            maker.marks(at, {"forward": own}, rank=rank)
            for device in range(devices):
                maker.add(Kind.KERNEL, at, own // 2, "gemm", rank=rank, device=device, stream=7)
        at += int(2 * step_ms * MS)
    return maker.recording(Path(f"run-{n_ranks}"))


def test_growing_work_scales_by_devices_and_fixed_work_by_time() -> None:
    runs = [run(4, 25.0), run(1, 20.0), run(2, 20.0)]
    growing, fixed = (scaling(runs, work=work).runs.set_index("n_devices") for work in ("growing", "fixed"))
    np.testing.assert_allclose(growing["speed_up"], [1, 2, 3.2])
    np.testing.assert_allclose(growing["efficiency"], [1, 1, 0.8])
    np.testing.assert_allclose(growing["throughput"], [50, 100, 160])
    np.testing.assert_allclose(fixed["speed_up"], [1, 1, 0.8])
    np.testing.assert_allclose(fixed["efficiency"], [1, 0.5, 0.2])
    assert growing.loc[4, "recording"] == "run-4"


def test_a_step_is_the_longest_of_its_ranks() -> None:
    found = scaling([run(1, 20.0), run(2, 20.0, slow=0.25)]).runs
    np.testing.assert_allclose(found["step_s"], [0.02, 0.025])


def test_devices_are_the_accelerators_of_all_ranks_where_there_are_some() -> None:
    found = scaling([run(1, 20.0, devices=2), run(2, 20.0, devices=2)])
    assert found.runs[["n_processes", "n_devices"]].to_numpy().tolist() == [[1, 2], [2, 4]]
    assert "against 2 devices" in found.notes[-1]
    np.testing.assert_allclose(found.runs["gpu_kernel_s"], 0.01)


def test_parts_add_up_to_the_mean_step_of_all_ranks() -> None:
    found = scaling([run(1, 20.0, devices=1), run(2, 20.0, slow=0.5, devices=1)])
    assert found.phases == ("forward",)
    np.testing.assert_allclose(found.runs["forward_s"] + found.runs["other_s"], [0.02, 0.025])
    np.testing.assert_allclose(found.runs[["gpu_kernel_s", "gpu_exposed_comm_s", "cpu_s"]].sum(axis=1), [0.02, 0.025])


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Means of 30 noisy values: 95 % of intervals, within four standard errors of 600 trials, none wider than sense."""
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(600):
        values = 1.0 + 0.1 * rng.standard_normal(30)
        held += abs(values.mean() - 1.0) <= relative_error(values) * values.mean()
    assert 0.95 - 4 * np.sqrt(0.05 * 0.95 / 600) <= held / 600 <= 1.0
    assert relative_error(np.full(5, 2.0)) == 0.0


def test_steps_that_drift_count_as_fewer() -> None:
    rng = np.random.default_rng(9)
    values = 1 + 0.1 * rng.standard_normal(200)
    assert relative_error(np.sort(values)) > 3 * relative_error(values)


def test_noise_widens_the_interval_of_the_speed_up() -> None:
    found = scaling([run(1, 20.0, noise=0.05), run(2, 20.0, noise=0.05)]).runs.iloc[1]
    assert found["speed_up_lower"] < 2.0 < found["speed_up_upper"]
    assert found["speed_up_lower"] < found["speed_up"] < found["speed_up_upper"]
    first = scaling([run(1, 20.0, noise=0.05), run(2, 20.0)]).runs.iloc[0]
    assert first["speed_up_lower"] == first["speed_up_upper"] == 1.0


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(UsageError, match="expected at least two"):
        scaling([run(1, 20.0)])
    with pytest.raises(UsageError, match="growing, fixed"):
        scaling([run(1, 20.0), run(2, 20.0)], work="none")
    with pytest.raises(DataError, match="expected at least 3"):
        scaling([run(1, 20.0, n_steps=3), run(2, 20.0)])
