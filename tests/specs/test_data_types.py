"""Bytes of networks in each number format, by NumPy's item sizes and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.specs.data_types import DATA_TYPES, data_type
from mlperf.specs.kernels.kernels import bytes_moved, kernel_calls
from mlperf.specs.kernels.memory import max_subbatch_size, training_memory
from mlperf.specs.zoo.zoo import load_cnn


def test_sizes_are_those_of_the_formats():
    """bf16 is the upper half of a single; TF32 is stored as one."""
    assert data_type("fp16").number_bytes == np.dtype(np.float16).itemsize == data_type("bf16").number_bytes
    assert data_type("fp32").number_bytes == np.dtype(np.float32).itemsize == data_type("tf32").number_bytes
    with pytest.raises(DataError, match="expected one of fp32, tf32, bf16, fp16"):
        data_type("fp8")


def test_half_precision_halves_traffic_and_keeps_single_precision_of_the_weights():
    cnn = load_cnn("resnet18")
    n = cnn.n_params
    single, half = training_memory(cnn, 4), training_memory(cnn, 4, "bf16")
    assert (single.weights_bytes, single.gradients_bytes, single.master_weights_bytes) == (4 * n, 8 * n, 0)
    assert (half.weights_bytes, half.gradients_bytes, half.master_weights_bytes) == (2 * n, 2 * n + 4 * n, 4 * n)
    assert 2 * half.columns_bytes == single.columns_bytes
    assert 2 * half.activation_gradients_bytes == single.activation_gradients_bytes
    pooled = 64 * 56 * 56
    assert 2 * (half.activations_bytes - 4 * 4 * pooled) == single.activations_bytes - 4 * 4 * pooled, "positions stay 4 bytes"
    assert max_subbatch_size(cnn, 2e9, "bf16") > 1.8 * max_subbatch_size(cnn, 2e9)


@pytest.mark.parametrize("name", DATA_TYPES)
def test_traffic_is_in_proportion(name):
    cnn, size = load_cnn("alexnet"), DATA_TYPES[name].number_bytes
    assert 4 * bytes_moved(cnn, 3, name) == size * bytes_moved(cnn, 3)
    pairs = zip(kernel_calls(cnn, 3, name), kernel_calls(cnn, 3), strict=True)
    assert all(4 * ours.access_bytes == size * single.access_bytes and ours.n_flops == single.n_flops for ours, single in pairs)
    assert training_memory(cnn, 1) == training_memory(cnn, 1, "tf32")
