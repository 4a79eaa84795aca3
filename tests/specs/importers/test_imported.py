"""Layers of a network that is being read, without torch or ONNX."""

from __future__ import annotations

from mlperf.specs.importers.imported import FLAT, Imported
from mlperf.specs.network.shape import Shape


def test_a_linear_layer_is_parted_where_some_biases_are_learnt():
    """10 numbers times 8, 3 and 5 of which have biases or none: 80 weights, 3 biases; a part of one is read of that alone."""
    imported = Imported("net", Shape(10, 1, 1), aliases={"x": "input"}, layouts={"x": FLAT})
    imported.linear("y", "x", 10, 8, bias=False)
    assert imported.add_bias("z", "y", [(3, True), (5, False)])
    imported.part("first", "z", 0, 3)
    imported.part("across", "z", 2, 4)
    imported.add("end", "fc", ["across"], n_maps=2, bias=False)
    found = imported.finish()
    assert imported.aliases["first"] == "y_0"
    assert [(layer.name, layer.kind, layer.n_maps) for layer in found.layers] == [
        ("y_0", "fc", 3),
        ("y_1", "fc", 5),
        ("y", "concat", 0),
        ("across", "part", 4),
        ("end", "fc", 2),
    ]
    assert found.n_params == 80 + 3 + 4 * 2


def test_layers_of_groups_are_not_parted():
    imported = Imported("net", Shape(4, 6, 6), aliases={"x": "input"})
    imported.add("y", "conv", ["x"], n_maps=8, filter_size=1, groups=2, bias=False)
    assert not imported.add_bias("z", "y", [(3, True), (5, False)])
