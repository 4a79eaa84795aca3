"""Work on a device, played by the CPU: the rows it fills, and what the copies of Algorithm 1 do."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mlperf.collect.backends.backends import DEVICE_CLOCK, library_backend
from mlperf.collect.campaign.device_updates import DEVICE_OPERATIONS, DeviceVectors, measure
from mlperf.collect.campaign.sgemm import Operands, measure_block
from mlperf.collect.campaign.steps import measure_step
from mlperf.collect.campaign.updates import VECTOR_OPERATIONS
from mlperf.collect.cnn_engine.timers import DeviceTimer
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.specs import CnnSpec, library_calls

torch = pytest.importorskip("torch", reason="torch is not installed")

NET = CnnSpec.from_sprint("net", 14, (3, 4, 5, 6, 7), (2,), 3)


class Event:
    """An event of a stream in which all work is done at once."""

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing
        self.at_s = 0.0

    def record(self) -> None:
        self.at_s = time.perf_counter()

    def elapsed_time(self, other: Event) -> float:
        return (other.at_s - self.at_s) * 1e3


@pytest.fixture
def cuda() -> Any:
    """What the collector uses of ``torch.cuda``; ``held`` lists the spins."""
    held: list[int] = []
    return SimpleNamespace(Event=Event, synchronize=lambda: None, _sleep=held.append, held=held)


@pytest.fixture
def backend(cuda: Any) -> Any:
    return library_backend(torch, "cuda", "cpu", DeviceTimer(cuda), 2**40, DEVICE_CLOCK, {"name": "played"})


def test_a_visit_fills_the_columns_of_both_tables(backend: Any, cuda: Any) -> None:
    rows = measure_step(backend, NET, 2, ("kernels", "steps"))
    assert [(row["kernel"], row["layer"]) for row in rows["kernels"]] == [
        (call.kernel, call.layer) for call in library_calls(NET, 2)
    ]
    circumstances = {"round", "sequence", "load", "reference_s"}
    for name, each in rows.items():
        assert all(set(row) | circumstances == set(TABLES[name].names) for row in each)
        assert all(row["backend"] == "cuda" and row["cpu_s"] > 0 and row["wall_s"] > 0 for row in each)
    (step,) = rows["steps"]
    assert step["step_s"] == step["cpu_s"]
    assert cuda.held
    assert min(cuda.held) > 0


def test_products_are_timed_by_events(backend: Any, cuda: Any) -> None:
    points = [("NT", 64, 32, 16, "grid")]
    (row,) = measure_block(points, Operands(backend, points))["sgemm"]
    assert 0 < row["cpu_s"] < 1
    assert len(cuda.held) == 1


@pytest.mark.parametrize(
    ("name", "changed", "expected"),
    [("fetch_weights", "device", 2.0), ("compute_update_value", "device", -0.04), ("update_gradient", "buffer", 7.0)],
)
def test_device_operation(name: str, changed: str, expected: float) -> None:
    """4 on the device, 2 in pinned memory, 3 in the gradient buffer; the update value is added to what the buffer holds."""
    pinned = torch.full((5,), 2.0)
    vectors = DeviceVectors(torch.full((5,), 4.0), pinned, pinned.numpy(), np.full(5, 3.0, dtype=np.float32)).cut(3)
    DEVICE_OPERATIONS[name](vectors)
    np.testing.assert_allclose(np.asarray(getattr(vectors, changed)), expected, rtol=1e-6)


def test_device_operations_replace_host_operations_of_the_same_name(cuda: Any) -> None:
    assert set(DEVICE_OPERATIONS) < set(VECTOR_OPERATIONS)
    pinned = torch.full((8,), 2.0)
    vectors = DeviceVectors(torch.zeros(8), pinned, pinned.numpy(), np.zeros(8, dtype=np.float32))
    (row,) = measure(cuda, "fetch_weights", vectors, 4)["updates"]
    assert (row["operation"], row["n_params"]) == ("fetch_weights", 4)
    assert row["cpu_s"] == row["wall_s"] > 0
