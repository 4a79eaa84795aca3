"""Sizes of maps behind windows, pads and resizing, against onnx's own shape inference."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from numbered_graph import GraphOfMaps
from onnx import TensorProto, helper, numpy_helper, shape_inference

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.network.layer import RESHAPES
from mlperf.specs.network.shape import Shape

node = helper.make_node


def weights(*dims):
    return numpy_helper.from_array(np.zeros(dims, dtype=np.float32), "w")


def numbers(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.asarray(values, dtype=dtype), name)


def found_and_inferred(tmp_path, nodes, known, opset=18, size=(13, 10)):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "net", [value("x", TensorProto.FLOAT, (1, 4, *size))], [value("y", TensorProto.FLOAT, None)], known
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    shape = from_onnx(path).output_shape
    dims = shape_inference.infer_shapes(model, data_prop=True).graph.output[0].type.tensor_type.shape.dim
    return (shape.n_maps, shape.height, shape.width), tuple(dim.dim_value for dim in dims[1:])


WINDOWS = [
    {"strides": [2, 2], "pads": [0, 0, 1, 1]},
    {"strides": [2, 3], "pads": [1, 0, 0, 1]},
    {"strides": [2, 1], "auto_pad": "SAME_UPPER"},
    {"strides": [3, 2], "auto_pad": "SAME_LOWER"},
    {"strides": [2, 2], "auto_pad": "VALID"},
    {"strides": [2, 2], "dilations": [2, 1], "pads": [2, 1, 1, 1]},
]


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_padded_unevenly(window, tmp_path):
    nodes = [node("Conv", ["x", "w"], ["y"], group=2, **window)]
    found, inferred = found_and_inferred(tmp_path, nodes, [weights(6, 2, 3, 3)])
    assert found == inferred
    nodes = [node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], **window)]
    found, inferred = found_and_inferred(tmp_path, nodes, [])
    assert found == inferred


@pytest.mark.parametrize(
    "window",
    [
        {"strides": [2, 2], "pads": [0, 1, 1, 1]},
        {"strides": [2, 3], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"strides": [2, 2], "output_shape": [26, 20]},
        {"strides": [3, 3], "dilations": [2, 2]},
    ],
)
def test_transposed_convolutions_of_given_sizes(window, tmp_path):
    found, inferred = found_and_inferred(tmp_path, [node("ConvTranspose", ["x", "w"], ["y"], **window)], [weights(4, 5, 3, 3)])
    assert found == inferred


def test_padding_before_a_window_is_part_of_it(tmp_path):
    """As Keras writes it before every convolution of stride 2."""
    pads = [0, 0, 0, 0, 0, 0, 1, 1]
    nodes = [node("Pad", ["x", "pads"], ["p"]), node("Conv", ["p", "w"], ["y"], strides=[2, 2])]
    found, inferred = found_and_inferred(tmp_path, nodes, [numbers("pads", pads), weights(6, 4, 3, 3)])
    assert found == inferred
    nodes = [node("Pad", ["x"], ["p"], pads=pads), node("Conv", ["p", "w"], ["y"], strides=[2, 2], pads=[1, 1, 0, 0])]
    found, inferred = found_and_inferred(tmp_path, nodes, [weights(6, 4, 3, 3)], opset=10)
    assert found == inferred
    nodes = [node("Pad", ["x", "pads", "", "axes"], ["p"]), node("AveragePool", ["p"], ["y"], kernel_shape=[3, 3], strides=[2, 2])]
    found, inferred = found_and_inferred(tmp_path, nodes, [numbers("pads", [1, 1, 1, 0]), numbers("axes", [2, -1])])
    assert found == inferred


def test_padding_at_one_side_of_a_window_of_two_is_written_once_for_all_that_read_it(tmp_path):
    """As in the stem of HGNetV2: no equal number of rows on both sides gives as many windows that move by one."""
    graph = GraphOfMaps((1, 4, 7, 6))
    padded = graph.add("Pad", "x", [0, 0, 0, 0, 0, 0, 1, 1])
    conv = graph.add("Conv", padded, np.zeros((3, 4, 2, 2)))
    pooled = graph.add("MaxPool", padded, kernel_shape=[2, 2], strides=[1, 1], ceil_mode=1)
    found = graph.read(tmp_path, graph.add("Concat", pooled, conv, axis=1))
    assert [layer.kind for layer in found.layers] == ["resize", "conv", "pool", "concat"]
    assert (found.shapes[found.layers[0].name], found.output_shape) == (Shape(4, 8, 7), Shape(7, 7, 6))
    assert (found.n_params, found.n_macs) == (48, 48 * 42)


def test_sums_along_rows_are_pools_of_these(tmp_path):
    graph = GraphOfMaps((1, 4, 7, 6))
    weighed = graph.add("Mul", graph.conv("x", 4, 4), graph.add("Softmax", graph.conv("x", 1, 4), axis=-1))
    along = graph.add("ReduceSum", weighed, [-1], keepdims=1)
    found = graph.read(tmp_path, graph.add("Mul", graph.add("Relu", "x"), graph.add("Expand", along, [1, 4, 7, 6])))
    kinds = [layer.kind for layer in found.layers if layer.kind not in RESHAPES]
    assert kinds == ["conv", "conv", "softmax", "multiply", "pool", "activation", "multiply"]
    pool, product = (next(each for each in found.layers[::-1] if each.kind == kind) for kind in ("pool", "multiply"))
    assert (pool.filter_size, found.shapes[pool.name]) == ((1, 6), Shape(4, 7, 1))
    assert found.input_shapes(product.name) == (Shape(28, 6, 1), Shape(28, 1, 1))
    assert found.output_shape == Shape(4, 7, 6)


def test_padding_by_nothing_is_nothing(tmp_path):
    """Exporters write it before average pools; what reads it need not be a window."""
    nodes = [node("Pad", ["x", "pads"], ["p"]), node("Relu", ["p"], ["y"])]
    found, inferred = found_and_inferred(tmp_path, nodes, [numbers("pads", [0] * 8)])
    assert found == inferred


@pytest.mark.parametrize(
    ("inputs", "attributes", "opset"),
    [
        (["x", "scales"], {}, 10),
        (["x", "", "scales"], {"mode": "linear"}, 18),
        (["x", "", "", "sizes"], {}, 18),
        (["x", "", "two"], {"axes": [2, 3]}, 18),
        (["x", "", "", "two_sizes"], {"axes": [3, 2]}, 18),
        (["x"], {}, 7),
    ],
)
def test_sizes_and_scales_of_every_version(inputs, attributes, opset, tmp_path):
    known = [numbers("scales", [1, 1, 2, 1.7], np.float32), numbers("two", [2, 3], np.float32)]
    known += [numbers("sizes", [1, 4, 30, 21]), numbers("two_sizes", [21, 30])]
    kind = "Upsample" if opset < 10 else "Resize"
    attributes |= {"scales": [1.0, 1.0, 2.0, 1.7]} if opset < 9 else {}
    nodes = [node(kind, inputs, ["y"], **attributes)]
    found, inferred = found_and_inferred(tmp_path, nodes, [each for each in known if each.name in inputs], opset)
    assert found == inferred


def test_maps_that_are_resized_too_are_refused(tmp_path):
    with pytest.raises(DataError, match="got the operation Resize"):
        found_and_inferred(tmp_path, [node("Resize", ["x", "", "scales"], ["y"])], [numbers("scales", [1, 2, 2, 2], np.float32)])


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("size", [(18, 8), (6, 8), (13, 9)])
def test_same_padding_gives_a_window_for_each_step_however_numbers_are_rounded(operator, size, tmp_path):
    window = {"kernel_shape": [5, 3], "strides": [3, 2], "auto_pad": "SAME_LOWER", "ceil_mode": 1}
    ours, theirs = found_and_inferred(tmp_path, [node(operator, ["x"], ["y"], **window)], [], size=size)
    assert ours == theirs == (4, -(-size[0] // 3), -(-size[1] // 2))
