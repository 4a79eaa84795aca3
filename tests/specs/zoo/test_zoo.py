"""Published counts of well-known networks."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import Shape
from mlperf.specs.network.cnn_toml import write_cnn
from mlperf.specs.zoo.zoo import find_cnn, load_cnn, zoo_names

# Parameters: torchvision's model pages; multiply-accumulates (GFLOPS there, products of matrices alone): the same pages, to two
# digits of the older networks, to three of those from mobilenet_v3_small on (`_ops` of the weights);
# stand-ins: design numbers that agree with Table 5 of Oyama et al. (16.1, 12.1, 12.5 million).
PUBLISHED = {
    "alexnet": (61_100_840, 0.71),
    "vgg11": (132_863_336, 7.61),
    "vgg13": (133_047_848, 11.31),
    "vgg16": (138_357_544, 15.47),
    "vgg19": (143_667_240, 19.63),
    "resnet18": (11_689_512, 1.81),
    "resnet50": (25_557_032, 4.09),
    "a1": (16_105_800, 8.485),
    "b1": (12_088_360, 22.682),
    "c1": (12_494_856, 34.600),
    "mobilenet_v3_small": (2_542_856, 0.057),
    "mobilenet_v3_large": (5_483_032, 0.217),
    "efficientnet_b0": (5_288_548, 0.386),
    "convnext_tiny": (28_589_128, 4.456),
    "vit_b_16": (86_567_656, 17.564),
    "swin_t": (28_288_354, 4.491),
    "resnet34": (21_797_672, 3.664),
    "resnet101": (44_549_160, 7.801),
    "resnet152": (60_192_808, 11.514),
    "densenet121": (7_978_856, 2.834),
    "mobilenet_v2": (3_504_872, 0.301),
    "shufflenet_v2_x1_0": (2_278_604, 0.145),
}
TWO_DIGITS = ("alexnet", "vgg11", "vgg13", "vgg16", "vgg19", "resnet18", "resnet50")


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts(name):
    cnn = load_cnn(name)
    n_params, giga_macs = PUBLISHED[name]
    assert cnn.n_params == n_params
    assert cnn.n_macs / 1e9 == pytest.approx(giga_macs, abs=0.0051 if name in TWO_DIGITS else 0.00051)
    assert cnn.output_shape == Shape(1000, 1, 1)


def test_the_zoo_is_complete():
    assert set(zoo_names()) == set(PUBLISHED)


def test_vgg_layers_are_where_the_names_say():
    """Sixteen layers with weights, thirteen of them convolutions on maps of 224, 112, 56, 28 and 14."""
    cnn = load_cnn("vgg16")
    weighted = [layer for layer in cnn.layers if layer.kind in ("conv", "fc")]
    assert [layer.kind for layer in weighted] == ["conv"] * 13 + ["fc"] * 3
    assert [cnn.shapes[f"conv{block}_1"] for block in range(1, 6)] == [
        Shape(64, 224, 224),
        Shape(128, 112, 112),
        Shape(256, 56, 56),
        Shape(512, 28, 28),
        Shape(512, 14, 14),
    ]
    assert cnn.input_shapes("fc6") == (Shape(25088, 1, 1),)


def test_another_input_size_keeps_the_parameters_where_the_network_pools_adaptively():
    small = load_cnn("vgg11", input_size=64)
    assert (small.name, small.input_size, small.n_params) == ("vgg11-64", (64, 64), 132_863_336)
    assert load_cnn("ResNet18", input_size=32).n_params == 11_689_512


def test_an_input_that_vanishes_is_an_error():
    with pytest.raises(DataError, match="pool5"):
        load_cnn("vgg16", input_size=16)


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(DataError, match="Did you mean 'vgg16'"):
        load_cnn("vgg_16")


def test_a_network_is_found_by_name_or_by_file(tmp_path):
    write_cnn(load_cnn("alexnet"), tmp_path / "mine.toml")
    assert find_cnn(tmp_path / "mine.toml") == load_cnn("alexnet") == find_cnn("alexnet")
