"""ONNX operators on tensors whose places or heads stand in another order than a layer wrote them."""

from __future__ import annotations

import math
from dataclasses import replace

from mlperf.specs.importers.heads import Axis, Heads, maps_of, packed, size_of
from mlperf.specs.importers.imported import MAPS_FIRST, TOKENS_FIRST, Imported
from mlperf.specs.importers.onnx.attention import as_piece, at_places, in_order, put, turned
from mlperf.specs.importers.onnx.input import TAKES_MAPS_SECOND
from mlperf.specs.importers.onnx.node import OnnxNode
from mlperf.specs.importers.onnx.operators import ACTIVATIONS, NODES

BY_PLACE = ("MatMul", "Add", "LayerNormalization", "RMSNormalization", "Dropout", "StochasticDepth", *ACTIVATIONS)
"""Operators that make of the maps at one place those at the same, whatever stands beside it."""


OF_EACH_HEAD = ("LayerNormalization", "RMSNormalization", "LpNormalization", "RotaryEmbedding")
"""Operators that make of the maps of one head at one place others."""

POOLS = {"ReduceMax": "max", "ReduceMean": "average"}
"""Operators that make one place of several."""


def of_places(imported: Imported, node: OnnxNode) -> bool:
    """A layer over all places in the order that they had; what it writes stands in the order that was read."""
    if node.operator not in BY_PLACE or not node.tensors or any(name not in imported.heads for name in node.tensors):
        return False
    first = imported.heads[node.tensors[0]]
    if any(imported.heads[name].dims != first.dims for name in node.tensors[1:]):
        return False
    if any(len(node.dims(place)) > 1 for place in range(len(node.inputs))) and node.operator != "MatMul":
        return False
    if node.operator == "MatMul" and len(node.tensors) > 1:
        return False
    aliases = {name: at_places(imported, name) for name in node.tensors}
    if not all(aliases.values()):
        return False
    written = f"{node.output}_written"
    inputs = tuple(aliases.get(name, name) for name in node.inputs)
    if not NODES[node.operator](imported, replace(node, inputs=inputs, output=written, outputs=(written,))):
        return False
    imported.heads[node.output] = first.with_maps(written, imported.shape(written).n_maps)
    return True


