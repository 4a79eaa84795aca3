"""Networks from ONNX graphs that the tests build operator by operator."""

from __future__ import annotations

import math
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError, MissingExtraError
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.network.cnn import CnnSpec, Layer, Shape
from mlperf.specs.zoo.zoo import load_cnn

FLOAT = TensorProto.FLOAT


def weights(name, *dims):
    """A weight tensor whose numbers lie in a file beside the model that does not exist: only its shape may be read."""
    tensor = TensorProto(name=name, data_type=FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights.bin")
    return tensor


def constant(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.asarray(values, dtype=dtype), name)


def saved(tmp_path, nodes, initializers, output, shape=("batch", 3, 8, 8)):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", FLOAT, shape)],
        [helper.make_tensor_value_info(output, FLOAT, None)],
        initializers,
    )
    path = tmp_path / "net.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    return path


def exported(cnn: CnnSpec, tmp_path):
    """A zoo network written operator by operator as an exporter would."""
    nodes, initializers = [], []
    tensors = {"input": "x"} | {layer.name: f"t_{layer.name}" for layer in cnn.layers}
    for layer in cnn.layers:
        inputs = [tensors[source] for source in cnn.sources[layer.name]]
        operator, attributes, extra = _operator(cnn, layer)
        initializers += extra
        names = [tensor.name for tensor in extra]
        nodes.append(helper.make_node(operator, inputs + names, [tensors[layer.name]], name=layer.name, **attributes))
    return saved(tmp_path, nodes, initializers, tensors[cnn.layers[-1].name], ("batch", cnn.input_maps, *cnn.input_size))


