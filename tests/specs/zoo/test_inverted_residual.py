"""MobileNetV3 and EfficientNet-B0: maps where the papers' tables have them, parameters as torch counts them."""

from __future__ import annotations

import pytest
from networks_of_today import NETWORKS

from mlperf.specs.network.cnn import Shape
from mlperf.specs.zoo.zoo import load_cnn


def test_blocks_of_mobilenet_v3_large_stand_where_table_1_has_them():
    cnn = load_cnn("mobilenet_v3_large")
    assert cnn.shapes["block1_add"] == Shape(16, 112, 112)
    assert cnn.shapes["block6_add"] == Shape(40, 28, 28)
    assert cnn.shapes["block15_add"] == Shape(160, 7, 7)
    assert cnn.shapes["last"] == Shape(960, 7, 7)
    assert [layer.name for layer in cnn.layers if layer.kind == "multiply"] == [
        f"block{number}_squeeze_multiply" for number in (4, 5, 6, 11, 12, 13, 14, 15)
    ]
    assert cnn["block4_squeeze_conv1"].n_maps == 24, "a quarter of 72 is 18, of which 16 would lose more than a tenth"


def test_every_block_of_efficientnet_squeezes():
    cnn = load_cnn("efficientnet_b0")
    assert sum(layer.kind == "multiply" for layer in cnn.layers) == 16
    assert {layer.function for layer in cnn.layers if layer.kind == "activation"} == {"silu", "sigmoid"}
    assert cnn.shapes["last"] == Shape(1280, 7, 7)


@pytest.mark.parametrize("name", ["mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0"])
def test_parameters_equal_those_of_the_network_in_torch(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with torch.device("meta"):
        module = NETWORKS[name](torch)
    assert sum(values.numel() for values in module.parameters()) == load_cnn(name).n_params
