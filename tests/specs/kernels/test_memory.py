"""Device memory: by hand on a small network, and against what ran in the SPRINT paper."""

from __future__ import annotations

import pytest

from mlperf.specs.kernels.memory import max_subbatch_size, training_memory
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.zoo.zoo import load_cnn


def test_parts_by_hand():
    """Input 8, two 3 x 3 convolutions to 4 and 5 maps, pool after the first: 3 x 8 x 8, 4 x 6 x 6, 4 x 3 x 3, 5 x 1 x 1."""
    found = training_memory(CnnSpec.from_sprint("small", 8, (3, 4, 5), (1,)), 2)
    n_params = 4 * 28 + 5 * 37
    assert (found.weights_bytes, found.gradients_bytes) == (4 * n_params, 8 * n_params)
    outputs = [3 * 64, 4 * 36, 4 * 9, 5]
    assert found.activations_bytes == 4 * 2 * (sum(outputs) + 4 * 9)
    assert found.activation_gradients_bytes == 4 * 2 * (3 * 64 + 4 * 36)
    columns = [36 * 27, 1 * 36]
    assert found.columns_bytes == 4 * 2 * (sum(columns) + 36 * 27)
    assert found.total_bytes == sum(value for value in found.to_dict().values())


@pytest.mark.parametrize(("name", "device_bytes", "largest"), [("a1", 12e9, 11), ("a1", 6e9, 5), ("b1", 12e9, 5), ("c1", 12e9, 4)])
def test_what_ran_in_the_paper_fits(name, device_bytes, largest):
    """Largest sub-batches seen there; twice as many were never run and need not fit."""
    assert largest <= max_subbatch_size(load_cnn(name), device_bytes) <= 2 * largest


@pytest.mark.parametrize("name", ["a1", "vgg16", "resnet50"])
def test_the_largest_subbatch_is_the_last_that_fits(name):
    cnn = load_cnn(name)
    largest = max_subbatch_size(cnn, 12e9)
    assert training_memory(cnn, largest).total_bytes <= 12e9 < training_memory(cnn, largest + 1).total_bytes


def test_a_network_too_large_for_the_device_has_no_subbatch():
    assert max_subbatch_size(load_cnn("vgg16"), 1e9) == 0