def _operator(cnn: CnnSpec, layer: Layer):
    source = cnn.input_shapes(layer.name)[0]
    window = {"kernel_shape": layer.filter_size, "strides": layer.stride, "pads": [*layer.padding, *layer.padding]}
    if layer.kind == "conv":
        extra = [weights(f"{layer.name}.w", layer.n_maps, source.n_maps // layer.groups, *layer.filter_size)]
        extra += [weights(f"{layer.name}.b", layer.n_maps)] if layer.bias else []
        return "Conv", window | {"group": layer.groups, "dilations": layer.dilation}, extra
    if layer.kind == "fc":
        return (
            "Gemm",
            {"transB": 1},
            [weights(f"{layer.name}.w", layer.n_maps, source.size), weights(f"{layer.name}.b", layer.n_maps)],
        )
    if layer.kind == "batch_norm":
        return "BatchNormalization", {}, [weights(f"{layer.name}.{part}", source.n_maps) for part in ("scale", "b", "mean", "var")]
    if layer.kind == "pool" and layer.output_size == (1, 1):
        return "GlobalAveragePool", {}, []
    if layer.kind == "pool" and layer.is_adaptive:
        return "AveragePool", {"kernel_shape": (1, 1)}, []
    return (
        {"pool": "MaxPool", "activation": "Relu", "add": "Add", "flatten": "Flatten", "dropout": "Dropout"}[layer.kind],
        (window if layer.kind == "pool" else {}),
        [],
    )


@pytest.mark.parametrize("name", ["alexnet", "vgg16", "resnet18", "resnet50"])
def test_counts_of_well_known_networks(name, tmp_path):
    ours = load_cnn(name)
    found = from_onnx(exported(ours, tmp_path))
    assert found.n_params == ours.n_params
    assert found.n_macs == ours.n_macs
    assert [layer.kind for layer in found.layers] == [layer.kind for layer in ours.layers]
    assert list(found.shapes.values()) == list(ours.shapes.values())
    assert found.name == "net"


def test_every_operator_that_is_supported(tmp_path):
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1"], ["c1"], auto_pad="SAME_UPPER", strides=[1, 1]),
        node("LeakyRelu", ["c1"], ["a1"]),
        node("Identity", ["a1"], ["i1"]),
        node("Elu", ["i1"], ["a2"]),
        node("Sigmoid", ["a2"], ["a3"]),
        node("Tanh", ["a3"], ["a4"]),
        node("HardSwish", ["a4"], ["a5"]),
        node("HardSigmoid", ["a5"], ["a6"]),
        node("Softplus", ["a6"], ["a7"]),
        node("Clip", ["a7", "zero", "six"], ["a8"]),
        node("Sum", ["a8", "c1"], ["s1"]),
        node("Conv", ["s1", "w2"], ["c2"], dilations=[2, 1], strides=[1, 2], pads=[2, 1, 2, 1], group=2),
        node("Concat", ["c2", "c2"], ["k1"], axis=1),
        node("MaxPool", ["k1"], ["p1"], kernel_shape=[2, 2], ceil_mode=1, strides=[3, 3]),
        node("AveragePool", ["p1"], ["p2"], kernel_shape=[2, 2], auto_pad="VALID"),
        node("GlobalMaxPool", ["p2"], ["g1"]),
        node("Constant", [], ["shape"], value=constant("", [0, -1])),
        node("Reshape", ["g1", "shape"], ["f1"]),
        node("MatMul", ["f1", "w3"], ["m1"]),
        node("Add", ["m1", "b3"], ["m2"]),
        node("MatMul", ["m2", "w4"], ["m3"]),
        node("LogSoftmax", ["m3"], ["y"]),
    ]
    initializers = [
        weights("w1", 4, 3, 3, 3),
        weights("w2", 6, 2, 3, 3),
        weights("w3", 12, 5),
        constant("b3", np.zeros(5), np.float32),
        weights("w4", 5, 7),
        constant("zero", 0.0, np.float32),
        constant("six", 6.0, np.float32),
    ]
    found = from_onnx(saved(tmp_path, nodes, initializers, "y"), name="all")
    assert found.name == "all"
    assert found.n_params == 4 * 27 + 6 * 18 + 5 * 13 + 7 * 5
    shapes = {name: found.shapes[name] for name in ("c1", "c2", "k1", "p1", "p2", "g1", "f1", "m3")}
    assert shapes == {
        "c1": Shape(4, 8, 8),
        "c2": Shape(6, 8, 4),
        "k1": Shape(12, 8, 4),
        "p1": Shape(12, 3, 2),
        "p2": Shape(12, 2, 1),
        "g1": Shape(12, 1, 1),
        "f1": Shape(12, 1, 1),
        "m3": Shape(7, 1, 1),
    }
    functions = [layer.function for layer in found.layers if layer.kind == "activation"]
    assert functions == ["leaky_relu", "elu", "sigmoid", "tanh", "hardswish", "hardsigmoid", "softplus", "relu6"]
    assert found["m1"].bias
    assert not found["m3"].bias


def test_operators_of_networks_of_today(tmp_path):
    """A gate, norms on maps that come last, layer scale, tokens with a learnt one before them, resizing; parameters by hand."""
    node = helper.make_node
    nodes = [
        node("ConvTranspose", ["x", "up"], ["a"], strides=[2, 2], output_padding=[1, 1], group=3),
        node("Resize", ["a", "", "", "sizes"], ["b"], mode="linear"),
        node("Resize", ["b", "", "twice"], ["c"]),
        node("GroupNormalization", ["c", "g6", "g6"], ["d"], num_groups=2),
        node("GlobalAveragePool", ["d"], ["mean"]),
        node("Mul", ["mean", "d"], ["e"]),
        node("Transpose", ["e"], ["last"], perm=[0, 2, 3, 1]),
        node("LayerNormalization", ["last", "g6", "g6"], ["f"], axis=-1),
        node("MatMul", ["f", "w"], ["g"]),
        node("Add", ["g", "b4"], ["h"]),
        node("Transpose", ["h"], ["first"], perm=[0, 3, 1, 2]),
        node("Mul", ["scale", "first"], ["i"]),
        node("Reshape", ["i", "three"], ["j"]),
        node("Transpose", ["j"], ["k"], perm=[0, 2, 1]),
        node("Concat", ["token", "k"], ["l"], axis=1),
        node("Add", ["l", "place"], ["m"]),
        node("Gather", ["m", "zero"], ["y"], axis=1),
    ]
    initializers = [
        weights("up", 3, 2, 3, 3),
        constant("sizes", [1, 6, 5, 4]),
        constant("twice", [1, 1, 2, 2], np.float32),
        weights("g6", 6),
        weights("w", 6, 4),
        weights("b4", 4),
        weights("scale", 4, 1, 1),
        constant("three", [0, 4, -1]),
        weights("token", 1, 1, 4),
        weights("place", 1, 81, 4),
        constant("zero", 0),
    ]
    found = from_onnx(saved(tmp_path, nodes, initializers, "y"))
    kinds = ["transposed_conv", "resize", "resize", "group_norm", "pool", "multiply", "layer_norm", "conv", "layer_scale"]
    assert [layer.kind for layer in found.layers] == [*kinds, "tokens", "class_token", "position_embedding", "select_token"]
    assert found.n_params == 3 * 2 * 9 + 12 + 12 + (24 + 4) + 4 + 4 + 81 * 4
    assert (found.shapes["a"], found.shapes["c"], found.shapes["l"]) == (Shape(6, 18, 18), Shape(6, 10, 8), Shape(4, 81, 1))


def test_words_are_looked_up(tmp_path):
    nodes = [helper.make_node("Gather", ["table", "x"], ["e"]), helper.make_node("ReduceMean", ["e"], ["y"], axes=[1], keepdims=0)]
    found = from_onnx(saved(tmp_path, nodes, [weights("table", 50, 8)], "y"), input_shape=(1, 7, 1))
    assert [layer.kind for layer in found.layers] == ["embedding", "pool"]
    assert (found.n_params, found.output_shape) == (400, Shape(8, 1, 1))


def test_a_mean_over_the_map_and_a_squeeze(tmp_path):
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["g"], axes=[-1, 2], keepdims=1),
        helper.make_node("Squeeze", ["g", "axes"], ["f"]),
        helper.make_node("Gemm", ["f", "w"], ["y"]),
    ]
    found = from_onnx(saved(tmp_path, nodes, [constant("axes", [2, 3]), weights("w", 3, 5)], "y"))
    assert [layer.kind for layer in found.layers] == ["pool", "flatten", "fc"]
    assert found.n_params == 15


