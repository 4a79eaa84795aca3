"""Nodes as plain values."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from mlperf.specs.importers.onnx.node import OnnxNode


def test_what_is_left_out_and_what_lies_elsewhere_has_no_numbers():
    proto = helper.make_node("Resize", ["x", "", "w", "sizes"], ["y"], mode="nearest")
    known = {
        "w": TensorProto(name="w", data_type=TensorProto.FLOAT, dims=(3, 2), data_location=TensorProto.EXTERNAL),
        "sizes": numpy_helper.from_array(np.array([1, 2]), "sizes"),
    }
    node = OnnxNode.read(proto, known)
    assert (node.name, node.tensors, node.has_input(1), node.has_input(4)) == ("y", ("x",), False, False)
    assert (node.dims(2), node.values(2), node.values(3)) == ((3, 2), [], [1.0, 2.0])
    assert node.remark == " with {'mode': b'nearest'} by [1, 2]"


def test_a_file_beside_the_model_is_named_for_numbers_and_not_for_weights():
    def outside(*dims):
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="beside.bin")
        return OnnxNode.read(helper.make_node("Reshape", ["x", "w"], ["y"]), {"w": tensor})

    assert (outside(4).unread, outside(9000, 4).unread) == ("beside.bin", "")
    assert outside(4).axes(1) == []


def test_graphs_are_no_remark():
    branch = helper.make_graph([], "branch", [], [])
    node = OnnxNode.read(helper.make_node("If", ["x"], ["y"], then_branch=branch, else_branch=branch), {})
    assert node.remark == ""
