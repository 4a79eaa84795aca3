"""What exporters write as several nodes: gates such as SiLU, GELU, norms of layers and of groups, and stochastic depth."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

GATES = {"Sigmoid": "Swish", "HardSigmoid": "HardSwish"}
"""What a tensor times this function of itself is."""
RANDOM = ("RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike", "Bernoulli")
"""Operators that draw numbers."""
ARITHMETIC = ("Add", "Mul", "Div", "Pow")
"""What the argument of a GELU's error function or tangent is made of."""
OPEN_END = 2**31 - 1
"""What exporters write for an end behind everything, at least."""
SWAPS = ("Slice", "Split", "Neg", "Unsqueeze", "Squeeze", "Concat", "Reshape", "Cast", "Shape", "Gather", "Add", "Mul", "Div")
"""What swaps the numbers of pairs is made of, sizes of reshapes included."""
PARTS_OF_NORMS = ("GroupNormalization", "InstanceNormalization")
"""Operators that may be the core of a norm of groups."""

Found = tuple[list[Any], Any, str, list[str], dict[str, Any]]
"""Nodes that fall away, the node that writes the result; the operator that stands for all, what it reads, its attributes."""


def whole_functions(graph: Any, constants: Mapping[str, Any]) -> list[Any]:
    """Nodes of a graph, with one node for every such function; the other nodes of the function fall away."""
    from onnx import helper

    links = _Links(graph, constants)
    gone: set[int] = set()
    instead: dict[int, Any] = {}
    for node in graph.node:
        for inner, last, operator, inputs, attributes in (found for pattern in PATTERNS for found in pattern(links, node)):
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
        self.dims = {each.name: [dim.dim_value for dim in each.type.tensor_type.shape.dim] for each in graph.value_info}
        for output in graph.output:
            self.readers[output.name].append(None)

    def sizes(self, name: str) -> list[int]:
        """Sizes of a constant along which it varies."""
        return [size for size in self.constants[name].dims if size > 1]

    def extent(self, name: str, axis: float) -> float:
        """How long a dimension is, where the file says so; else more than any is."""
        dims = self.dims.get(name, [])
        return dims[int(axis)] if not math.isnan(axis) and int(axis) < len(dims) and dims[int(axis)] else OPEN_END

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

    def written_by(self, name: str, *operators: str) -> Any:
        """The node that writes ``name``, if it is such an operator; else None."""
        node = self.writer.get(name)
        return node if node is not None and node.op_type in operators else None

    def is_closed(self, inner: Sequence[Any], last: Any) -> bool:
        """Whether nobody but these nodes reads what the inner ones write."""
        ours = {id(node) for node in (*inner, last)}
        return all(id(reader) in ours for node in inner for name in node.output for reader in self.readers[name])

    def arithmetic(self, name: str, source: str) -> list[Any]:
        """The nodes by which ``name`` follows from ``source`` and constants; none where it follows from anything else."""
        return self.made_of(name, source, ARITHMETIC)

    def made_of(self, name: str, source: str, operators: Sequence[str]) -> list[Any]:
        """As `arithmetic`, by other operators."""
        found: dict[int, Any] = {}
        waiting = [name]
        while waiting:
            tensor = waiting.pop()
            if tensor == source or tensor in self.constants:
                continue
            node = self.written_by(tensor, *operators)
            if node is None:
                return []
            if id(node) not in found:
                found[id(node)] = node
                waiting += node.input
        return list(found.values())

    def slice_of(self, node: Any) -> tuple[float, float, float]:
        """Begin, end and dimension of a Slice along one; of another no numbers."""
        from onnx.numpy_helper import to_array

        given = [self.constants.get(name) for name in node.input[1:]]
        if len(given) < 3 or any(each is None or each.data_location or list(each.dims) != [1] for each in given):
            return (math.nan, math.nan, math.nan)
        first, end, axis, step = (float(to_array(each)[0]) for each in (*given, *given[:1])[:4])
        return (first, end, axis) if len(given) == 3 or step == 1.0 else (math.nan, math.nan, math.nan)

    def slices(self, name: str) -> tuple[list[Any], str]:
        """Slices of slices that ``name`` is, and the tensor that the first of them reads."""
        found: list[Any] = []
        while (node := self.written_by(name, "Slice")) is not None:
            found.append(node)
            name = node.input[0]
        return found, name

    def step_of(self, node: Any) -> float:
        """Step of a Slice along one dimension; of another no number."""
        from onnx.numpy_helper import to_array

        tensor = self.constants.get(node.input[4]) if len(node.input) > 4 else None
        if tensor is None:
            return 1.0 if len(node.input) < 5 else math.nan
        return float(to_array(tensor)[0]) if list(tensor.dims) == [1] and not tensor.data_location else math.nan

    def axes(self, node: Any) -> tuple[int, ...]:
        """Dimensions of a ReduceMean that keeps their places, of the attribute (old files) or the second input."""
        from onnx.numpy_helper import to_array

        attributes = {each.name: each for each in node.attribute}
        if "keepdims" in attributes and not attributes["keepdims"].i:
            return ()
        if "axes" in attributes:
            return tuple(attributes["axes"].ints)
        tensor = self.constants.get(node.input[1]) if len(node.input) > 1 else None
        return () if tensor is None or tensor.data_location else tuple(int(axis) for axis in to_array(tensor).ravel())