def test_onnx_pools_step_by_one_unless_told(tmp_path):
    found = from_onnx(saved(tmp_path, [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3])], [], "y"))
    assert found.output_shape == Shape(3, 6, 6)


CONV = helper.make_node("Conv", ["x", "w"], ["c"])
W = weights("w", 4, 3, 3, 3)


@pytest.mark.parametrize(
    ("nodes", "initializers", "message"),
    [
        ([helper.make_node("Einsum", ["x"], ["y"], name="odd", equation="a")], [], "node 'odd': got the operation Einsum"),
        ([CONV, helper.make_node("Div", ["c", "c"], ["y"])], [W], "node 'y': got the operation Div"),
        ([helper.make_node("Concat", ["x", "x"], ["y"], axis=2)], [], "node 'y': got the operation Concat with {'axis': 2}"),
        ([helper.make_node("Clip", ["x"], ["y"])], [], "got outputs y, expected the last layer's only"),
        ([helper.make_node("Split", ["x"], ["y", "z"], axis=2)], [], "node 'y': got the operation Split with {'axis': 2}"),
        ([helper.make_node("Reshape", ["x", "s"], ["y"])], [constant("s", [-1, 64, 3])], "node 'y': got the operation Reshape"),
        ([helper.make_node("Flatten", ["x"], ["y"], axis=2)], [], "node 'y': got the operation Flatten"),
        (
            [helper.make_node("Add", ["x", "b"], ["y"])],
            [constant("b", [1.0, 2.0, 3.0], np.float32)],
            "node 'y': got the operation Add",
        ),
        ([helper.make_node("MatMul", ["w", "x"], ["y"])], [weights("w", 3, 3)], "node 'y': got the operation MatMul"),
        ([helper.make_node("Conv", ["x", "w"], ["y"], pads=[0, 0, 1, 1])], [W], r"got pads \[0, 0, 1, 1\], expected the same"),
        (
            [helper.make_node("Pad", ["x", "pads"], ["p"]), helper.make_node("Relu", ["p"], ["y"])],
            [constant("pads", [0, 0, 1, 1, 0, 0, 1, 1])],
            r"got padding \[1, 1, 1, 1\] read by another kind of layer, expected a convolution or pool",
        ),
        ([helper.make_node("Pad", ["x", "pads"], ["y"])], [constant("pads", [0, 1, 0, 0, 0, 0, 0, 0])], "got the operation Pad"),
        ([helper.make_node("Conv", ["x", "w"], ["y"])], [weights("w", 4, 2, 3, 3)], "got 3 maps, expected 2 as the weights say"),
        ([helper.make_node("Conv", ["x", "w"], ["y"])], [weights("w", 4, 3, 3)], "node 'y': got the operation Conv"),
        ([helper.make_node("Gemm", ["x", "w"], ["y"])], [weights("w", 9, 5)], "got 192 elements, expected 9"),
        ([CONV, helper.make_node("Relu", ["x"], ["y"])], [W], "layer 'c': got an output that no layer reads"),
    ],
)
def test_what_has_no_layer_is_named(nodes, initializers, message, tmp_path):
    with pytest.raises(DataError, match=message):
        from_onnx(saved(tmp_path, nodes, initializers, "y"))


