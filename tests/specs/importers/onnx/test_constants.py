"""Tensors computed from constants, against numpy."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx.constants import computed_tensors, known_tensors, own_tensor, size_tensor
from mlperf.specs.importers.onnx.graph import from_onnx

OPSETS = [helper.make_opsetid("", 18)]


def outside(*dims):
    return TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)


def test_numbers_are_computed_and_of_weights_elsewhere_the_shape_alone():
    known = {"sizes": size_tensor([8, 3, 7, 7]), "places": size_tensor([3, 1])}
    found = dict(computed_tensors(helper.make_node("Gather", ["sizes", "places"], ["y"]), known, OPSETS))
    assert numpy_helper.to_array(found["y"]).tolist() == [7, 3]
    node = helper.make_node("Transpose", ["w"], ["v"], perm=[2, 0, 1])
    (name, tensor), *_ = computed_tensors(node, {"w": outside(4, 5, 6)}, OPSETS)
    assert (name, list(tensor.dims)) == ("v", [6, 4, 5])
    node = helper.make_node("Expand", ["w", "sizes"], ["v"])
    (_, tensor), *_ = computed_tensors(node, {"w": outside(1, 1, 9000), "sizes": size_tensor([1, 5, 9000])}, OPSETS)
    assert list(tensor.dims) == [1, 5, 9000]


def test_what_a_layer_writes_is_not_computed():
    node = helper.make_node("Add", ["x", "w"], ["y"])
    assert not list(computed_tensors(node, {"w": outside(4)}, OPSETS))


def test_a_tensor_that_no_memory_holds_is_not_made():
    node = helper.make_node("ConstantOfShape", ["sizes"], ["y"])
    (_, tensor), *_ = computed_tensors(node, {"sizes": size_tensor([2**40, 2**20])}, OPSETS)
    assert (list(tensor.dims), tensor.data_location) == ([2**40, 2**20], TensorProto.EXTERNAL)


def test_constants_of_every_form_and_views_of_weights():
    nodes = [
        helper.make_node("Constant", [], ["a"], value_float=0.5),
        helper.make_node("Constant", [], ["b"], value_ints=[1, 2]),
        helper.make_node("Cast", ["w"], ["half"], to=TensorProto.FLOAT16),
        helper.make_node("Transpose", ["half"], ["v"]),
    ]
    graph = helper.make_graph(nodes, "net", [], [], [outside(4, 5)])
    known = known_tensors(graph)
    assert {name: numpy_helper.to_array(known[name]).tolist() for name in ("a", "b")} == {"a": 0.5, "b": [1, 2]}
    assert np.shape(numpy_helper.to_array(known["a"])) == ()
    assert (own_tensor("v", graph, known), own_tensor("x", graph, known)) == ("w", "x")


def test_a_slice_behind_the_end_is_empty():
    """As torch cuts sizes around a dimension that it takes apart."""
    node = helper.make_node("Slice", ["sizes", "start", "end"], ["y"])
    known = {"sizes": size_tensor([8, 3]), "start": size_tensor([2]), "end": size_tensor([2**63 - 1])}
    assert list(dict(computed_tensors(node, known, OPSETS))["y"].dims) == [0]


def test_sizes_in_a_file_beside_the_model_are_read_and_missed_by_its_name(tmp_path):
    nodes = [helper.make_node("Gemm", ["x", "w"], ["h"]), helper.make_node("Reshape", ["h", "sizes"], ["y"])]
    known = [numpy_helper.from_array(np.zeros((2, 12), np.float32), "w"), size_tensor([-1, 3, 2, 2])]
    known[1].name = "sizes"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ("n", 2)), ("y", None))]
    model = helper.make_model(helper.make_graph(nodes, "net", ends[:1], ends[1:], known), opset_imports=OPSETS)
    onnx.save(model, tmp_path / "net.onnx", save_as_external_data=True, location="net.bin", size_threshold=0)
    found = from_onnx(tmp_path / "net.onnx")
    assert (found.n_params, found.output_shape.height) == (24, 2)
    (tmp_path / "net.bin").unlink()
    with pytest.raises(DataError, match=r"got Reshape by numbers that are kept in 'net.bin', expected that file"):
        from_onnx(tmp_path / "net.onnx")


def test_what_onnx_cannot_compute_has_a_shape():
    """The reference implementation has no DequantizeLinear of before opset 19."""
    known = {"w": numpy_helper.from_array(np.zeros((4, 3), np.int8), "w"), "one": numpy_helper.from_array(np.float32(1), "one")}
    node = helper.make_node("DequantizeLinear", ["w", "one"], ["y"])
    assert list(dict(computed_tensors(node, known, [helper.make_opsetid("", 17)]))["y"].dims) == [4, 3]