def _gate(links: _Links, node: Any) -> Iterator[Found]:
    product = links.only_reader(node, "Mul") if node.op_type in GATES else None
    if product is not None and sorted(product.input) == sorted((node.input[0], node.output[0])):
        yield [node], product, GATES[node.op_type], [node.input[0]], {}


def _mish(links: _Links, node: Any) -> Iterator[Found]:
    """``x tanh(softplus(x))``."""
    tangent: Any = links.only_reader(node, "Tanh") if node.op_type == "Softplus" else None
    product = links.only_reader(tangent, "Mul") if tangent is not None else None
    if product is not None and sorted(product.input) == sorted((node.input[0], tangent.output[0])):
        yield [node, tangent], product, "Mish", [node.input[0]], {}


def _gelu(links: _Links, node: Any) -> Iterator[Found]:
    """``x (1 + erf(x / sqrt 2)) / 2``, or with the tangent of a polynomial; with the half before or behind."""
    plus_one: Any = links.only_reader(node, "Add") if node.op_type in ("Erf", "Tanh") else None
    product = links.only_reader(plus_one, "Mul") if links.beside_constant(plus_one, "Add") else None
    if product is None:
        return
    other = next((name for name in product.input if name != plus_one.output[0]), "")
    half = links.only_reader(product, "Mul")
    if links.beside_constant(half, "Mul") and links.arithmetic(node.input[0], other):
        inner, last, source = [node, plus_one, product], half, other
    else:
        source, last = links.beside_constant(links.writer.get(other), "Mul"), product
        inner = [node, plus_one, links.writer.get(other)]
    scaled = links.arithmetic(node.input[0], source) if source else []
    if scaled and links.is_closed([*inner, *scaled], last):
        yield [*inner, *scaled], last, "Gelu", [source], {}


def _layer_norm(links: _Links, node: Any) -> Iterator[Found]:
    """``(x - mean) / sqrt(mean of squares + epsilon)``, times a scale and plus a shift where both are learnt."""
    if node.op_type != "Div" or len(node.input) != 2:
        return
    centred: Any = links.written_by(node.input[0], "Sub")
    root: Any = links.written_by(node.input[1], "Sqrt")
    total = links.written_by(root.input[0], "Add") if root is not None else None
    variance = links.written_by(links.beside_constant(total, "Add"), "ReduceMean")
    mean: Any = links.written_by(centred.input[1], "ReduceMean") if centred is not None else None
    if variance is None or mean is None or mean.input[0] != centred.input[0]:
        return
    square: Any = links.written_by(variance.input[0], "Pow", "Mul")
    again: Any = links.written_by(square.input[0], "Sub") if square is not None else None
    is_square = again is not None and set(square.input) <= {again.output[0], *links.constants}
    if not is_square or again.input[0] != mean.input[0] or links.axes(mean) != links.axes(variance):
        return
    means = [mean, links.written_by(again.input[1], "ReduceMean")]
    inner, last, learnt = [*means, centred, again, square, variance, total, root], node, []
    product = links.only_reader(node, "Mul")
    shifted: Any = links.only_reader(product, "Add") if links.beside_constant(product, "Mul") else None
    if links.beside_constant(shifted, "Add"):
        learnt = [name for each in (product, shifted) for name in each.input if name in links.constants]
        inner, last = [*inner, node, product], shifted
    if None not in means and links.is_closed(inner, last):
        yield inner, last, "LayerNormalization", [mean.input[0], *learnt], {"axes": links.axes(mean)}


