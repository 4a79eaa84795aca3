"""Operators that change nothing are no layers; parameters of others, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numbered_graph import GraphOfMaps
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import RESHAPES
from mlperf.specs.network.shape import Shape


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
        sliced([0], [4], [1], [2]),
        sliced([0], [32]),
        sliced([1], [2**63 - 1]),
        sliced([0], [3], [2]),
        sliced([3], [3], [1]),
        sliced([0], [3], [3], opset_10=False),
    ],
)
def test_some_samples_rows_or_every_second_map_have_no_layer(node, known, tmp_path):
    with pytest.raises(DataError, match="node 's': got the operation Slice"):
        read(node, known, tmp_path)


def read_whole(nodes, sizes, tmp_path, *, opset=17, functions=(), opsets=()) -> CnnSpec:
    """A graph from x, three maps of 8 x 8, to y; of weights only the sizes matter."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ("b", 3, 8, 8)), ("y", None))]
    weights = [numpy_helper.from_array(np.ones(dims, np.float32), name) for name, dims in sizes.items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *opsets], functions=functions)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    return from_onnx(tmp_path / "net.onnx")


FLATTEN = helper.make_node("Flatten", ["x"], ["f"])


@pytest.mark.parametrize(
    ("attributes", "bias", "n_params"),
    [
        ({}, (5,), 965),
        ({"alpha": 0.5, "beta": 2.0}, (1, 5), 965),
        ({"beta": 0.0}, (5,), 960),
        ({"beta": 0.0}, (1,), 960),
    ],
)
def test_what_a_gemm_adds_is_learnt_unless_it_is_times_nothing(attributes, bias, n_params, tmp_path):
    gemm = helper.make_node("Gemm", ["f", "w", "b"], ["y"], **attributes)
    assert read_whole([FLATTEN, gemm], {"w": (192, 5), "b": bias}, tmp_path).n_params == n_params


def test_a_gemm_that_adds_one_number_or_a_tensor_has_no_layer(tmp_path):
    gemm = helper.make_node("Gemm", ["f", "w", "b"], ["y"])
    with pytest.raises(DataError, match="node 'y': got the operation Gemm"):
        read_whole([FLATTEN, gemm], {"w": (192, 5), "b": (1,)}, tmp_path)
    with pytest.raises(DataError, match="node 'y': got the operation Gemm"):
        read_whole([FLATTEN, helper.make_node("Gemm", ["f", "w", "f"], ["y"])], {"w": (192, 192)}, tmp_path)


def test_a_norm_of_groups_has_numbers_for_each_map(tmp_path):
    nodes = [CONV, helper.make_node("GroupNormalization", ["c", "s", "s"], ["y"], num_groups=2)]
    assert read_whole(nodes, {"w": (8, 3, 3, 3), "s": (8,)}, tmp_path, opset=21).n_params == 216 + 16
    with pytest.raises(DataError, match=r"got the operation GroupNormalization with \{'num_groups': 2\}"):
        read_whole(nodes, {"w": (8, 3, 3, 3), "s": (2,)}, tmp_path, opset=18)


def test_a_batch_norm_over_tokens_is_not_one_over_their_numbers(tmp_path):
    norm = helper.make_node("BatchNormalization", ["t", "s", "s", "s", "s"], ["y"])
    nodes = [CONV, helper.make_node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]), norm]
    with pytest.raises(DataError, match="got the operation BatchNormalization"):
        read_whole(nodes, {"w": (8, 3, 3, 3), "s": (6,)}, tmp_path)


CONV = helper.make_node("Conv", ["x", "w"], ["c"])
OWN = helper.make_opsetid("ours", 1)


def test_an_operator_of_another_domain_is_not_taken_for_one_of_the_same_name(tmp_path):
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], domain="ours")]
    with pytest.raises(DataError, match=r"node 'y': got the operation ours\.Conv"):
        read_whole(nodes, {"w": (8, 3, 3, 3)}, tmp_path, opsets=[OWN])


def test_functions_of_the_file_itself_are_read_through(tmp_path):
    inside = [helper.make_node("Conv", ["a", "v"], ["d"]), helper.make_node("Relu", ["d"], ["e"])]
    block = helper.make_function("ours", "Conv", ["a", "v"], ["e"], inside, [helper.make_opsetid("", 17)])
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], domain="ours"), helper.make_node("Conv", ["c", "u"], ["y"], domain="ours")]
    found = read_whole(nodes, {"w": (8, 3, 3, 3), "u": (4, 8, 1, 1)}, tmp_path, functions=[block], opsets=[OWN])
    assert [layer.kind for layer in found.layers] == ["conv", "activation"] * 2
    assert found.n_params == 216 + 32


