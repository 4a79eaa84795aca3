"""Networks: who reads whom, shapes, counts, and every error that a wrong table meets."""

from __future__ import annotations

import copy
import pickle

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec, Layer, Shape
from mlperf.specs.zoo.zoo import load_cnn

CONV = Layer("conv", "conv", n_maps=4, filter_size=3)


def network(*layers: Layer, size: int | tuple[int, int] = 8) -> CnnSpec:
    return CnnSpec("net", 3, size, layers)


def test_layers_read_the_layer_before_unless_told():
    cnn = network(
        CONV,
        Layer("relu", "activation"),
        Layer("side", "conv", inputs=("input",), n_maps=4, filter_size=3),
        Layer("sum", "add", inputs=("relu", "side")),
    )
    assert cnn.sources == {"conv": ("input",), "relu": ("conv",), "side": ("input",), "sum": ("relu", "side")}
    assert cnn.consumers == {"input": ("conv", "side"), "conv": ("relu",), "relu": ("sum",), "side": ("sum",), "sum": ()}
    assert cnn.shapes["sum"] == cnn.output_shape == Shape(4, 6, 6)
    assert cnn.input_shapes("sum") == (Shape(4, 6, 6), Shape(4, 6, 6))


def test_parameters_by_hand():
    cnn = network(
        CONV,  # 4 (27 + 1) = 112
        Layer("norm", "batch_norm"),  # 2 x 4 = 8
        Layer("grouped", "conv", n_maps=6, filter_size=(3, 1), groups=2, bias=False),  # 6 x 3 x 2 = 36
        Layer("fc", "fc", n_maps=5),  # 5 (6 x 4 x 6 + 1) = 725
    )
    assert list(cnn.layer_table()["n_params"]) == [112, 8, 36, 725]
    assert cnn.n_params == 881


def test_multiply_accumulates_by_hand():
    cnn = network(
        CONV, Layer("grouped", "conv", n_maps=6, filter_size=(3, 1), groups=2, stride=(1, 2)), Layer("fc", "fc", n_maps=5)
    )
    # 36 x 4 x 27; the second writes 4 x 3 maps of 6, each from 3 x 1 x 2 elements; 5 neurons read 6 x 4 x 3.
    assert cnn.layer_macs == {"conv": 3888, "grouped": 432, "fc": 360}
    assert (cnn.n_macs, cnn.n_flops) == (4680, 9360)


def test_backward_leaves_out_the_input_gradient_of_what_learns_nothing_before():
    cnn = network(CONV, Layer("fc", "fc", n_maps=5))
    assert cnn.n_flops_backward == 2 * cnn.n_flops - 2 * cnn.layer_macs["conv"]
    pooled = network(Layer("pool", "pool", filter_size=2), CONV)
    assert pooled.n_flops_backward == pooled.n_flops
    assert pooled.needs_gradient == {"input": False, "pool": False, "conv": True}
    normed = network(Layer("norm", "batch_norm"), CONV)
    assert normed.n_flops_backward == 2 * normed.n_flops


def test_rectangles_keep_height_before_width():
    cnn = network(Layer("conv", "conv", n_maps=2, filter_size=(3, 1), padding=(0, 2)), Layer("flat", "flatten"), size=(5, 9))
    assert cnn.shapes["conv"] == Shape(2, 3, 13)
    assert cnn.shapes["flat"] == Shape(78, 1, 1)


def test_networks_are_values():
    one, other = network(CONV), network(CONV)
    assert one == other
    assert hash(one) == hash(other)
    assert one != network(CONV, size=9)
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one  # noqa: S301 - our own bytes
    assert pickle.loads(pickle.dumps(one)).shapes == one.shapes  # noqa: S301 - our own bytes


def test_layers_are_found_by_name():
    assert network(CONV)["conv"] is CONV
    with pytest.raises(DataError, match="Did you mean 'conv'"):
        network(CONV)["cnov"]


def test_layer_table_has_a_row_per_layer():
    table = load_cnn("resnet50").layer_table()
    assert table["n_params"].sum() == 25_557_032
    assert list(table.columns) == ["layer", "kind", "inputs", "n_maps", "height", "width", "n_params", "n_macs"]
    assert table.set_index("layer").loc["stage1_block1_add", "inputs"] == "stage1_block1_conv3_norm, stage1_block1_shortcut_norm"


@pytest.mark.parametrize(
    ("layers", "place", "message"),
    [
        ((), "cnn 'net'", "got no layers, expected at least one"),
        ((CONV, CONV), "cnn 'net', layer 'conv'", "got this name twice"),
        (
            (CONV, Layer("s", "add", inputs=("conv", "cnov"))),
            "cnn 'net', layer 's', inputs",
            "got 'cnov', expected the name of an earlier layer",
        ),
        ((CONV, Layer("r", "activation", inputs=("input",))), "cnn 'net', layer 'conv'", "got an output that no layer reads"),
        (
            (Layer("big", "conv", n_maps=1, filter_size=9),),
            "cnn 'net', layer 'big', input shape",
            "got 3 maps of 8 x 8, expected maps of at least 9 x 9",
        ),
        (
            (Layer("wide", "conv", n_maps=1, filter_size=(3, 5), dilation=(1, 3), padding=(0, 1)),),
            "cnn 'net', layer 'wide', input shape",
            "got 3 maps of 8 x 8, expected maps of at least 3 x 11",
        ),
        (
            (Layer("g", "conv", n_maps=4, filter_size=1, groups=2),),
            "cnn 'net', layer 'g', groups",
            "got 2, expected a divisor of the 3 maps it reads",
        ),
        (
            (CONV, Layer("s", "add", inputs=("conv", "input"))),
            "cnn 'net', layer 's', input shape",
            "got 3 maps of 8 x 8, expected 4 maps of 6 x 6 like the first input",
        ),
        (
            (CONV, Layer("c", "concat", inputs=("conv", "input"))),
            "cnn 'net', layer 'c', input shape",
            "got 3 maps of 8 x 8, expected maps of 6 x 6 like the first input",
        ),
        ((CONV, Layer("s", "add")), "cnn 'net', layer 's', inputs", "got 1, expected at least two"),
        ((CONV, Layer("r", "activation", inputs=("conv", "input"))), "cnn 'net', layer 'r', inputs", "got 2, expected exactly one"),
    ],
)
def test_wrong_tables_are_refused(layers, place, message):
    with pytest.raises(DataError) as caught:
        network(*layers)
    assert caught.value.place == place
    assert message in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("size", [0, (8, 0), (8,), (8, 8, 8), 8.5, (8, "8")])
def test_an_input_has_two_whole_sizes(size):
    with pytest.raises(DataError, match="input_maps and input_size"):
        network(CONV, size=size)


def test_concat_joins_maps_in_order():
    cnn = network(
        CONV, Layer("one", "conv", inputs=("input",), n_maps=5, filter_size=3), Layer("both", "concat", inputs=("conv", "one"))
    )
    assert cnn.output_shape == Shape(9, 6, 6)


def test_adaptive_pools_have_the_size_asked_for():
    assert network(CONV, Layer("p", "pool", output_size=(2, 5))).output_shape == Shape(4, 2, 5)
    assert network(CONV, Layer("p", "pool", mode="average", output_size=1)).output_shape == Shape(4, 1, 1)
