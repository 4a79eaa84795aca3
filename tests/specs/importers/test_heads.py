"""Heads of maps against numpy: the same reshapes and transposes of an array of numbers of maps; and what layers they make."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.specs.importers.heads import Axis, Heads, packed, with_projections
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape

SIZES = {"b": 2, "t": 5, "c": 24, "m": 10, "n": 10}


def numbers(heads: Heads) -> np.ndarray:
    """Number of the map that stands at each place, from the axes."""
    found = np.full([1] * len(heads.dims), heads.first)
    for place, dim in enumerate(heads.dims):
        along = np.zeros(1, int)
        for axis in dim:
            step = axis.step if axis.letter == "c" else 0
            along = (along[:, None] + step * np.arange(axis.size)).ravel()
        found = found + along.reshape([-1 if each == place else 1 for each in range(len(heads.dims))])
    return found


def whole(order):
    """The tensor, and an array of the numbers of its maps."""
    heads = Heads.whole("x", order, SIZES)
    return heads, np.broadcast_to(numbers(heads), heads.sizes)


def test_fused_queries_keys_and_values_as_numpy_takes_them_apart():
    heads, array = whole("btc")
    heads = heads.reshaped([2, 5, 3, 4, 2]).permuted([2, 0, 3, 1, 4])
    array = array.reshape(2, 5, 3, 4, 2).transpose(2, 0, 3, 1, 4)
    for place in range(3):
        part = heads.part(0, place, 1).squeezed([0])
        assert part.sizes == [2, 4, 5, 2]
        np.testing.assert_array_equal(np.broadcast_to(numbers(part), part.sizes), array[place])


def test_samples_and_heads_in_one_dimension():
    heads, array = whole("tbc")
    heads, array = heads.reshaped([5, -1, 8]).permuted([1, 0, 2]), array.reshape(5, 6, 8).transpose(1, 0, 2)
    assert heads.dims == ((Axis("b", 1, 2), Axis("c", 8, 3)), (Axis("t", 1, 5),), (Axis("c", 1, 8),))
    np.testing.assert_array_equal(np.broadcast_to(numbers(heads), heads.sizes), array)
    back = heads.reshaped([2, 3, 5, 8]).permuted([0, 2, 1, 3]).reshaped([2, 5, 24])
    assert back.order(SIZES) == "btc"


@pytest.mark.parametrize("order", ["btc", "tbc", "bct", "mc", "nc"])
def test_a_whole_tensor_has_an_order_unless_it_is_scaled(order):
    heads = Heads.whole("x", order, SIZES)
    assert heads.order(SIZES) == order
    assert Heads("x", heads.dims, is_scaled=True).order(SIZES) == ""
    assert Heads("x", heads.dims, first=1).order(SIZES) == ""


@pytest.mark.parametrize("sizes", [[2, 5, 5, 5], [2, 5, 7, 3], [2, 5, -1, 7], [3, 5, 16], [2, 4, 30]])
def test_sizes_that_do_not_fit(sizes):
    assert Heads.whole("x", "btc", SIZES).reshaped(sizes) is None


def test_a_size_of_one_comes_and_goes():
    heads = Heads.whole("x", "btc", SIZES)
    assert heads.unsqueezed([0, 2]).sizes == [1, 2, 1, 5, 24]
    assert heads.unsqueezed([0, 2]).squeezed([2, 0]) == heads
    assert heads.squeezed([1]) is None


def test_parts_are_of_maps_only():
    heads = Heads.whole("x", "btc", SIZES)
    assert heads.part(1, 0, 1) is None
    assert heads.part(2, 20, 8) is None
    assert heads.part(-1, 8, 4).first == 8


def test_what_is_written_has_no_gaps():
    """Values of which two of three groups were left out."""
    values = Heads.whole("x", "btc", SIZES).reshaped([2, 5, 4, 6]).part(3, 4, 2)
    assert packed(values.dims)[2:] == ((Axis("c", 2, 4),), (Axis("c", 1, 2),))


ONE = (1, 1)


def linear(name, source, n_maps=8, **numbers):
    return Layer(name, "conv", inputs=(source,), n_maps=n_maps, filter_size=numbers.pop("filter_size", ONE), **numbers)


FUSED = (
    linear("all", "input", 24),
    Layer("keys", "part", inputs=("all",), first=8, n_maps=8),
    Layer("core", "attend", inputs=("all", "keys", "all"), n_heads=2),
    linear("out", "core"),
    Layer("end", "activation", inputs=("out",)),
)
PIECES = (("all", 0, 8), ("keys", 0, 8), ("all", 16, 8))


def folded(layers=FUSED, pieces=PIECES):
    shapes = {"input": Shape(8, 5, 1), "core": Shape(8, 5, 1), "keys": Shape(8, 5, 1), "all": Shape(layers[0].n_maps, 5, 1)}
    return with_projections(layers, shapes, {"core": pieces})


def test_parts_of_one_projection_are_queries_keys_and_values():
    assert folded() == [Layer("out", "attention", inputs=("input",), n_heads=2), FUSED[-1]]


def test_without_cores_nothing_changes():
    assert with_projections(FUSED, {}, {}) == list(FUSED)


@pytest.mark.parametrize(
    ("place", "changed"),
    [
        (0, linear("all", "input", 24, filter_size=(3, 1), padding=(1, 0))),
        (3, linear("out", "core", bias=False)),
        (3, linear("out", "core", n_maps=4)),
        (0, linear("all", "input", 32)),
        (4, Layer("end", "add", inputs=("out", "keys"))),
        (4, Layer("end", "add", inputs=("out", "core"))),
        (2, Layer("core", "attend", inputs=("all", "keys", "all"), n_heads=2, n_biases=3)),
    ],
)
def test_what_one_layer_of_attention_has_not_leaves_its_products_alone(place, changed):
    layers = [changed if number == place else layer for number, layer in enumerate(FUSED)]
    found = folded(layers)
    core = next(layer for layer in found if layer.name == "core")
    parts = {layer.name: layer.first for layer in found if layer.kind == "part"}
    assert (core.kind, core.inputs, core.n_heads) == ("attend", ("core_q", "keys", "core_v"), 2)
    assert parts == {"keys": 8, "core_q": 0, "core_v": 16}


def test_biases_of_the_last_projection_alone():
    layers = [linear("all", "input", 24, bias=False), *FUSED[1:]]
    assert [layer.kind for layer in folded(layers)] == ["attention", "layer_shift", "activation"]


def test_heads_that_hold_queries_keys_and_values_side_by_side():
    """Of each head two maps of each: maps 0, 2 and 4 are the first ones, parts do not overlap."""
    layers = (FUSED[0], Layer("core", "attend", inputs=("all",) * 3, n_heads=4, n_biases=1), *FUSED[3:])
    found = folded(layers, (("all", 0, 8), ("all", 2, 8), ("all", 4, 8)))
    assert [(layer.name, layer.first) for layer in found if layer.kind == "part"] == [("core_q", 0), ("core_k", 8), ("core_v", 16)]
