"""What exporters write as several nodes: SiLU and hard-swish as a gate, GELU by way of erf, norms of groups by way of others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

GATES = {"Sigmoid": "Swish", "HardSigmoid": "HardSwish"}
"""What a tensor times this function of itself is."""
PARTS_OF_NORMS = ("GroupNormalization", "InstanceNormalization")
"""Operators that may be the core of a norm of groups."""

Found = tuple[list[Any], Any, str, list[str], dict[str, int]]
"""Nodes that fall away, the node that writes the result; the operator that stands for all, what it reads, its attributes."""


def whole_functions(graph: Any, constants: Mapping[str, Any]) -> list[Any]:
    """Nodes of a graph, with one node for every such function; the other nodes of the function fall away."""
    from onnx import helper

    links = _Links(graph, constants)
    gone: set[int] = set()
    instead: dict[int, Any] = {}
    for node in graph.node:
        for inner, last, operator, inputs, attributes in (*_gate(links, node), *_gelu(links, node), *_group_norm(links, node)):
            gone |= {id(each) for each in inner}
            instead[id(last)] = helper.make_node(operator, inputs, list(last.output), name=last.name, **attributes)
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

    def sizes(self, name: str) -> list[int]:
        """Sizes of a constant along which it varies."""
        return [size for size in self.constants[name].dims if size > 1]

    def is_filled(self, name: str, number: float) -> bool:
        """Whether a constant is known to hold that number alone."""
        tensor = self.constants.get(name)
        if tensor is None or tensor.data_location:
            return False
        from onnx.numpy_helper import to_array

        return bool((to_array(tensor) == number).all())

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
        yield [node], product, GATES[node.op_type], [node.input[0]], {}


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
            yield [*inner, product], half, "Gelu", [source], {}
    elif links.beside_constant(links.writer.get(other), "Mul") == source and len(links.readers[other]) == 1:
        yield [*inner, links.writer[other]], product, "Gelu", [source], {}


def _group_norm(links: _Links, node: Any) -> Iterator[Found]:
    """A norm of groups, of which opset 18 knows no scale of each map: the product with one and the sum with a shift stand behind.

    Before that opset, maps are reshaped into groups, normalised each for itself, and reshaped back. Groups of one map need no
    reshape: their scale of ones and shift of zeros are not learnt where others stand behind.
    """
    scale = links.constants.get(node.input[1]) if node.op_type in PARTS_OF_NORMS and len(node.input) == 3 else None
    groups = [each.i for each in node.attribute if each.name == "num_groups"]
    if scale is None or len(scale.dims) != 1 or scale.dims[0] not in (groups or scale.dims):
        return
    inner, last, source = [node], node, node.input[0]
    if not groups:
        before, after = links.writer.get(source), links.only_reader(node, "Reshape")
        is_wrapped = before is not None and before.op_type == "Reshape" and links.only_reader(before, node.op_type) is not None
        if is_wrapped and before is not None and after is not None:
            inner, last, source = [before, node, after], after, before.input[0]
        elif not links.is_filled(node.input[1], 1.0) or not links.is_filled(node.input[2], 0.0):
            return
    learnt: list[str] = []
    product = links.only_reader(last, "Mul")
    total = links.only_reader(product, "Add") if links.beside_constant(product, "Mul") else None
    if total is not None and links.beside_constant(total, "Add"):
        learnt = [name for each in (product, total) for name in each.input if name in links.constants]
        sizes = [links.sizes(name) for name in learnt]
        if (
            sizes[0] == sizes[1]
            and len(sizes[0]) == 1
            and sizes[0] != groups
            and (last is not node or groups or sizes[0] == list(scale.dims))
        ):
            inner, last = [*inner, product], total
        else:
            learnt = []
    if last is not node:
        gone = [each for each in inner if each is not last]
        yield gone, last, "GroupNormalization", [source, *learnt], {"num_groups": scale.dims[0]}