@pytest.mark.parametrize(("dims", "n_slopes"), [((1,), 1), ((8, 1, 1), 8), ((1, 8, 1, 1), 8)])
def test_learnt_slopes_are_parameters(dims, n_slopes, tmp_path):
    found = read_whole([CONV, helper.make_node("PRelu", ["c", "s"], ["y"])], {"w": (8, 3, 3, 3), "s": dims}, tmp_path)
    assert found.n_params == 216 + n_slopes
    assert found.layers[-1].n_slopes == n_slopes


@pytest.mark.parametrize("dims", [(6,), (8, 6, 6), (8, 1, 6)])
def test_slopes_that_differ_within_a_map_have_no_layer(dims, tmp_path):
    with pytest.raises(DataError, match="node 'y': got the operation PRelu"):
        read_whole([CONV, helper.make_node("PRelu", ["c", "s"], ["y"])], {"w": (8, 3, 3, 3), "s": dims}, tmp_path)


def test_a_second_bias_is_a_layer_of_its_own(tmp_path):
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"]),
        helper.make_node("Add", ["c", "d"], ["e"]),
        helper.make_node("Add", ["e", "d2"], ["y"]),
    ]
    found = read_whole(nodes, {"w": (8, 3, 3, 3), "b": (8,), "d": (8, 1, 1), "d2": (1, 8, 1, 1)}, tmp_path)
    assert [layer.kind for layer in found.layers] == ["conv", "layer_shift", "layer_shift"]
    assert found.n_params == 216 + 8 + 8 + 8


def test_numbers_along_a_row_are_no_bias_of_the_maps(tmp_path):
    """As many numbers as maps, but broadcast along the last dimension."""
    with pytest.raises(DataError, match="node 'y': got the operation Add"):
        read_whole([CONV, helper.make_node("Add", ["c", "b"], ["y"])], {"w": (6, 3, 3, 3), "b": (6,)}, tmp_path)


@pytest.mark.parametrize(("operator", "function"), [("Mish", "mish"), ("Selu", "elu"), ("Celu", "elu")])
def test_functions_of_later_opsets(operator, function, tmp_path):
    found = read_whole([CONV, helper.make_node(operator, ["c"], ["y"])], {"w": (8, 3, 3, 3)}, tmp_path, opset=18)
    assert found.layers[-1].function == function


@pytest.mark.parametrize(("inner", "n_params"), [("zeros", 16), ("ones", 32)])
def test_a_fixed_scale_before_a_learnt_one_is_no_parameter(inner, n_params, tmp_path):
    """Groups of one map, as newer exporters of torch write them; a shift that is not zero was learnt."""
    nodes = [
        CONV,
        helper.make_node("ConstantOfShape", ["eight"], ["zeros"]),
        helper.make_node("InstanceNormalization", ["c", "ones", inner], ["n"]),
        helper.make_node("Mul", ["n", "scale"], ["m"]),
        helper.make_node("Add", ["m", "shift"], ["y"]),
    ]
    nodes[1:1] = [helper.make_node("Constant", [], ["eight"], value=constant("", [8]))]
    sizes = {"w": (8, 3, 3, 3), "ones": (8,), "scale": (8, 1, 1), "shift": (8, 1, 1)}
    assert read_whole(nodes, sizes, tmp_path).n_params == 216 + n_params


def learnt(name, *sizes):
    return numpy_helper.from_array(np.zeros(sizes, np.float32), name)


@pytest.mark.parametrize(
    ("sizes", "kinds"), [((2, 1, 1, 1), ["conv", "activation"]), ((1, 4, 6, 6), ["conv", "dropout", "activation"])]
)
def test_drawn_numbers_of_samples_are_stochastic_depth_and_those_of_elements_dropout(sizes, kinds, tmp_path):
    node = helper.make_node("StochasticDepth", ["c", "drawn"], ["s"])
    assert [layer.kind for layer in read(node, [learnt("drawn", *sizes)], tmp_path).layers] == kinds


def test_drawn_numbers_of_maps_have_no_layer(tmp_path):
    with pytest.raises(DataError, match="StochasticDepth"):
        read(helper.make_node("StochasticDepth", ["c", "drawn"], ["s"]), [learnt("drawn", 1, 4, 1, 1)], tmp_path)


def normalised(tmp_path, *inputs, **attributes):
    """A norm over the four maps of 6 x 6: where these stand second, ``axes`` name them."""
    known = [learnt(name, 4) for name in inputs]
    found = read(helper.make_node("LayerNormalization", ["c", *inputs], ["s"], **attributes), known, tmp_path)
    return [(layer.kind, layer.bias) for layer in found.layers[1:-1]], found.n_params - 4 * 3 * 9


