"""Counters of kernels: what is there counts what the kernel does, what is not there is no column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.counters import kernel_counters
from mlperf.collect.counters.kernel_counters import (
    EVENTS,
    KEYS,
    N_EMPTY,
    N_STEPS,
    campaign_configurations,
    count_kernels,
    write_counters,
)
from mlperf.collect.counters.perf_event import READING
from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import read_campaign
from mlperf.specs import CnnSpec, library_calls
from mlperf.specs.kernels.kernels import kernel_calls
from mlperf.specs.network.layer import Layer

CALLS = {"numpy": kernel_calls, "torch": library_calls}
COST = 7
"""What the reading itself costs, in the unit of the counter."""


def cnn() -> CnnSpec:
    layers = (
        Layer("conv", "conv", n_maps=32, filter_size=(3, 3), padding=(1, 1)),
        Layer("relu", "activation", function="relu"),
        Layer("flat", "flatten"),
        Layer("fc", "fc", n_maps=10),
    )
    return CnnSpec("counted", 16, (32, 32), layers)


@contextmanager
def counted_from_file(path: Path, differences: list[int]) -> Iterator[None]:
    """One counter that says on each pair of readings what is written, in place of an event of this machine."""
    with path.open("wb") as file:
        for difference in differences:
            file.write(READING.pack(1000, 10, 10) + READING.pack(1000 + difference, 20, 20))

    @contextmanager
    def opened() -> Iterator[tuple[dict[str, int], dict[str, str]]]:
        with path.open("rb", buffering=0) as file:
            yield {"hw_instructions": file.fileno()}, {}
            assert not file.read(), "as many readings as kernel calls"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_counters, "open_counters", opened)
        yield


def test_one_row_a_kernel_call_and_no_column_for_what_is_absent(tmp_path: Path) -> None:
    counted = count_kernels([(cnn(), 2), (cnn(), 8)], n_steps=2)
    present = [name for name in EVENTS if name not in counted.absent]
    assert list(counted.frame) == [*KEYS, *present]
    calls = [("numpy", "counted", 2, call.kernel, call.layer) for call in kernel_calls(cnn(), 2)]
    calls += [("numpy", "counted", 8, call.kernel, call.layer) for call in kernel_calls(cnn(), 8)]
    assert list(counted.frame[KEYS].itertuples(index=False, name=None)) == calls
    assert (counted.frame[present] >= 0).all(axis=None)
    write_counters(counted, tmp_path / "counters.csv.gz")
    assert np.allclose(pd.read_csv(tmp_path / "counters.csv.gz")[present], counted.frame[present])


def test_four_times_the_samples_are_four_times_the_instructions_of_a_product() -> None:
    counted = count_kernels([(cnn(), 4), (cnn(), 16)], n_steps=2).frame
    if "hw_instructions" not in counted:
        assert "hw_instructions" in count_kernels([(cnn(), 1)], n_steps=1).absent
        return
    small, large = counted.query("kernel == 'convolution'")["hw_instructions"]
    assert 3.5 < large / small < 4.5


@pytest.mark.parametrize("backend", CALLS)
def test_a_call_has_the_median_of_its_steps_without_the_cost_of_reading(backend: str, tmp_path: Path) -> None:
    """Neither the step that warms up nor the views of library layers are read: the readings would not be enough."""
    if backend == "torch":
        pytest.importorskip("torch", reason="torch is not installed")
    calls = CALLS[backend](cnn(), 2)
    steps = [COST + 100 * number + late for late in (5, 0, 9000) for number in range(len(calls))]
    with counted_from_file(tmp_path / "readings", [COST] * N_EMPTY + steps):
        frame = count_kernels([(cnn(), 2)], backend, n_steps=N_STEPS).frame
    keys = [(backend, "counted", 2, call.kernel, call.layer) for call in calls]
    assert list(frame[KEYS].itertuples(index=False, name=None)) == keys
    assert frame["hw_instructions"].tolist() == [100.0 * number + 5 for number in range(len(calls))]


def test_a_campaigns_rows_say_which_steps_are_run_by_which_backend() -> None:
    campaign = read_campaign("cpu-xeon-torch")
    pairs = {(found.name, size) for found, size in campaign_configurations(campaign, "torch")}
    assert pairs == set(campaign.steps[["cnn", "subbatch_size"]].itertuples(index=False, name=None))
    assert campaign_configurations(campaign, "numpy") == []
    assert campaign.backend() == "torch"
    with pytest.raises(DataError, match="got backend 'numpy', expected one of torch"):
        campaign.backend("numpy")


def test_what_runs_on_a_device_is_not_counted_on_the_host() -> None:
    with pytest.raises(UsageError, match="got backend 'cuda', expected one of numpy, torch"):
        count_kernels([(cnn(), 1)], "cuda")