def of_pieces(imported: Imported, node: OnnxNode) -> bool:
    """A norm of the maps of each head, or a rotation of these: a layer over as many places of so few maps."""
    heads = _over_last(imported, node) if node.operator in OF_EACH_HEAD and len(node.tensors) == 1 else None
    if heads is None:
        return False
    imported.heads[node.tensors[0]] = heads
    piece = as_piece(imported, node.tensors[0])
    if not piece:
        return False
    shape, width = imported.shape(piece), size_of(heads.dims[-1])
    apart, written = f"{node.output}_apart", f"{node.output}_written"
    imported.add(apart, "unflatten", [piece], n_maps=width, output_size=(shape.size // width, 1))
    imported.layouts[apart] = TOKENS_FIRST
    inputs = tuple(apart if name == node.tensors[0] else name for name in node.inputs)
    plain = {name: value for name, value in node.attributes.items() if name not in ("axes", "axis")}
    if not NODES[node.operator](imported, replace(node, inputs=inputs, output=written, attributes=plain)):
        return False
    whole = f"{node.output}_joined"
    imported.add(whole, "unflatten", [written], n_maps=shape.n_maps, output_size=(shape.height, shape.width))
    imported.heads[node.output] = replace(imported.heads[node.tensors[0]], base=whole)
    return True


def _over_last(imported: Imported, node: OnnxNode) -> Heads | None:
    """The heads whose last dimension a node goes over, if this is of maps; or of tokens, turned, where lengths are."""
    heads, axes = imported.heads.get(node.tensors[0]), node.attributes.get("axes", (node.attributes.get("axis", -1),))
    if heads is None or [axis % len(heads.dims) for axis in axes] != [len(heads.dims) - 1]:
        return None
    if node.operator == "LpNormalization" and {axis.letter for axis in heads.dims[-1]} == {"t"}:
        heads = turned(imported, node.tensors[0], heads)
    return heads if heads is not None and maps_of(heads.dims[-1:]) else None


def of_some_places(imported: Imported, node: OnnxNode) -> bool:
    """The largest or the mean of so many tokens: a pool of these, wherever they stand; what is left stands as it did."""
    if node.operator not in POOLS or len(node.tensors) != 1 or node.tensors[0] not in imported.heads:
        return False
    heads = imported.heads[node.tensors[0]]
    places = {axis % len(heads.dims) for axis in node.axes(1)}
    gone = [axis for place in places for axis in heads.dims[place]]
    width = imported.shape(heads.base).width
    if not gone or any(axis.letter != "t" or axis.step < width < axis.step * axis.size for axis in gone):
        return False
    piece = as_piece(imported, node.tensors[0])
    if not piece:
        return False
    along = [[axis.size for axis in gone if (axis.step >= width) is are_rows] for are_rows in (True, False)]
    window, written = (math.prod(along[0]), math.prod(along[1])), f"{node.output}_pooled"
    imported.add(written, "pool", [piece], mode=POOLS[node.operator], filter_size=window, stride=window)
    keeps, dims = node.attributes.get("keepdims", 1), imported.heads[node.tensors[0]].dims
    left = [() if place in places else dim for place, dim in enumerate(dims) if keeps or place not in places]
    return put(imported, node.output, Heads(written, packed(left, "t")))


def of_repeated(imported: Imported, node: OnnxNode) -> bool:
    """The same tokens for every window, as copies of each row beside it."""
    if node.operator != "Tile" or node.tensors[:1] != node.inputs[:1] or node.inputs[0] not in imported.heads:
        return False
    before, repeats = imported.heads[node.inputs[0]], [int(each) for each in node.values(1)]
    (place, n_copies), *others = [each for each in enumerate(repeats) if each[1] != 1] or [(0, 1)]
    if n_copies == 1:
        return put(imported, node.output, before)
    if others or n_copies < 1 or len(repeats) != len(before.dims) or before.dims[place]:
        return False
    piece = as_piece(imported, node.inputs[0])
    if not piece:
        return False
    shape, heads, repeated = imported.shape(piece), imported.heads[node.inputs[0]], f"{node.output}_repeated"
    size = (shape.height * n_copies, shape.width)
    imported.add(repeated, "resize", [piece], mode="nearest", output_size=size)
    dims = [tuple(_below(axis, shape.width, n_copies) for axis in dim) for dim in heads.dims]
    dims[place] = (Axis("t", shape.width, n_copies),)
    return put(imported, node.output, Heads(repeated, tuple(dims)))


def _below(axis: Axis, width: int, n_copies: int) -> Axis:
    """An axis of rows, where each row stands so many times."""
    return axis._replace(step=axis.step * n_copies) if axis.letter == "t" and axis.step >= width else axis


def of_laid_out(imported: Imported, node: OnnxNode) -> bool:
    """A node that reads all numbers of a tensor in a new order, as where squares of places become maps: a copy, then its layer."""
    if any(name in imported.scores for name in node.inputs) or node.operator not in NODES:
        return False
    layouts = {4: MAPS_FIRST if node.operator in TAKES_MAPS_SECOND else "bhwc", 3: TOKENS_FIRST}
    heads = [name for name in dict.fromkeys(node.tensors) if name in imported.heads]
    ranks = [len(imported.heads[name].dims) for name in heads]
    if any(rank not in layouts for rank in ranks):
        return False
    if not all(in_order(imported, name, layouts[rank]) for name, rank in zip(heads, ranks, strict=True)):
        return False
    return NODES[node.operator](imported, node)


OF_PLACES = (of_places, of_pieces, of_some_places, of_repeated)
"""What may know a node that reads a tensor in the order in which its places or heads stand."""