def test_weights_that_two_nodes_share_are_not_counted_twice(tmp_path):
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["y"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["y", "w", "b"], ["z"], name="second", pads=[1, 1, 1, 1]),
    ]
    shared = [weights("w", 3, 3, 3, 3), weights("b", 3)]
    with pytest.raises(DataError, match="got the weights 'w' in the nodes 'first' and 'second'"):
        from_onnx(saved(tmp_path, nodes, shared, "z"))
    # A vector may be stored once because its numbers are equal: each layer has its own.
    nodes[1].input[1] = "v"
    assert from_onnx(saved(tmp_path, nodes, [*shared, weights("v", 3, 3, 3, 3)], "z")).n_params == 2 * (81 + 3)


def test_open_sizes_can_be_given(tmp_path):
    path = saved(tmp_path, [helper.make_node("Conv", ["x", "w"], ["y"])], [W], "y", ("batch", 3, "height", "width"))
    with pytest.raises(DataError, match="input_shape"):
        from_onnx(path)
    assert from_onnx(path, input_shape=(3, 12, 10)).output_shape == Shape(4, 10, 8)


def test_two_inputs_or_outputs_are_refused(tmp_path):
    path = saved(tmp_path, [CONV, helper.make_node("Relu", ["c"], ["y"])], [W], "c")
    with pytest.raises(DataError, match="got outputs c, expected the last layer's only"):
        from_onnx(path)
    model = onnx.load(str(path), load_external_data=False)
    model.graph.input.append(helper.make_tensor_value_info("z", FLOAT, (1, 3, 8, 8)))
    path.write_bytes(model.SerializeToString())
    with pytest.raises(DataError, match=r"got 2 inputs \(x, z\), expected one"):
        from_onnx(path)


@pytest.mark.parametrize("content", [b"not a model at all", None])
def test_a_file_that_is_no_model_is_named(content, tmp_path):
    path = tmp_path / "net.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        from_onnx(path)
    assert caught.value.place == str(path)


def test_without_onnx_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"mlperf-estimator\[onnx\]"):
        from_onnx(tmp_path / "net.onnx")


def test_exported_files_carry_no_numbers(tmp_path):
    """The oracle itself: 138 million parameters in a file of a few kilobytes."""
    assert math.log10(exported(load_cnn("vgg16"), tmp_path).stat().st_size) < 4.5


CLIP = [constant("low", 0.0, np.float32), constant("high", 6.0, np.float32)]


@pytest.mark.parametrize(
    ("node", "known"),
    [
        (helper.make_node("MaxPool", ["c"], ["y"]), []),
        (helper.make_node("MaxPool", ["c"], ["y"], kernel_shape=3), []),
        (helper.make_node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2], pads=[1]), []),
        (helper.make_node("Concat", ["c"], ["y"], axis=9), []),
        (helper.make_node("Concat", ["c"], ["y"]), []),
        (helper.make_node("Resize", ["c"], ["y"], mode=["linear"]), []),
        (helper.make_node("Relu", ["c"], []), []),
        (helper.make_node("Clip", ["c", "low", "high"], ["y"]), [TensorProto(name="low", data_type=99, dims=(1,)), CLIP[1]]),
        (helper.make_node("Clip", ["c", "low", "high"], ["y"]), [TensorProto(name="low", dims=(2**40, 2**40)), CLIP[1]]),
    ],
)
def test_a_node_that_breaks_the_format_s_promise_is_named(node, known, tmp_path):
    with pytest.raises(DataError, match=rf"network 'net', node .*\({node.op_type}\): is not what ONNX says") as caught:
        from_onnx(saved(tmp_path, [CONV, node], [W, *known], "y"))
    assert "onnx.checker" in caught.value.hint