def _rms_norm(links: _Links, node: Any) -> Iterator[Found]:
    """``x / sqrt(mean of squares + epsilon)``, as a quotient or with the reciprocal, times a scale where one is learnt."""
    if node.op_type not in ("Div", "Mul") or len(node.input) != 2 or links.written_by(node.input[0], "Sub"):
        return
    source, factor = node.input
    inverse: Any = links.written_by(factor, "Reciprocal") or _one_over(links, factor) if node.op_type == "Mul" else None
    root: Any = links.written_by(inverse.input[-1] if inverse is not None else factor, "Sqrt")
    total = links.written_by(root.input[0], "Add") if root is not None else None
    mean = links.written_by(links.beside_constant(total, "Add"), "ReduceMean")
    square: Any = links.written_by(mean.input[0], "Pow", "Mul") if mean is not None else None
    if square is None or not set(square.input) <= {source, *links.constants} or (node.op_type == "Mul" and inverse is None):
        return
    inner, last, learnt = [each for each in (square, mean, total, root, inverse) if each is not None], node, []
    product = links.only_reader(node, "Mul")
    if links.beside_constant(product, "Mul"):
        learnt = [name for name in product.input if name in links.constants]
        inner, last = [*inner, node], product
    if links.is_closed(inner, last):
        yield inner, last, "RMSNormalization", [source, *learnt], {"axes": links.axes(mean)}


def _unit_length(links: _Links, node: Any) -> Iterator[Found]:
    """``x / |x|``, the length of at least a small number."""
    if node.op_type != "Div" or len(node.input) != 2:
        return
    stretched: Any = links.written_by(node.input[1], "Expand")
    bounded: Any = links.written_by(stretched.input[0] if stretched is not None else node.input[1], "Clip", "Max")
    length: Any = links.written_by(bounded.input[0], "ReduceL2") if bounded is not None else None
    inner = [each for each in (stretched, bounded, length) if each is not None]
    if length is not None and length.input[0] == node.input[0] and links.is_closed(inner, node):
        yield inner, node, "LpNormalization", [node.input[0]], {"axes": links.axes(length)}


def _response(links: _Links, node: Any) -> Iterator[Found]:
    """The length of each map divided by the mean of these lengths, as a global response norm has it."""
    total: Any = links.written_by(node.input[1], "Add") if node.op_type == "Div" and len(node.input) == 2 else None
    mean: Any = links.written_by(links.beside_constant(total, "Add"), "ReduceMean")
    length: Any = links.written_by(node.input[0], "ReduceL2") if mean is not None and mean.input[0] == node.input[0] else None
    if length is not None and links.is_closed([length, mean, total], node):
        yield [length, mean, total], node, "GlobalResponse", [length.input[0]], {"axes": links.axes(length)}