def test_a_norm_of_layers_learns_both_nothing_or_a_scale(tmp_path):
    assert normalised(tmp_path, "scale", "shift", axes=[1]) == ([("layer_norm", True)], 8)
    assert normalised(tmp_path, axes=[1]) == ([("layer_norm", False)], 0)
    norm = helper.make_node("LayerNormalization", ["c", "scale"], ["s"], axes=[1])
    found = read(norm, [learnt("scale", 4, 1, 1)], tmp_path)
    assert [layer.kind for layer in found.layers[1:-1]] == ["layer_norm", "layer_scale"]
    assert found.n_params == 4 * 3 * 9 + 4


@pytest.mark.parametrize("attributes", [{"axis": 1}, {"axis": -1}, {"axes": [2, 3]}, {"axes": [1, 2]}])
def test_a_norm_over_other_dimensions_has_no_layer(attributes, tmp_path):
    with pytest.raises(DataError, match="LayerNormalization"):
        normalised(tmp_path, "scale", "shift", **attributes)


@pytest.mark.parametrize(
    ("low", "high", "function"), [("-1", "1", "relu6"), ("", "1", "relu"), ("1", "", "relu"), ("0", "6", "relu6")]
)
def test_bounds_are_as_many_comparisons_as_they_are(low, high, function, tmp_path):
    known = [numpy_helper.from_array(np.float32(number), number) for number in {low, high} - {""}]
    found = read(helper.make_node("Clip", ["c", low, high], ["s"]), known, tmp_path)
    assert [layer.function for layer in found.layers[1:]] == [function, "relu"]


@pytest.mark.parametrize(("ratio", "kinds"), [(0.0, []), (0.1, ["dropout"])])
def test_dropout_of_nothing_is_no_layer(ratio, kinds, tmp_path):
    """Vision transformers of torchvision have it everywhere."""
    known = [numpy_helper.from_array(np.float32(ratio), "ratio"), numpy_helper.from_array(np.bool_(True), "training")]
    found = read(helper.make_node("Dropout", ["c", "ratio", "training"], ["s"]), known, tmp_path)
    assert [layer.kind for layer in found.layers[1:-1]] == kinds


def test_a_maximum_over_all_places(tmp_path):
    found = read(helper.make_node("ReduceMax", ["c"], ["s"], axes=[2, 3], keepdims=1), [], tmp_path)
    assert [(layer.kind, layer.mode, layer.output_size) for layer in found.layers[1:-1]] == [("pool", "max", (1, 1))]
    with pytest.raises(DataError, match="ReduceMax"):
        read(helper.make_node("ReduceMax", ["c"], ["s"], axes=[1]), [], tmp_path)


@pytest.mark.parametrize("operator", ["Max", "Min"])
def test_one_bound_is_one_comparison(operator, tmp_path):
    """As TensorFlow's ReLU6 comes: a ReLU, and the smaller of that and 6."""
    found = read(helper.make_node(operator, ["six", "c"], ["s"]), [numpy_helper.from_array(np.float32(6), "six")], tmp_path)
    assert [layer.function for layer in found.layers[1:]] == ["relu", "relu"]
    with pytest.raises(DataError, match=operator):
        read(helper.make_node(operator, ["many", "c"], ["s"]), [learnt("many", 4, 1, 1)], tmp_path)


BRANCH = helper.make_graph([helper.make_node("Relu", ["c"], ["r"])], "branch", [], [])


@pytest.mark.parametrize(
    ("node", "hint"),
    [
        (helper.make_node("QuantizeLinear", ["c", "zero"], ["s"]), "in floating point"),
        (helper.make_node("If", ["zero"], ["s"], then_branch=BRANCH, else_branch=BRANCH), "traced, with sizes that are fixed"),
    ],
)
def test_what_to_do_about_what_never_has_a_layer(node, hint, tmp_path):
    with pytest.raises(DataError, match=hint):
        read(node, [learnt("zero")], tmp_path)


def test_a_refused_slice_says_which(tmp_path):
    node, known = sliced([1], [3], [2])
    with pytest.raises(DataError, match=r"got the operation Slice by \[1\], \[3\], \[2\], expected"):
        read(node, known, tmp_path)


def test_a_response_norm_of_maps(tmp_path):
    """As ConvNeXt V2 has it: lengths of maps by their mean, times the maps, a scale and a shift, and the maps themselves."""
    nodes = [
        helper.make_node("ReduceL2", ["x"], ["l"], axes=[2, 3]),
        helper.make_node("ReduceMean", ["l"], ["m"], axes=[1]),
        helper.make_node("Add", ["m", "small"], ["e"]),
        helper.make_node("Div", ["l", "e"], ["n"]),
        helper.make_node("Mul", ["x", "n"], ["p"]),
        helper.make_node("Mul", ["p", "scale"], ["s"]),
        helper.make_node("Add", ["s", "shift"], ["t"]),
        helper.make_node("Add", ["x", "t"], ["y"]),
    ]
    found = read_whole(nodes, {"small": (), "scale": (3, 1, 1), "shift": (3, 1, 1)}, tmp_path)
    assert [layer.kind for layer in found.layers] == ["pool", "layer_norm", "multiply", "layer_scale", "layer_shift", "add"]
    assert found.n_params == 6


