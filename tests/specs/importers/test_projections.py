"""A stand-in for products of activations, its linear layers and their parts become one layer, or a refusal that says why."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.importers.projections import with_projections
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape

ONE = (1, 1)


def linear(name, source, n_maps=8, **numbers):
    return Layer(name, "conv", inputs=(source,), n_maps=n_maps, filter_size=numbers.pop("filter_size", ONE), **numbers)


FUSED = (
    linear("all", "input", 24),
    Layer("keys", "part", inputs=("all",), first=8, n_maps=8),
    Layer("core", "attention", inputs=("all", "keys", "all"), n_heads=2),
    linear("out", "core"),
    Layer("end", "activation", inputs=("out",)),
)
PIECES = (("all", 0), ("keys", 0), ("all", 16))


def folded(layers=FUSED, pieces=PIECES):
    shapes = {name: Shape(8, 5, 1) for name in ("input", "core")}
    return with_projections("net", layers, shapes, {"core": pieces})


def test_parts_of_one_projection_are_queries_keys_and_values():
    assert folded() == [Layer("out", "attention", inputs=("input",), n_heads=2), FUSED[-1]]


def test_without_cores_nothing_changes():
    assert with_projections("net", FUSED, {}, {}) == list(FUSED)


@pytest.mark.parametrize(
    ("place", "changed", "reason"),
    [
        (0, linear("all", "input", 24, filter_size=(3, 1), padding=(1, 0)), "other than linear layers"),
        (0, linear("all", "input", 24, bias=False), None),
        (3, linear("out", "core", bias=False), "biases of some projections"),
        (3, linear("out", "core", n_maps=4), "8 maps to 24 and back to 4"),
        (0, linear("all", "input", 32), "8 maps to 32 and back to 8"),
        (4, Layer("end", "add", inputs=("out", "keys")), "another layer reads"),
        (4, Layer("end", "add", inputs=("out", "core")), "2 layers read"),
    ],
)
def test_a_change_of_one_layer(place, changed, reason):
    layers = [changed if number == place else layer for number, layer in enumerate(FUSED)]
    if reason is None:
        assert [layer.kind for layer in folded(layers)] == ["attention", "layer_shift", "activation"]
        return
    with pytest.raises(DataError, match=reason):
        folded(layers)


def test_the_same_maps_twice():
    with pytest.raises(DataError, match="the same maps"):
        folded(pieces=(PIECES[0], ("all", 8), PIECES[1]))
