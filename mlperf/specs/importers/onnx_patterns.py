"""Activation functions that exporters write as several nodes: SiLU and hard-swish as a gate, GELU by way of erf."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

GATES = {"Sigmoid": "Swish", "HardSigmoid": "HardSwish"}
"""What a tensor times this function of itself is."""

Found = tuple[list[Any], Any, str, str]
"""Nodes that fall away, the node that writes the result, the operator that stands for all, the tensor that it reads."""


def whole_activations(graph: Any, constants: Mapping[str, Any]) -> list[Any]:
    """Nodes of a graph, with one node for every such function; the other nodes of the function fall away."""
    from onnx import helper

    links = _Links(graph, constants)
    gone: set[int] = set()
    instead: dict[int, Any] = {}
    for node in graph.node:
        for inner, last, operator, source in (*_gate(links, node), *_gelu(links, node)):
            gone |= {id(each) for each in inner}
            instead[id(last)] = helper.make_node(operator, [source], list(last.output), name=last.name)
    return [instead.get(id(node), node) for node in graph.node if id(node) not in gone]


class _Links:
    """Who writes and who reads a tensor."""

    def __init__(self, graph: Any, constants: Mapping[str, Any]) -> None:
        self.constants = constants
        self.nodes = list(graph.node)
        self.writer = {name: node for node in self.nodes for name in node.output}
        self.readers: dict[str, list[Any]] = defaultdict(list)
        for node in self.nodes:
            for name in node.input:
                self.readers[name].append(node)
        for output in graph.output:
            self.readers[output.name].append(None)

    def only_reader(self, node: Any, operator: str) -> Any:
        """The node that alone reads what ``node`` writes, if it is such an operator; else None."""
        readers = self.readers[node.output[0]]
        return readers[0] if len(readers) == 1 and readers[0] is not None and readers[0].op_type == operator else None

    def beside_constant(self, node: Any, *operators: str) -> str:
        """The tensor that meets a constant in ``node``, if it is such an operator; else nothing."""
        if node is None or node.op_type not in operators or len(node.input) != 2:
            return ""
        tensors = [name for name in node.input if name not in self.constants]
        return str(tensors[0]) if len(tensors) == 1 else ""


def _gate(links: _Links, node: Any) -> Iterator[Found]:
    product = links.only_reader(node, "Mul") if node.op_type in GATES else None
    if product is not None and sorted(product.input) == sorted((node.input[0], node.output[0])):
        yield [node], product, GATES[node.op_type], node.input[0]


def _gelu(links: _Links, node: Any) -> Iterator[Found]:
    """``x (1 + erf(x / sqrt 2)) / 2``, with the half before or behind."""
    if node.op_type != "Erf":
        return
    scaled = links.writer.get(node.input[0])
    source, plus_one = links.beside_constant(scaled, "Div", "Mul"), links.only_reader(node, "Add")
    if not source or not links.beside_constant(plus_one, "Add") or links.only_reader(scaled, "Erf") is None:
        return
    product = links.only_reader(plus_one, "Mul")
    if product is None:
        return
    other = next((name for name in product.input if name != plus_one.output[0]), "")
    inner = [scaled, node, plus_one]
    if other == source:
        half = links.only_reader(product, "Mul")
        if links.beside_constant(half, "Mul"):
            yield [*inner, product], half, "Gelu", source
    elif links.beside_constant(links.writer.get(other), "Mul") == source and len(links.readers[other]) == 1:
        yield [*inner, links.writer[other]], product, "Gelu", source
