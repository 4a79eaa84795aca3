"""Functions of several nodes, as exporters of torch write them at versions that have no operator for them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlperf.specs.importers.onnx_constants import known_tensors
from mlperf.specs.importers.onnx_patterns import whole_functions

node = helper.make_node

GELU = [node("Div", ["x", "root"], ["a"]), node("Erf", ["a"], ["b"]), node("Add", ["b", "one"], ["c"])]
BEHIND = [*GELU, node("Mul", ["x", "c"], ["d"]), node("Mul", ["d", "half"], ["y"], name="last")]
BEFORE = [*GELU, node("Mul", ["x", "half"], ["d"]), node("Mul", ["d", "c"], ["y"], name="last")]


SIZES = {"root": (), "one": (), "half": (), "ones": (2,), "zeros": (2,), "scale": (8, 1, 1), "shift": (8, 1, 1), "groups": (3,)}


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