def test_a_difference_of_tensors_and_a_power_are_passes(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Pow", ["r", "two"], ["p"])]
    found = read_whole([*nodes, helper.make_node("Sub", ["p", "x"], ["y"])], {"two": ()}, tmp_path)
    assert [(layer.kind, layer.function) for layer in found.layers] == [
        ("activation", "relu"),
        ("activation", "identity"),
        ("add", "relu"),
    ]


def test_a_convolution_over_the_means_of_maps(tmp_path):
    """Efficient channel attention: the maps' means are a sequence of one map."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[2, 3], keepdims=0),
        helper.make_node("Reshape", ["m", "sizes"], ["s"]),
        helper.make_node("Conv", ["s", "w"], ["c"], pads=[1, 1]),
        helper.make_node("Reshape", ["c", "maps"], ["g"]),
        helper.make_node("Mul", ["x", "g"], ["y"]),
    ]
    known = [constant("sizes", [0, 1, -1]), constant("maps", [0, -1, 1, 1])]
    weights = numpy_helper.from_array(np.zeros((1, 1, 3), np.float32), "w")
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ("b", 3, 8, 8)), ("y", None))]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [weights, *known])
    path = tmp_path / "net.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    found = from_onnx(path)
    assert (found.n_params, found.n_macs) == (3, 9)


@pytest.mark.parametrize(("producer", "n_learnt"), [("pytorch", 2), ("tf2onnx", 0)])
def test_one_number_of_a_file_of_torch_is_learnt(producer, n_learnt, tmp_path):
    """The scale and the shift of HGNetV2's activations; plain numbers of other files look the same."""
    graph = GraphOfMaps((1, 3, 5, 4))
    scaled = graph.add("Mul", np.ones(1), graph.add("Relu", graph.conv("x", 6, 3)))
    found = graph.read(tmp_path, graph.add("Add", scaled, np.zeros(1)), producer)
    kinds = [layer.kind for layer in found.layers if layer.kind not in RESHAPES]
    assert kinds == ["conv", "activation", *(["layer_scale", "layer_shift"] if n_learnt else ["activation"] * 2)]
    assert (found.n_params, found.output_shape) == (18 + n_learnt, Shape(6, 5, 4))


def test_one_number_added_to_one_map_is_a_bias(tmp_path):
    graph = GraphOfMaps((1, 3, 5, 4))
    found = graph.read(tmp_path, graph.add("Add", graph.conv("x", 1, 3), np.zeros(1)), "pytorch")
    assert [(layer.kind, layer.bias) for layer in found.layers] == [("conv", True)]


def test_an_embedding_that_layers_compute_from_constants_is_refused(tmp_path):
    """XCiT and EdgeNeXt: a learnt convolution of sines and cosines of the places, which are fewer numbers than the embedding's."""
    graph = GraphOfMaps((1, 3, 5, 4))
    embedding = graph.add("Conv", np.zeros((1, 2, 5, 4)), np.zeros((3, 2, 1, 1)), np.zeros(3))
    with pytest.raises(DataError, match="the operation Add of 60 numbers computed from k1, k2") as caught:
        graph.read(tmp_path, graph.add("Add", "x", embedding))
    assert "learns its numbers themselves" in str(caught.value)


def test_one_number_of_each_token_as_a_vector_of_length_one(tmp_path):
    """Additive attention of SwiftFormer: what each token weighs, its queries weighed and summed, times its keys."""
    graph, n_tokens, n_maps = GraphOfMaps((1, 6, 8)), 6, 8
    queries, keys = (graph.linear("x", n_maps, n_maps) for _ in range(2))
    weights = graph.add("MatMul", queries, np.zeros((n_maps, 1)))
    length = graph.add("Clip", graph.add("ReduceL2", weights, axes=[1]), 1e-12)
    weights = graph.add("Div", weights, graph.add("Expand", length, [1, n_tokens, 1]))
    whole = graph.add("ReduceSum", graph.add("Mul", weights, queries), [1], keepdims=1)
    found = graph.read(tmp_path, graph.add("Mul", whole, keys))
    kinds = [layer.kind for layer in found.layers if layer.kind not in RESHAPES]
    assert kinds == ["conv", "conv", "conv", "layer_norm", "multiply", "pool", "multiply"]
    norm = next(layer.name for layer in found.layers if layer.kind == "layer_norm")
    assert (found.shapes[norm], found.output_shape) == (Shape(n_tokens, 1, 1), Shape(n_maps, n_tokens, 1))
    assert (found.n_params, found.n_macs) == (2 * n_maps * 9 + n_maps, n_tokens * (2 * n_maps**2 + n_maps))
