"""Functions of several nodes, as exporters of torch write them at versions that have no operator for them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx.constants import known_tensors
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.importers.onnx.patterns import whole_functions

node = helper.make_node

GELU = [node("Div", ["x", "root"], ["a"]), node("Erf", ["a"], ["b"]), node("Add", ["b", "one"], ["c"])]
BEHIND = [*GELU, node("Mul", ["x", "c"], ["d"]), node("Mul", ["d", "half"], ["y"], name="last")]
BEFORE = [*GELU, node("Mul", ["x", "half"], ["d"]), node("Mul", ["d", "c"], ["y"], name="last")]


SIZES = {
    "root": (),
    "one": (),
    "two": (),
    "half": (),
    "three": (),
    "ones": (2,),
    "zeros": (2,),
    "scale": (8, 1, 1),
    "shift": (8, 1, 1),
    "groups": (3,),
}


def operators(nodes, *outputs):
    known = [numpy_helper.from_array(np.zeros(sizes, np.float32), name) for name, sizes in SIZES.items()]
    value = helper.make_tensor_value_info
    given = [value(name, TensorProto.FLOAT, (1, 3, 8, 8)) for name in ("x", *(outputs or ("y",)))]
    graph = helper.make_graph(nodes, "net", given[:1], given[1:], known)
    found = whole_functions(graph, known_tensors(graph))
    return [(each.op_type, list(each.input), list(each.output), each.name) for each in found]


@pytest.mark.parametrize("nodes", [BEHIND, BEFORE])
def test_gelu_by_way_of_erf(nodes):
    assert operators(nodes) == [("Gelu", ["x"], ["y"], "last")]


SQUARE = [node("Pow", ["x", "two"], ["s"]), node("ReduceMean", ["s"], ["m"], axes=[-1]), node("Add", ["m", "one"], ["e"])]


@pytest.mark.parametrize(
    "behind",
    [
        [node("Sqrt", ["e"], ["r"]), node("Div", ["x", "r"], ["n"])],
        [node("Sqrt", ["e"], ["r"]), node("Reciprocal", ["r"], ["i"]), node("Mul", ["x", "i"], ["n"])],
    ],
)
def test_a_norm_by_the_mean_square(behind):
    scaled = node("Mul", ["scale", "n"], ["y"], name="last")
    assert operators([*SQUARE, *behind, scaled]) == [("RMSNormalization", ["x", "scale"], ["y"], "last")]
    assert [name for name, *_ in operators([*SQUARE, *behind, node("Relu", ["m"], ["y"])], "n", "y")][:3] == [
        "Pow",
        "ReduceMean",
        "Add",
    ]


def test_the_response_of_each_map_to_the_mean_of_all():
    nodes = [node("ReduceMean", ["l"], ["m"], axes=[1]), node("Add", ["m", "one"], ["e"])]
    nodes = [node("ReduceL2", ["x"], ["l"], axes=[2, 3]), *nodes, node("Div", ["l", "e"], ["y"], name="last")]
    assert operators(nodes) == [("GlobalResponse", ["x"], ["y"], "last")]


@pytest.mark.parametrize(("gate", "whole"), [("Sigmoid", "Swish"), ("HardSigmoid", "HardSwish")])
def test_a_tensor_times_a_gate_of_itself(gate, whole):
    nodes = [node(gate, ["x"], ["s"]), node("Mul", ["s", "x"], ["y"], name="last")]
    assert operators(nodes) == [(whole, ["x"], ["y"], "last")]


def test_what_another_node_reads_stays():
    gate = [node("Sigmoid", ["x"], ["s"]), node("Mul", ["x", "s"], ["y"])]
    assert [name for name, *_ in operators([*gate, node("Relu", ["s"], ["z"])], "y", "z")] == ["Sigmoid", "Mul", "Relu"]
    assert [name for name, *_ in operators(gate, "y", "s")] == ["Sigmoid", "Mul"]
    assert len(operators([*BEHIND, node("Relu", ["c"], ["z"])], "y", "z")) == 6


def test_the_gate_of_another_tensor_stays():
    """As in squeeze-and-excitation."""
    nodes = [node("GlobalAveragePool", ["x"], ["g"]), node("Sigmoid", ["g"], ["s"]), node("Mul", ["x", "s"], ["y"])]
    assert [name for name, *_ in operators(nodes)] == ["GlobalAveragePool", "Sigmoid", "Mul"]


OF_PARTS = [
    node("Reshape", ["x", "groups"], ["a"]),
    node("InstanceNormalization", ["a", "ones", "zeros"], ["b"]),
    node("Shape", ["x"], ["s"]),
    node("Reshape", ["b", "s"], ["c"]),
]
OF_GROUPS = [node("GroupNormalization", ["x", "ones", "zeros"], ["c"], num_groups=2)]
LEARNT = [node("Mul", ["c", "scale"], ["d"]), node("Add", ["shift", "d"], ["y"], name="last")]


@pytest.mark.parametrize("core", [OF_PARTS, OF_GROUPS])
def test_a_norm_of_groups_with_numbers_of_each_map_behind_it(core):
    found = [each for each in operators([*core, *LEARNT]) if each[0] != "Shape"]
    assert found == [("GroupNormalization", ["x", "scale", "shift"], ["y"], "last")]


def test_a_norm_of_groups_without_learnt_numbers():
    found = [each for each in operators([*OF_PARTS, node("Relu", ["c"], ["y"])]) if each[0] != "Shape"]
    assert [(name, inputs) for name, inputs, *_ in found] == [("GroupNormalization", ["x"]), ("Relu", ["c"])]


def test_a_norm_that_has_numbers_of_its_own_for_each_map_stays():
    whole = node("GroupNormalization", ["x", "scale", "shift"], ["c"], num_groups=2)
    assert [name for name, *_ in operators([whole, *LEARNT])] == ["GroupNormalization", "Mul", "Add"]
    alone = node("InstanceNormalization", ["x", "ones", "zeros"], ["c"])
    assert [name for name, *_ in operators([alone, *LEARNT])] == ["InstanceNormalization", "Mul", "Add"]


def norm_of_layers(axis=-1, base="centre", square=("Pow", "two")):
    operator, other = square
    nodes = [
        node("ReduceMean", ["x"], ["mean"], axes=[axis]),
        node("Sub", ["x", "mean"], ["centre"]),
        node("Sub", ["x", "mean"], ["again"]),
        node(operator, [base, other], ["squares"]),
        node("ReduceMean", ["squares"], ["variance"], axes=[axis]),
        node("Add", ["variance", "one"], ["total"]),
        node("Sqrt", ["total"], ["root"]),
        node("Div", ["centre", "root"], ["c"], name="quotient"),
    ]
    return nodes if base == "again" else [nodes[0], nodes[1], *nodes[3:]]


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize(("base", "square"), [("centre", ("Pow", "two")), ("again", ("Mul", "again"))])
def test_a_norm_of_layers_written_out(axis, base, square):
    found = operators([*norm_of_layers(axis, base, square), *LEARNT])
    assert found == [("LayerNormalization", ["x", "scale", "shift"], ["y"], "last")]


def test_a_norm_of_layers_without_learnt_numbers_and_with_a_scale_alone():
    found = operators([*norm_of_layers(), LEARNT[0]], "d")
    assert found == [("LayerNormalization", ["x"], ["c"], "quotient"), ("Mul", ["c", "scale"], ["d"], "")]


@pytest.mark.parametrize(
    "changed",
    [
        {1: node("Sub", ["mean", "x"], ["centre"])},
        {2: node("Mul", ["centre", "x"], ["squares"])},
        {3: node("ReduceMean", ["squares"], ["variance"], axes=[1])},
        {6: node("Div", ["x", "root"], ["c"])},
    ],
)
def test_what_resembles_a_norm_of_layers_stays(changed):
    nodes = [changed.get(place, each) for place, each in enumerate(norm_of_layers())]
    assert len(operators([*nodes, *LEARNT])) == len([*nodes, *LEARNT])


def test_a_norm_of_layers_whose_mean_is_read_again_stays():
    nodes = [*norm_of_layers(), *LEARNT, node("Relu", ["mean"], ["z"])]
    assert len(operators(nodes, "y", "z")) == len(nodes)


TANGENT = [
    node("Pow", ["x", "three"], ["cube"]),
    node("Mul", ["cube", "half"], ["small"]),
    node("Add", ["x", "small"], ["sum"]),
    node("Mul", ["sum", "root"], ["a"]),
    node("Tanh", ["a"], ["b"]),
    node("Add", ["b", "one"], ["c"]),
]


@pytest.mark.parametrize("ends", [BEHIND[3:], BEFORE[3:]])
def test_gelu_by_way_of_a_tangent(ends):
    assert operators([*TANGENT, *ends]) == [("Gelu", ["x"], ["y"], "last")]


def test_a_tangent_of_another_tensor_stays():
    nodes = [node("Relu", ["x"], ["other"]), node("Pow", ["other", "three"], ["cube"]), *TANGENT[1:], *BEHIND[3:]]
    assert len(operators(nodes)) == len(nodes)


def test_mish_by_way_of_softplus():
    nodes = [node("Softplus", ["x"], ["a"]), node("Tanh", ["a"], ["b"]), node("Mul", ["x", "b"], ["y"], name="last")]
    assert operators(nodes) == [("Mish", ["x"], ["y"], "last")]


def test_a_product_with_drawn_numbers():
    """As torchvision writes stochastic depth."""
    drawn = [node("RandomUniformLike", ["one"], ["a"]), node("Less", ["a", "half"], ["b"]), node("Cast", ["b"], ["c"], to=1)]
    found = operators([*drawn, node("Mul", ["c", "root"], ["d"]), node("Mul", ["x", "d"], ["y"], name="last")])
    assert found[-1] == ("StochasticDepth", ["x", "d"], ["y"], "last")
    assert [each[0] for each in found[:-1]] == ["RandomUniformLike", "Less", "Cast", "Mul"]


def with_sizes(tmp_path, nodes, known, end, dims):
    """A network whose file tells the sizes of the tensor that the input, copied by a ReLU, is."""
    value = helper.make_tensor_value_info
    ends = [value("x", TensorProto.FLOAT, dims), value(end, TensorProto.FLOAT, None)]
    nodes = [helper.make_node("Relu", ["x"], ["r"]), *nodes]
    tensors = [numpy_helper.from_array(np.asarray(values), name) for name, values in known.items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], tensors, value_info=[value("r", TensorProto.FLOAT, dims)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    return from_onnx(tmp_path / "net.onnx")


def test_a_roll_whose_slices_end_at_the_size_itself_is_a_copy(tmp_path):
    nodes = [
        helper.make_node("Slice", ["r", "zero", "two", "axis"], ["head"]),
        helper.make_node("Slice", ["r", "two", "six", "axis"], ["tail"]),
        helper.make_node("Concat", ["tail", "head"], ["y"], axis=2),
    ]
    found = with_sizes(tmp_path, nodes, {"zero": [0], "two": [2], "six": [6], "axis": [2]}, "y", (1, 3, 6, 6))
    assert [layer.kind for layer in found.layers] == ["activation", "part"]
    with pytest.raises(DataError, match="Slice"):
        with_sizes(tmp_path, nodes, {"zero": [0], "two": [2], "six": [6], "axis": [2]}, "y", (1, 3, 8, 6))


def test_all_numbers_gathered_as_they_stand_are_the_tensor(tmp_path):
    nodes = [
        helper.make_node("Reshape", ["r", "row"], ["flat"]),
        helper.make_node("Gather", ["flat", "places"], ["same"], axis=0),
        helper.make_node("Sigmoid", ["same"], ["y"]),
    ]
    places = np.arange(12).reshape(1, 3, 2, 2)
    found = with_sizes(tmp_path, nodes, {"row": [-1], "places": places}, "y", (1, 3, 2, 2))
    assert [layer.kind for layer in found.layers] == ["activation", "activation"]
    with pytest.raises(DataError):
        with_sizes(tmp_path, nodes, {"row": [-1], "places": places[..., ::-1].copy()}, "y", (1, 3, 2, 2))
