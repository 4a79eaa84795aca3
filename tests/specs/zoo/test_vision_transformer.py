"""ViT-B/16: tokens, other image sizes, and parameters as torch counts them."""

from __future__ import annotations

import pytest
from networks_of_today import NETWORKS

from mlperf.specs.network.cnn import Shape
from mlperf.specs.zoo.zoo import load_cnn


def test_an_image_is_197_tokens_of_768_numbers():
    cnn = load_cnn("vit_b_16")
    assert (cnn.shapes["patches"], cnn.shapes["tokens"]) == (Shape(768, 14, 14), Shape(768, 196, 1))
    assert cnn.shapes["block12_add2"] == Shape(768, 197, 1)
    assert cnn.input_shapes("head") == (Shape(768, 1, 1),)


def test_a_larger_image_has_more_positions_only():
    """As published for 384 x 384: 86,859,496 parameters, 55.484 billion multiply-accumulates (torchvision, SWAG weights)."""
    cnn = load_cnn("vit_b_16", input_size=384)
    assert cnn.n_params == 86_859_496
    assert cnn.n_macs / 1e9 == pytest.approx(55.484, abs=0.0006)


def test_parameters_equal_those_of_the_network_in_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with torch.device("meta"):
        module = NETWORKS["vit_b_16"](torch)
    assert sum(values.numel() for values in module.parameters()) == load_cnn("vit_b_16").n_params
