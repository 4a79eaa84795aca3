"""ONNX operators of attention that is written out: heads of maps, products of queries, keys and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from mlperf.specs.importers.heads import ORDERS, Dim, Heads, Scores, cuts, maps_of, packed, size_of
from mlperf.specs.importers.imported import Imported
from mlperf.specs.importers.onnx_node import OnnxNode


def of_heads(imported: Imported, node: OnnxNode) -> bool:
    """What a node makes of heads or scores; False for uses that are no part of attention."""
    if node.operator == "MatMul":
        return product(imported, node)
    if len(node.tensors) != 1:
        return False
    source = node.tensors[0]
    if source in imported.scores:
        scores = _SCORES[node.operator](imported.scores[source], node) if node.operator in _SCORES else None
        if scores is not None:
            imported.scores[node.output] = scores
        return scores is not None
    if node.operator == "Split":
        return _split(imported, node, imported.heads[source])
    return node.operator in _HEADS and _put(imported, node.output, _HEADS[node.operator](imported.heads[source], node))


def taken_apart(imported: Imported, node: OnnxNode) -> bool:
    """A reshape that cuts maps into heads, or joins the tokens of all samples."""
    heads = _heads(imported, node.inputs[0])
    return heads is not None and _put(imported, node.output, _reshape(heads, node))


def product(imported: Imported, node: OnnxNode) -> bool:
    """Queries with keys, or what the softmax made of that with values."""
    left, right = node.inputs
    scores, factor = imported.scores.get(left), _heads(imported, right)
    if factor is None or right in imported.scores:
        return False
    if scores is not None:
        return scores.are_weights and _with_values(imported, node.output, scores, factor)
    query = _heads(imported, left)
    if query is None or not _are_factors(query, factor, query.dims[-2:], factor.dims[:-3:-1]):
        return False
    imported.scores[node.output] = Scores(query, factor)
    return True


def _are_factors(query: Heads, other: Heads, own: tuple[Dim, ...], others: tuple[Dim, ...]) -> bool:
    """Whether tokens meet tokens, maps as many maps, and heads the same heads: one that has the same sizes."""
    same = [[(axis.letter, axis.size) for axis in dim] for dim in (*query.dims[:-2], *own)]
    return same == [[(axis.letter, axis.size) for axis in dim] for dim in (*other.dims[:-2], *others)] and _is_head(own)


def _is_head(dims: tuple[Dim, ...]) -> bool:
    """Whether these are tokens, and maps of each."""
    tokens, maps = ({axis.letter for axis in dim} for dim in dims)
    return tokens <= {"t"} and maps <= {"c"}


def _with_values(imported: Imported, tensor: str, scores: Scores, values: Heads) -> bool:
    """The products of activations as one layer, which stands for all that attention is until its projections are known."""
    keys = scores.key.dims
    if not _are_factors(values, values, values.dims[-2:], values.dims[-2:]) or values.dims[-2] != keys[-1]:
        return False
    if [size_of(dim) for dim in values.dims[:-2]] != [size_of(dim) for dim in keys[:-2]]:
        return False
    n_heads = math.prod(axis.size for axis in maps_of(values.dims[:-2]))
    n_maps = n_heads * size_of(values.dims[-1])
    whole = f"{tensor}_heads"
    imported.add_core(whole, n_maps, n_heads, [(each.base, each.first) for each in (scores.query, scores.key, values)])
    return _put(imported, tensor, Heads(whole, packed(values.dims)))


def _heads(imported: Imported, tensor: str) -> Heads | None:
    """The heads of a tensor; all of it as one where it is a tensor of tokens."""
    if tensor in imported.heads or tensor not in imported.aliases or imported.layout(tensor) not in ORDERS:
        return imported.heads.get(tensor)
    return Heads.whole(tensor, imported.layout(tensor), imported.sizes(tensor))


def _put(imported: Imported, tensor: str, heads: Heads | None) -> bool:
    """Remember heads, or that they are a whole tensor in some order."""
    order = heads.order(imported.sizes(heads.base)) if heads is not None else ""
    if heads is not None and order:
        imported.same(tensor, heads.base, order)
    elif heads is not None:
        imported.heads[tensor] = heads
    return heads is not None


def _reshape(heads: Heads, node: OnnxNode) -> Heads | None:
    return heads.reshaped([int(size) for size in node.values(1)])


def _transpose(heads: Heads, node: OnnxNode) -> Heads | None:
    return heads.permuted(node.attributes.get("perm", range(len(heads.dims))[::-1]))


def _squeeze(heads: Heads, node: OnnxNode) -> Heads | None:
    ones = [place for place, dim in enumerate(heads.dims) if not dim]
    return heads.squeezed(node.axes(1) or ones)


def _unsqueeze(heads: Heads, node: OnnxNode) -> Heads | None:
    return heads.unsqueezed(node.axes(1))


def _gather(heads: Heads, node: OnnxNode) -> Heads | None:
    """One of the tensors that stand along a dimension."""
    axis, chosen = node.attributes.get("axis", 0), node.values(1)
    if len(chosen) != 1 or node.dims(1):
        return None
    one = heads.part(axis, int(chosen[0]) % max(size_of(heads.dims[axis]), 1), 1)
    return one.squeezed([axis]) if one is not None else None


def _slice(heads: Heads, node: OnnxNode) -> Heads | None:
    """Tensors that follow one another along one dimension."""
    starts, ends, axes, steps = (node.values(place) for place in range(1, 5))
    if len(starts) != 1 or len(ends) != 1 or len(axes) != 1 or steps not in ([], [1.0]):
        return None
    size = size_of(heads.dims[int(axes[0])])
    first, last, _ = slice(int(starts[0]), int(ends[0])).indices(size)
    return heads.part(int(axes[0]), first, last - first)


def _split(imported: Imported, node: OnnxNode, heads: Heads) -> bool:
    """Parts along a dimension, of given sizes or of equal ones."""
    axis = node.attributes.get("axis", 0)
    size, n_parts = size_of(heads.dims[axis]), len(node.outputs)
    sizes = [int(each) for each in node.attributes.get("split") or node.values(1)] or [size // n_parts] * n_parts
    if len(sizes) != n_parts or sum(sizes) != size:
        return False
    parts = (heads.part(axis, first, each) for first, each in cuts(sizes))
    return all(_put(imported, output, part) for output, part in zip(node.outputs, parts, strict=True))


def _scaled(heads: Heads, node: OnnxNode) -> Heads | None:
    """Times or by one number, as part of the products that follow."""
    return replace(heads, is_scaled=True) if _is_number(node) else None


def _is_number(node: OnnxNode) -> bool:
    return all(math.prod(node.dims(place)) == 1 for place, name in enumerate(node.inputs) if name in node.constants)


def _weights(scores: Scores, node: OnnxNode) -> Scores | None:
    """A softmax over the keys."""
    rank = len(scores.query.dims)
    is_last = node.attributes.get("axis", -1) % rank == rank - 1
    return replace(scores, are_weights=True) if is_last and not scores.are_weights else None


def _masked(scores: Scores, node: OnnxNode) -> Scores | None:
    """Some pairs of tokens left out, the same for all heads; numbers of each head would be learnt."""
    dims = [node.dims(place)[:-2] for place, name in enumerate(node.inputs) if name in node.constants]
    stretched = [(dim, size) for each in dims for dim, size in zip(scores.query.dims[-3::-1], each[::-1], strict=False) if size > 1]
    return scores if not scores.are_weights and not any(maps_of([dim]) for dim, _ in stretched) else None


_HEADS: Mapping[str, Callable[[Heads, OnnxNode], Heads | None]] = {
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Gather": _gather,
    "Slice": _slice,
    **dict.fromkeys(("Mul", "Div"), _scaled),
    **dict.fromkeys(("Identity", "Cast"), lambda heads, _node: heads),
}

_SCORES: Mapping[str, Callable[[Scores, OnnxNode], Scores | None]] = {
    "Softmax": _weights,
    **dict.fromkeys(("Mul", "Div"), lambda scores, node: scores if _is_number(node) else None),
    **dict.fromkeys(("Add", "Where"), _masked),
    **dict.fromkeys(("Identity", "Cast", "Dropout"), lambda scores, _node: scores),
}
