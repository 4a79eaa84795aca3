"""ConvNeXt-T: stages, and parameters as torch counts them."""

from __future__ import annotations

import pytest
from networks_of_today import NETWORKS

from mlperf.specs.network.cnn import Shape
from mlperf.specs.zoo.zoo import load_cnn


def test_stages_halve_the_maps_and_double_their_number():
    cnn = load_cnn("convnext_tiny")
    ends = ["stage1_block3_add", "stage2_block3_add", "stage3_block9_add", "stage4_block3_add"]
    assert [cnn.shapes[name] for name in ends] == [Shape(96 * 2**k, 56 // 2**k, 56 // 2**k) for k in range(4)]
    assert sum(layer.kind == "layer_scale" for layer in cnn.layers) == 18
    assert sum(layer.kind == "layer_norm" for layer in cnn.layers) == 18 + 3 + 2


def test_parameters_equal_those_of_the_network_in_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with torch.device("meta"):
        module = NETWORKS["convnext_tiny"](torch)
    assert sum(values.numel() for values in module.parameters()) == load_cnn("convnext_tiny").n_params
