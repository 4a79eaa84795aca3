"""The SPRINT form: eqs. 2 and 3 on published numbers, and where it stops."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec, Layer
from mlperf.specs.zoo.zoo import load_cnn, zoo_names


def test_eq_3_on_the_four_networks(small_net):
    """Parameter counts of NumPy networks: 958, 812, 573, 859."""
    assert small_net.spec.sprint_form().n_params == small_net.spec.n_params == small_net.n_params
    assert small_net.spec.sprint_form().n_macs == small_net.spec.n_macs


def test_form_gives_back_what_built_the_network(small_net):
    form = small_net.spec.sprint_form()
    assert form.n_maps == small_net.n_maps
    assert (form.sizes[0], form.n_conv, form.n_layers, form.filter_size) == (
        small_net.input_size,
        small_net.n_conv,
        len(small_net.n_maps) - 1,
        3,
    )
    assert tuple(number for number, pool in enumerate(form.pools, 1) if pool == 2) == small_net.pools_after


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("a1", (396, 394, 196, 194, 96, 94, 46, 44, 42, 20, 18, 16, 7, 5, 3, 1)),
        ("b1", (396, 394, 196, 194, 96, 94, 46, 44, 42, 20, 18, 16, 7, 5, 3, 1)),
        ("c1", (346, 344, 342, 170, 168, 166, 82, 80, 78, 38, 36, 34, 16, 14, 12, 5, 3, 1)),
    ],
)
def test_eq_2_on_the_stand_ins(name, sizes):
    form = load_cnn(name).sprint_form()
    assert form.sizes == sizes
    assert form.conv_sizes == tuple(size - 2 for size in sizes[:-1])
    assert form.n_layers == form.n_conv
    assert sum(pool == 2 for pool in form.pools) == 5


def test_a1_has_the_shape_that_figure_5_forces():
    form = load_cnn("a1").sprint_form()
    assert (form.conv_sizes[1], form.n_maps[1]) == (392, 32)


def test_only_the_stand_ins_of_the_zoo_have_the_form():
    assert [name for name in zoo_names() if load_cnn(name).is_sprint_form] == ["a1", "b1", "c1"]


def test_an_odd_size_is_pooled_only_on_request():
    with pytest.raises(DataError, match=r"layer 'pool1'.*got x' = 11 with p = 2") as caught:
        CnnSpec.from_sprint("odd", 13, (3, 4, 5), (1,), 1)
    assert "floor=True" in caught.value.hint
    odd = CnnSpec.from_sprint("odd", 13, (3, 4, 5), (1,), 1, floor=True)
    assert odd.sprint_form(floor=True).sizes == (13, 5, 1)
    assert not odd.is_sprint_form
    with pytest.raises(DataError, match="x' = 11"):
        odd.sprint_form()


def chain(*layers: Layer) -> CnnSpec:
    return CnnSpec("net", 3, 12, layers)


CONV = Layer("conv", "conv", n_maps=4, filter_size=3)
RELU, FC = Layer("relu", "activation"), Layer("fc", "fc", n_maps=5)


def test_the_plain_form_is_recognised():
    assert chain(
        CONV, RELU, Layer("pool", "pool", filter_size=2), Layer("flat", "flatten"), FC, Layer("soft", "softmax")
    ).is_sprint_form
    assert chain(FC).sprint_form().fans == (432,)


@pytest.mark.parametrize(
    ("layers", "layer", "reason"),
    [
        ((Layer("conv", "conv", n_maps=4, filter_size=3, stride=2), RELU, FC), "conv", r"stride \(2, 2\)"),
        ((Layer("conv", "conv", n_maps=4, filter_size=3, padding=1), RELU, FC), "conv", r"padding \(1, 1\)"),
        ((Layer("conv", "conv", n_maps=3, filter_size=3, groups=3), RELU, FC), "conv", "groups 3"),
        ((Layer("conv", "conv", n_maps=4, filter_size=(3, 1)), RELU, FC), "conv", r"filter_size \(3, 1\)"),
        ((Layer("conv", "conv", n_maps=4, filter_size=3, bias=False), RELU, FC), "conv", "no bias"),
        ((CONV, RELU, Layer("five", "conv", n_maps=4, filter_size=5)), "five", r"valid convolution of 3 x 3"),
        ((CONV, FC), "conv", "followed by nothing, expected activation"),
        ((CONV, Layer("norm", "batch_norm"), RELU, FC), "conv", "followed by batch_norm, activation"),
        ((CONV, RELU, Layer("pool", "pool", filter_size=3), FC), "pool", r"max pool of \(3, 3\)"),
        ((CONV, RELU, Layer("pool", "pool", filter_size=2, mode="average"), FC), "pool", "average pool"),
        ((CONV, Layer("pool", "pool", filter_size=2), RELU, FC), "conv", "followed by pool, activation"),
        ((FC, RELU, Layer("conv", "conv", n_maps=2, filter_size=1)), "conv", "convolution after a fully connected layer"),
        ((RELU, FC), "relu", "a first layer of kind activation"),
        ((CONV, RELU, Layer("sum", "add", inputs=("relu", "conv"))), "sum", "expected a chain"),
    ],
)
def test_the_first_layer_that_breaks_the_form_is_named(layers, layer, reason):
    with pytest.raises(DataError, match=reason) as caught:
        chain(*layers).sprint_form()
    assert caught.value.place == f"cnn 'net', layer '{layer}'"


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"n_conv": 4}, "n_conv"),
        ({"n_conv": -1}, "n_conv"),
        ({"pools_after": (3,), "n_conv": 2}, "pools_after"),
        ({"n_maps": (3,)}, "n_maps"),
        ({"n_maps": (3, 0, 4)}, "n_maps"),
        ({"n_maps": 3}, "n_maps"),
        ({"input_size": 12.0}, "input_size"),
        ({"pools_after": 2}, "pools_after"),
    ],
)
def test_impossible_arguments_are_named(arguments, place):
    with pytest.raises(DataError) as caught:
        CnnSpec.from_sprint(**{"name": "bad", "input_size": 12, "n_maps": (3, 4, 5, 6), **arguments})
    assert place in caught.value.place
