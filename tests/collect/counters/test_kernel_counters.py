"""Counters of kernels: what is there counts what the kernel does, what is not there is no column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.collect.counters.kernel_counters import EVENTS, KEYS, count_kernels, write_counters
from mlperf.specs import CnnSpec
from mlperf.specs.kernels.kernels import kernel_calls
from mlperf.specs.network.layer import Layer


def cnn() -> CnnSpec:
    layers = (
        Layer("conv", "conv", n_maps=32, filter_size=(3, 3), padding=(1, 1)),
        Layer("relu", "activation", function="relu"),
        Layer("fc", "fc", n_maps=10),
    )
    return CnnSpec("counted", 16, (32, 32), layers)


def test_one_row_a_kernel_call_and_no_column_for_what_is_absent(tmp_path: Path) -> None:
    counted = count_kernels([(cnn(), 2), (cnn(), 8)], n_steps=2)
    present = [name for name in EVENTS if name not in counted.absent]
    assert list(counted.frame) == [*KEYS, *present]
    calls = [(2, call.kernel, call.layer) for call in kernel_calls(cnn(), 2)]
    calls += [(8, call.kernel, call.layer) for call in kernel_calls(cnn(), 8)]
    assert list(counted.frame[KEYS[1:]].itertuples(index=False, name=None)) == calls
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