def _rotation(links: _Links, node: Any) -> Iterator[Found]:
    """``x cos + r sin``, r being x with the numbers of pairs swapped, one of them negative; of all tokens but the first, too."""
    is_sum = node.op_type == "Add" and len(node.input) == 2
    products = [links.written_by(name, "Mul") for name in node.input] if is_sum else [None]
    if None in products:
        return
    sources = [links.beside_constant(each, "Mul") for each in products]
    for source, swapped in (sources, sources[::-1]) if all(sources) else ():
        moved = links.made_of(swapped, source, SWAPS)
        if not any(each.op_type == "Neg" for each in moved):
            continue
        inner, last = [*products, *moved], node
        cast: Any = links.only_reader(node, "Cast")
        rest, joined = links.written_by(source, "Slice"), links.only_reader(cast or node, "Concat")
        first: Any = links.written_by(joined.input[0], "Slice") if joined is not None and len(joined.input) == 2 else None
        if rest is not None and first is not None and first.input[0] == rest.input[0]:
            inner, last, source = [*inner, rest, first, node, *([cast] if cast else [])], joined, rest.input[0]
        if links.is_closed(inner, last):
            yield inner, last, "RotaryEmbedding", [source], {}
            return


def _one_over(links: _Links, name: str) -> Any:
    """The node that writes 1 divided by something."""
    node = links.written_by(name, "Div")
    return node if node is not None and links.is_filled(node.input[0], 1.0) else None


def _roll(links: _Links, node: Any) -> Iterator[Found]:
    """The end of a dimension put before its begin: two slices of one tensor joined."""
    is_pair = node.op_type == "Concat" and len(node.input) == 2
    parts: list[Any] = [links.written_by(name, "Slice") for name in node.input] if is_pair else [None]
    if None in parts or parts[0].input[0] != parts[1].input[0]:
        return
    (first, end, axis), (begin, last, other) = (links.slice_of(part) for part in parts)
    if (
        axis == other
        and begin == 0
        and first == last
        and end >= links.extent(parts[0].input[0], axis)
        and links.is_closed(parts, node)
    ):
        yield parts, node, "Roll", [parts[0].input[0]], {}


def _strided(links: _Links, node: Any) -> Iterator[Found]:
    """All numbers in a row, gathered in the order in which they stand: another shape of the tensor."""
    row: Any = links.written_by(node.input[0], "Reshape") if node.op_type == "Gather" else None
    places = links.constants.get(node.input[1]) if row is not None else None
    if places is None or places.data_location or not links.is_closed([row], node):
        return
    from onnx.numpy_helper import to_array

    wanted, before = to_array(places), links.dims.get(row.input[0], [])
    if (wanted.ravel() == range(wanted.size)).all() and list(wanted.shape) == before:
        yield [row], node, "Identity", [row.input[0]], {}


def _squares(links: _Links, node: Any) -> Iterator[Found]:
    """Every second row and column, four times from other ones, joined: squares of places become maps."""
    chains = [links.slices(name) for name in node.input] if node.op_type == "Concat" and len(node.input) == 4 else [([], "")]
    inner = [each for chain, _ in chains for each in chain]
    if len({source for _, source in chains}) != 1 or not inner:
        return
    steps = [[step for each in chain if (step := links.step_of(each)) != 1.0] for chain, _ in chains]
    if steps == [[2.0, 2.0]] * 4 and links.is_closed(inner, node):
        yield inner, node, "SpaceToDepth", [chains[0][1]], {"blocksize": 2}


def _stochastic_depth(links: _Links, node: Any) -> Iterator[Found]:
    """A product with drawn numbers, made of nothing that a layer writes."""
    drawn = node if node.op_type in RANDOM else None
    while drawn is not None:
        readers = links.readers[drawn.output[0]]
        reader = readers[0] if len(readers) == 1 else None
        other = [name for name in reader.input if name not in (*links.constants, *drawn.output)] if reader is not None else []
        if other and reader is not None and reader.op_type == "Mul":
            yield [], reader, "StochasticDepth", [other[0], drawn.output[0]], {}
        drawn = None if other else reader


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


PATTERNS: tuple[Callable[[_Links, Any], Iterator[Found]], ...] = (
    _gate,
    _mish,
    _gelu,
    _layer_norm,
    _rms_norm,
    _unit_length,
    _rotation,
    _response,
    _roll,
    _strided,
    _squares,
    _group_norm,
    _stochastic_depth,
)
"""One after another looks whether a node belongs to its function."""
