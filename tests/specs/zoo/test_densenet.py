"""DenseNet-121: maps where Table 1 of Huang et al. (2017) has them."""

from __future__ import annotations

from mlperf.specs.network.cnn import Shape
from mlperf.specs.zoo.zoo import load_cnn


def test_each_layer_adds_32_maps_and_a_transition_halves_them() -> None:
    cnn = load_cnn("densenet121")
    assert [cnn.shapes[f"block1_layer{number}_concat"].n_maps for number in range(1, 7)] == [96, 128, 160, 192, 224, 256]
    assert cnn.shapes["transition1_pool"] == Shape(128, 28, 28)
    assert cnn.shapes["transition3_pool"] == Shape(512, 7, 7)
    assert cnn.shapes["block4_layer16_concat"] == Shape(1024, 7, 7)


def test_it_has_121_layers_with_weights() -> None:
    assert sum(layer.kind in ("conv", "fc") for layer in load_cnn("densenet121").layers) == 121
