"""Reshapes of ONNX graphs, and the order of the dimensions of their inputs."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.network.cnn import CnnSpec, Shape

node = helper.make_node


def sizes(*numbers):
    return np.asarray(numbers, np.int64)


def read(tmp_path, nodes, known, shape=("b", 3, 8, 8), *, dtype=TensorProto.FLOAT, opset=17) -> CnnSpec:
    """A graph from x to y; a tuple stands for weights of these sizes."""
    ends = [helper.make_tensor_value_info("x", dtype, shape), helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    arrays = {name: np.ones(each, np.float32) if isinstance(each, tuple) else each for name, each in known.items()}
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], constants)
    (tmp_path / "net.onnx").write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]).SerializeToString()
    )
    return from_onnx(tmp_path / "net.onnx")


def test_numbers_in_a_row_are_the_input_of_fully_connected_layers(tmp_path):
    nodes = [node("Gemm", ["x", "w", "b"], ["h"], transB=1), node("Gemm", ["h", "v"], ["y"])]
    found = read(tmp_path, nodes, {"w": (64, 784), "b": (64,), "v": (64, 10)}, ("b", 784))
    assert (found.shapes["input"], found.n_params) == (Shape(784, 1, 1), 784 * 64 + 64 + 640)


def test_numbers_of_tokens_meet_weights_at_each(tmp_path):
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Add", ["b", "h"], ["y"])]
    found = read(tmp_path, nodes, {"w": (16, 32), "b": (32,)}, ("b", 10, 16))
    assert (found.n_params, found.n_macs, found.output_shape) == (16 * 32 + 32, 10 * 16 * 32, Shape(32, 10, 1))


def test_indices_of_tokens_are_looked_up(tmp_path):
    nodes = [node("Gather", ["table", "x"], ["e"]), node("Gather", ["e", "last"], ["y"], axis=1)]
    found = read(tmp_path, nodes, {"table": (50, 8), "last": np.asarray(-1)}, ("b", 7), dtype=TensorProto.INT64)
    assert [layer.kind for layer in found.layers] == ["embedding", "select_token"]
    assert (found.shapes["input"], found.n_params) == (Shape(1, 7, 1), 400)


def test_maps_may_come_last_where_the_graph_puts_them_first(tmp_path):
    """As tf2onnx writes networks of TensorFlow; a cast of bytes to numbers is nothing."""
    nodes = [node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), node("Cast", ["t"], ["c"], to=1), node("Conv", ["c", "w"], ["y"])]
    found = read(tmp_path, nodes, {"w": (4, 3, 3, 3)}, ("b", 8, 9, 3), dtype=TensorProto.UINT8)
    assert (found.shapes["input"], found.output_shape, found.n_params) == (Shape(3, 8, 9), Shape(4, 6, 7), 108)


GATE = [
    node("GlobalAveragePool", ["x"], ["g"]),
    node("Flatten", ["g"], ["f"], axis=-3),
    node("Gemm", ["f", "w"], ["h"]),
    node("Sigmoid", ["h"], ["s"]),
]


@pytest.mark.parametrize(
    ("views", "known", "opset"),
    [
        ([node("Reshape", ["s", "a"], ["t"])], {"a": sizes(-1, 3, 1, 1)}, 17),
        ([node("Reshape", ["s", "a"], ["t"])], {"a": sizes(0, -1, 1, 1)}, 17),
        ([node("Unsqueeze", ["s", "a"], ["t"])], {"a": sizes(-1, -2)}, 17),
        ([node("Unsqueeze", ["s"], ["t"], axes=[2, 3])], {}, 11),
        ([node("Unsqueeze", ["s"], ["u"], axes=[2]), node("Unsqueeze", ["u"], ["t"], axes=[3])], {}, 11),
    ],
)
def test_a_gate_of_fully_connected_layers_meets_maps(views, known, opset, tmp_path):
    found = read(tmp_path, [*GATE, *views, node("Mul", ["x", "t"], ["y"])], {"w": (3, 3), **known}, opset=opset)
    assert [layer.kind for layer in found.layers] == ["pool", "flatten", "fc", "activation", "multiply"]
    assert found.output_shape == Shape(3, 8, 8)


@pytest.mark.parametrize(
    ("views", "known", "opset"),
    [
        ([node("Squeeze", ["g"], ["f"])], {}, 17),
        ([node("Squeeze", ["g", "a"], ["f"])], {"a": sizes(-2, -1)}, 17),
        ([node("Squeeze", ["g"], ["e"], axes=[3]), node("Squeeze", ["e"], ["f"], axes=[2])], {}, 11),
    ],
)
def test_sizes_of_one_may_be_taken_away_at_once_or_one_by_one(views, known, opset, tmp_path):
    nodes = [node("GlobalAveragePool", ["x"], ["g"]), *views, node("Gemm", ["f", "w"], ["y"])]
    found = read(tmp_path, nodes, {"w": (3, 5), **known}, opset=opset)
    assert [layer.kind for layer in found.layers] == ["pool", "flatten", "fc"]


@pytest.mark.parametrize(
    "view",
    [
        (node("Reshape", ["x", "a"], ["t"]), sizes(0, 8, 8, 3)),
        (node("Squeeze", ["x", "a"], ["t"]), sizes(2)),
    ],
)
def test_other_views_have_no_layer(view, tmp_path):
    with pytest.raises(DataError, match=f"node 't': got the operation {view[0].op_type}"):
        read(tmp_path, [view[0], node("Relu", ["t"], ["y"])], {"a": view[1]})


def test_maps_cut_otherwise_are_laid_out_anew(tmp_path):
    nodes = [node("Reshape", ["x", "a"], ["t"]), node("Conv", ["t", "w"], ["y"])]
    found = read(tmp_path, nodes, {"a": sizes(0, 12, 4, 4), "w": (5, 12, 1, 1)})
    assert [layer.kind for layer in found.layers] == ["part", "unflatten", "conv"]
    assert found.output_shape == Shape(5, 4, 4)


def test_a_size_of_one_before_maps_says_what_to_do(tmp_path):
    nodes = [node("Unsqueeze", ["x", "a"], ["t"]), node("Relu", ["t"], ["y"])]
    with pytest.raises(DataError, match=r"node 'y': got the operation Relu of heads or windows.*\n.*TOML"):
        read(tmp_path, nodes, {"a": sizes(1)})


def test_what_is_flat_becomes_maps_again(tmp_path):
    """The decoder of an autoencoder; the reshape names the batch as -1, as exporters of ``view(-1, 32, 2, 3)`` do."""
    nodes = [
        node("Gemm", ["x", "w"], ["h"]),
        node("Reshape", ["h", "maps"], ["m"]),
        node("ConvTranspose", ["m", "u"], ["y"], strides=[2, 2]),
    ]
    found = read(tmp_path, nodes, {"w": (16, 192), "maps": sizes(-1, 32, 2, 3), "u": (32, 3, 2, 2)}, ("b", 16))
    assert [layer.kind for layer in found.layers] == ["fc", "unflatten", "transposed_conv"]
    assert (found.n_params, found.output_shape) == (16 * 192 + 32 * 12, Shape(3, 4, 6))


def test_a_gate_may_be_stretched_before_the_product(tmp_path):
    nodes = [
        node("GlobalAveragePool", ["x"], ["g"]),
        node("Shape", ["x"], ["s"]),
        node("Expand", ["g", "s"], ["e"]),
        node("Mul", ["x", "e"], ["y"]),
    ]
    found = read(tmp_path, nodes, {})
    assert [layer.kind for layer in found.layers] == ["pool", "multiply"]
    nodes[-1] = node("Add", ["x", "e"], ["y"])
    with pytest.raises(DataError, match="expected 3 maps of 8 x 8"):
        read(tmp_path, nodes, {})
