"""Activation functions of several nodes, as exporters of torch write them at versions that have no operator for them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlperf.specs.importers.onnx_constants import known_tensors
from mlperf.specs.importers.onnx_patterns import whole_activations

node = helper.make_node

GELU = [node("Div", ["x", "root"], ["a"]), node("Erf", ["a"], ["b"]), node("Add", ["b", "one"], ["c"])]
BEHIND = [*GELU, node("Mul", ["x", "c"], ["d"]), node("Mul", ["d", "half"], ["y"], name="last")]
BEFORE = [*GELU, node("Mul", ["x", "half"], ["d"]), node("Mul", ["d", "c"], ["y"], name="last")]


def operators(nodes, *outputs):
    known = [numpy_helper.from_array(np.float32(number), name) for name, number in {"root": 1.4, "one": 1, "half": 0.5}.items()]
    value = helper.make_tensor_value_info
    given = [value(name, TensorProto.FLOAT, (1, 3, 8, 8)) for name in ("x", *(outputs or ("y",)))]
    graph = helper.make_graph(nodes, "net", given[:1], given[1:], known)
    found = whole_activations(graph, known_tensors(graph))
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
