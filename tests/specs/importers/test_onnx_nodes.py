"""Operators that change nothing are no layers; what takes a part of the maps has none."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx_import import from_onnx
from mlperf.specs.network.cnn import CnnSpec


def constant(name, values):
    return numpy_helper.from_array(np.asarray(values, dtype=np.int64), name)


def read(node, known, tmp_path) -> CnnSpec:
    """Four maps of 6 x 6 from a convolution, the node, an activation."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), node, helper.make_node("Relu", ["s"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ("b", 3, 8, 8)), ("y", None))]
    weights = numpy_helper.from_array(np.zeros((4, 3, 3, 3), np.float32), "w")
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [weights, *known])
    path = tmp_path / "net.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    return from_onnx(path)


def sliced(*numbers, opset_10=True):
    """A slice of the maps ``c``: starts, ends, axes, steps; before opset 10 they were attributes."""
    if not opset_10:
        return helper.make_node("Slice", ["c"], ["s"], **dict(zip(("starts", "ends", "axes"), numbers, strict=False))), []
    names = ("starts", "ends", "axes", "steps")[: len(numbers)]
    return helper.make_node("Slice", ["c", *names], ["s"]), [
        constant(name, each) for name, each in zip(names, numbers, strict=True)
    ]


@pytest.mark.parametrize(
    ("node", "known"),
    [
        (helper.make_node("Clip", ["c"], ["s"]), []),
        (helper.make_node("Clip", ["c", "", ""], ["s"]), []),
        (helper.make_node("Split", ["c"], ["s"], axis=1), []),
        sliced([0], [4], [1]),
        sliced([0, -6], [2**63 - 1, 6], [1, 2], [1, 1]),
        sliced([0], [2**63 - 1]),
        sliced([0], [99], [-1]),
        sliced([0], [4], [1], opset_10=False),
    ],
)
def test_what_changes_nothing_is_no_layer(node, known, tmp_path):
    found = read(node, known, tmp_path)
    assert [layer.kind for layer in found.layers] == ["conv", "activation"]


@pytest.mark.parametrize(
    ("node", "known"),
    [
        sliced([0], [3], [1]),
        sliced([1], [4], [1]),
        sliced([0], [4], [1], [2]),
        sliced([0], [32]),
        sliced([0], [-1], [1]),
        sliced([1], [4], [1], opset_10=False),
    ],
)
def test_a_part_of_the_maps_has_no_layer(node, known, tmp_path):
    with pytest.raises(DataError, match="node 's': got the operation Slice"):
        read(node, known, tmp_path)