def test_numbers_that_meet_every_element_are_passes(tmp_path):
    """The entry and the hard-swish of files that tf2onnx writes: what is learnt stays what it was."""
    node = helper.make_node
    nodes = [
        node("Mul", ["x", "per_grey"], ["a"]),
        node("Sub", ["a", "mean"], ["b"]),
        node("Div", ["b", "deviation"], ["c"]),
        node("Conv", ["c", "w"], ["d"]),
        node("Add", ["d", "three"], ["e"]),
        node("Clip", ["e", "low", "high"], ["f"]),
        node("Mul", ["sixth", "f"], ["g"]),
        node("Mul", ["d", "g"], ["h"]),
        node("Clip", ["h", "low"], ["y"]),
    ]
    numbers = {
        "per_grey": 1 / 255,
        "mean": np.ones((1, 3, 1, 1)),
        "deviation": np.ones((3, 1, 1)),
        "three": [3.0],
        "sixth": [1 / 6],
    }
    known = [constant(name, values, np.float32) for name, values in (numbers | {"low": 0.0, "high": 6.0}).items()]
    found = from_onnx(saved(tmp_path, nodes, [W, *known], "y"))
    functions = [layer.function if layer.kind == "activation" else layer.kind for layer in found.layers]
    entry = ["identity"] * 3
    assert functions == [*entry, "conv", "identity", "relu6", "identity", "multiply", "relu"]
    assert found.n_params == 4 * 27


def test_one_tensor_joined_is_that_tensor(tmp_path):
    """As the first layer of every dense block of DenseNet writes it."""
    found = from_onnx(saved(tmp_path, [helper.make_node("Concat", ["x"], ["c"], axis=1), CONV_OF_C], [W], "y"))
    assert [(layer.name, layer.inputs) for layer in found.layers] == [("y", ())]


CONV_OF_C = helper.make_node("Conv", ["c", "w"], ["y"])


def test_sizes_that_the_graph_computes_are_followed(tmp_path):
    """``x.view(x.size(0), -1)`` of a file whose batch is open, and a linear layer whose weights are transposed in the graph."""
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["sizes"]),
        node("Constant", [], ["zero"], value_int=0),
        node("Gather", ["sizes", "zero"], ["batch"], axis=0),
        node("Constant", [], ["axes"], value_ints=[0]),
        node("Unsqueeze", ["batch", "axes"], ["one"]),
        node("Constant", [], ["rest"], value_ints=[-1]),
        node("Concat", ["one", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["flat"]),
        node("Transpose", ["w"], ["v"], perm=[1, 0]),
        node("MatMul", ["flat", "v"], ["product"]),
        node("Add", ["b", "product"], ["y"]),
    ]
    found = from_onnx(saved(tmp_path, nodes, [weights("w", 5, 192), weights("b", 5)], "y"))
    assert [layer.kind for layer in found.layers] == ["flatten", "fc"]
    assert found.n_params == 5 * 193


def test_weights_shared_behind_a_transpose_are_noticed(tmp_path):
    node = helper.make_node
    nodes = [
        node("Flatten", ["x"], ["a"]),
        node("Gemm", ["a", "w"], ["b"], name="first", transB=1),
        node("Transpose", ["w"], ["v"], perm=[1, 0]),
        node("MatMul", ["b", "v"], ["y"], name="second"),
    ]
    with pytest.raises(DataError, match="got the weights 'w' in the nodes 'first' and 'second'"):
        from_onnx(saved(tmp_path, nodes, [weights("w", 192, 192)], "y"))
