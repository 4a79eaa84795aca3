"""ONNX operators of attention that is written out: heads of maps, products of queries, keys and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from mlperf.specs.importers.heads import ORDERS, ORDERS_OF_MAPS, Axis, Dim, Heads, Scores, cuts, maps_of, packed, size_of
from mlperf.specs.importers.imported import TOKENS_FIRST, TOKENS_LAST, Imported
from mlperf.specs.importers.onnx.folded import check_unfolded
from mlperf.specs.importers.onnx.node import OnnxNode

Learnt = Mapping[str, int]
"""How many numbers are learnt, by foreign name."""


def of_heads(imported: Imported, node: OnnxNode) -> bool:
    """What a node makes of heads or scores; False for uses that are no part of attention."""
    if node.operator in _PRODUCTS and len(node.tensors) == len(node.inputs):
        return _PRODUCTS[node.operator](imported, node)
    if len(node.tensors) != 1:
        return False
    source = node.tensors[0]
    if source in imported.scores:
        node_learnt = {name: size for each in node.inputs for name, size in imported.learnt.get(each, {}).items()}
        scores = _SCORES[node.operator](imported.scores[source], node, node_learnt) if node.operator in _SCORES else None
        if scores is not None:
            check_unfolded(imported, node, scores.learnt)
            imported.scores[node.output] = scores
        return scores is not None
    if node.operator == "Split":
        return _split(imported, node, imported.heads[source])
    return node.operator in _HEADS and put(imported, node.output, _HEADS[node.operator](imported.heads[source], node))


def taken_apart(imported: Imported, node: OnnxNode) -> bool:
    """Dimensions cut, joined or in another order: maps in heads, places in windows, the tokens of all samples in rows."""
    heads = _heads(imported, node.inputs[0])
    return heads is not None and put(imported, node.output, _HEADS[node.operator](heads, node))


def product(imported: Imported, node: OnnxNode) -> bool:
    """Queries with keys, or what the softmax made of that with values."""
    left, right = node.inputs
    scores, factor = imported.scores.get(left), _heads(imported, right)
    if factor is None or right in imported.scores:
        return False
    if scores is not None:
        return scores.are_weights and _with_values(imported, node.output, scores, right, factor)
    query = _heads(imported, left)
    are_turned = [each.is_turned for each in (query, factor) if each is not None]
    of_maps = all(are_turned) or (query is not None and _is_head(query.dims[:-3:-1]) and _is_head(factor.dims[-2:]))
    if query is not None and of_maps and not all(are_turned):
        query, factor = turned(imported, left, query), turned(imported, right, factor)
    if query is None or factor is None or not _is_head(query.dims[-2:]) or not _is_head(factor.dims[:-3:-1]):
        return False
    if not _meet(query.dims[:-2], factor.dims[:-2]) or _named([query.dims[-1]]) != _named(factor.dims[-2:-1]):
        return False
    imported.scores[node.output] = Scores(query, factor, query.dims[:-2], are_of_maps=of_maps)
    return True


def einsum(imported: Imported, node: OnnxNode) -> bool:
    """A product of matrices by the names of its dimensions: those that all three have in common stand before."""
    words = node.attributes["equation"].decode().replace(" ", "").split("->")
    names = words[0].split(",") if len(words) == 2 else []
    if len(names) != 2 or len(node.tensors) != 2 or any(len(set(word)) != len(word) for word in (*names, words[1])):
        return False
    left, right, out = *map(set, names), set(words[1])
    common = [letter for letter in words[1] if letter in left & right & out]
    rows, inner, columns = left & out - right, left & right - out, right & out - left
    if (
        min(len(each) for each in (rows, inner, columns)) != 1
        or {len(rows), len(inner), len(columns)} != {1}
        or left | right != out | inner
    ):
        return False
    order = [*common, *rows, *inner], [*common, *inner, *columns], [*common, *rows, *columns]
    inputs = []
    for name, tensor, wanted in zip(names, node.inputs, order, strict=False):
        if tensor in imported.scores:
            if list(name) != wanted:
                return False
            inputs.append(tensor)
            continue
        heads = _heads(imported, tensor)
        if heads is None or len(heads.dims) != len(name):
            return False
        inputs.append(f"{node.output}_{len(inputs)}")
        imported.heads[inputs[-1]] = replace(heads, dims=tuple(heads.dims[name.index(letter)] for letter in wanted))
    made = f"{node.output}_product"
    if not product(imported, replace(node, inputs=tuple(inputs), output=made)):
        return False
    if made in imported.scores:
        imported.scores[node.output] = imported.scores[made]
        return order[2] == list(words[1])
    found = _heads(imported, made)
    return found is not None and put(imported, node.output, found.permuted([order[2].index(letter) for letter in words[1]]))


def _meet(ours: Sequence[Dim], theirs: Sequence[Dim]) -> bool:
    """Whether samples, windows and heads are the same ones; one head of the others may stand for all of ours."""
    pairs = list(zip(_named(ours), _named(theirs), strict=False))
    is_shared = [not their and all(letter == "c" for letter, _ in our) for our, their in pairs]
    return len(ours) == len(theirs) and all(one or our == their for one, (our, their) in zip(is_shared, pairs, strict=True))


def _named(dims: Sequence[Dim]) -> list[list[tuple[str, int]]]:
    """What dimensions hold, wherever it begins and in however many steps: such meet each other in a product."""
    return [[(axes[0].letter, size_of(axes)) for axes in _runs(dim)] for dim in dims]


def _runs(dim: Dim) -> list[Dim]:
    """Axes of one letter that follow one another."""
    return [tuple(axes) for _, axes in groupby(dim, key=lambda axis: axis.letter)]


def _is_head(dims: tuple[Dim, ...]) -> bool:
    """Whether these are tokens, and maps of each."""
    if len(dims) != 2:
        return False
    tokens, maps = ({axis.letter for axis in dim} for dim in dims)
    return tokens <= {"t"} and maps <= {"c"}


def turned(imported: Imported, tensor: str, heads: Heads) -> Heads | None:
    """Heads whose maps are tokens, and whose tokens are maps: of a copy that is laid out so; None where only some of them are."""
    imported.heads[tensor] = replace(heads, is_scaled=False)
    piece = as_piece(imported, tensor)
    if not piece:
        return None
    if imported.layout(piece) not in (TOKENS_FIRST, TOKENS_LAST):
        imported.add(f"{piece}_tokens", "tokens", [piece])
        piece = f"{piece}_tokens"
    return imported.heads[tensor].turned(imported.turned(piece))


def _with_values(imported: Imported, tensor: str, scores: Scores, name: str, factor: Heads) -> bool:
    """The products of activations as one layer, which stands for all that attention is until its projections are known."""
    query, key = scores.query, scores.key
    values = turned(imported, name, factor) if scores.are_of_maps and _is_head(factor.dims[:-3:-1]) else factor
    if values is None or not _is_head(values.dims[-2:]) or _named(values.dims[-2:-1]) != _named([key.dims[-1]]):
        return False
    if not _meet(scores.outer, values.dims[:-2]):
        return False
    pairs = zip(scores.outer, values.dims, strict=False)
    outer = [_of_values(*pair) for pair in pairs]
    heads, windows = (math.prod(axis.size for dim in outer for axis in dim if axis.letter == letter) for letter in "ct")
    n_maps = heads * size_of(values.dims[-1])
    whole = f"{tensor}_heads"
    pieces = [(each.base, each.first, math.prod(axis.size for axis in maps_of(each.dims))) for each in (query, key, values)]
    imported.add_core(whole, n_maps, pieces, n_heads=heads, groups=windows, n_biases=sum(scores.learnt.values()))
    found = Heads(whole, packed((*outer, query.dims[-2], values.dims[-1])), is_turned=scores.are_of_maps)
    return put(imported, tensor, found.turned(imported.turned(whole)) if scores.are_of_maps else found)


def _of_values(ours: Dim, theirs: Dim) -> Dim:
    """Samples and tokens stand where those of the queries did, maps are those of the values, if these have heads of their own."""
    runs = zip(_runs(ours), _runs(theirs or ours), strict=True)
    return tuple(axis for our, their in runs for axis in (their if our[0].letter == "c" else our))


def _heads(imported: Imported, tensor: str) -> Heads | None:
    """The heads of a tensor; all of it as one where it is a tensor of tokens."""
    if tensor in imported.heads or tensor not in imported.aliases or imported.layout(tensor) not in (*ORDERS, *ORDERS_OF_MAPS):
        return imported.heads.get(tensor)
    return Heads.whole(tensor, imported.layout(tensor), imported.sizes(tensor))


def put(imported: Imported, tensor: str, heads: Heads | None) -> bool:
    """Remember heads, or that they are a whole tensor in some order: maps laid out as tokens, or tokens as maps."""
    if heads is None:
        return False
    sizes = imported.sizes(heads.base)
    order, (as_maps, size) = heads.order(sizes), heads.as_maps(sizes)
    if order in ORDERS and imported.shape(heads.base).width > 1:
        imported.add(tensor, "tokens", [heads.base])
    elif order:
        imported.same(tensor, heads.base)
    elif as_maps:
        imported.add(tensor, "unflatten", [heads.base], n_maps=sizes["c"], output_size=size)
    else:
        imported.heads[tensor] = heads
        return True
    imported.layouts[tensor] = order or as_maps
    return True


def in_order(imported: Imported, tensor: str, layout: str) -> bool:
    """Make a layer of heads that are all numbers of a tensor, laid out anew; False for parts, or samples among other things."""
    heads = imported.heads[tensor]
    sizes = imported.sizes(heads.base)
    is_apart = len(heads.dims) == len(layout) and heads.dims[0] == (Axis("b", 1, sizes["b"]),) * (sizes["b"] > 1)
    if not is_apart or not heads.is_complete(sizes):
        return False
    ours = dict(zip(layout, heads.sizes, strict=True))
    output_size = (ours["t"], 1) if "t" in ours else (ours["h"], ours["w"])
    imported.copied(f"{tensor}_copy", heads.base)
    imported.add(tensor, "unflatten", [f"{tensor}_copy"], n_maps=ours["c"], output_size=output_size)
    imported.layouts[tensor] = layout
    del imported.heads[tensor]
    return True


def as_piece(imported: Imported, tensor: str) -> str:
    """A tensor of its own for heads that are all places of some of the maps; else nothing. The heads are of it afterwards."""
    heads = imported.heads[tensor]
    sizes, n_maps = imported.sizes(heads.base), math.prod(axis.size for axis in maps_of(heads.dims))
    if heads.is_scaled or math.prod(heads.sizes) != sizes["b"] * sizes["t"] * n_maps:
        return ""
    alias = f"{tensor}_piece"
    imported.part(alias, heads.base, min(heads.first, sizes["c"] - n_maps), n_maps)
    imported.heads[tensor] = replace(heads, base=alias, dims=packed(heads.dims), first=0)
    return alias


def at_places(imported: Imported, tensor: str) -> str:
    """The whole tensor, maps last, of which this one holds all places with all maps, but in another order; else nothing."""
    heads = imported.heads[tensor]
    sizes = imported.sizes(heads.base)
    if not heads.is_complete(sizes) or heads != heads.with_maps(heads.base, sizes["c"]):
        return ""
    alias = f"{tensor}_places"
    imported.same(alias, heads.base, "btc" if imported.shape(heads.base).width == 1 else "bhwc")
    return alias


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
    if not starts or len(starts) != len(ends) or len(starts) != len(axes) or any(step != 1.0 for step in steps):
        return None
    found: Heads | None = heads
    for start, end, axis in zip(starts, ends, axes, strict=True):
        size = size_of(heads.dims[int(axis)])
        first, last, _ = slice(int(start), int(end)).indices(size)
        if found is not None and (first, last) != (0, size):
            found = found.part(int(axis), first, last - first)
    return found


def _split(imported: Imported, node: OnnxNode, heads: Heads) -> bool:
    """Parts along a dimension, of given sizes or of equal ones."""
    axis = node.attributes.get("axis", 0)
    size, n_parts = size_of(heads.dims[axis]), len(node.outputs)
    sizes = [int(each) for each in node.attributes.get("split") or node.values(1)] or [size // n_parts] * n_parts
    if len(sizes) != n_parts or sum(sizes) != size:
        return False
    parts = (heads.part(axis, first, each) for first, each in cuts(sizes))
    return all(put(imported, output, part) for output, part in zip(node.outputs, parts, strict=True))


def _scaled(heads: Heads, node: OnnxNode) -> Heads | None:
    """Times or by one number, as part of the products that follow."""
    return replace(heads, is_scaled=True) if _is_number(node) else None


def _is_number(node: OnnxNode) -> bool:
    return all(math.prod(node.dims(place)) == 1 for place, name in enumerate(node.inputs) if name in node.constants)


def _weights(scores: Scores, node: OnnxNode, _learnt: Learnt) -> Scores | None:
    """A softmax over the keys."""
    rank = len(scores.outer) + 2
    is_last = node.attributes.get("axis", -1) % rank == rank - 1
    return replace(scores, are_weights=True) if is_last and not scores.are_weights else None


def _masked(scores: Scores, node: OnnxNode, learnt: Learnt) -> Scores | None:
    """Some pairs of tokens left out, the same for all heads, or numbers that are learnt for each."""
    if scores.are_weights or node.tensors != (node.tensors[0],):
        return None
    dims = [node.dims(place) for place, name in enumerate(node.inputs) if name in node.constants]
    stretched = [dim for each in dims for dim, size in zip(scores.outer[::-1], each[-3::-1], strict=False) if size > 1]
    # A mask is a tensor of the file itself; of one head too, numbers that are looked up in a table or computed are learnt.
    is_mask = all(math.prod(each) in (1, *learnt.values()) for each in dims) or not learnt
    if not (stretched if scores.are_of_maps else maps_of(stretched)) and is_mask:
        return scores
    return replace(scores, learnt={**scores.learnt, **learnt}) if learnt else None


def _times(scores: Scores, node: OnnxNode, learnt: Learnt) -> Scores | None:
    """One number, or one that is learnt for each head."""
    return scores if _is_number(node) else _masked(scores, node, learnt)


def _in_rows(scores: Scores, node: OnnxNode, _learnt: Learnt) -> Scores | None:
    """Samples, heads and windows apart or together; queries and keys as they were."""
    wanted = [int(size) for size in node.values(1)]
    inner = (size_of(scores.query.dims[-2]), size_of(scores.key.dims[-1]))
    outer = Heads("", scores.outer).reshaped(wanted[:-2]) if tuple(wanted[-2:]) == inner else None
    return replace(scores, outer=outer.dims) if outer is not None else None


def _same_scores(scores: Scores, _node: OnnxNode, _learnt: Learnt) -> Scores | None:
    return scores


def _unpadded(heads: Heads, node: OnnxNode) -> Heads | None:
    """Nothing put around."""
    pads = node.attributes.get("pads") or node.values(1)
    return heads if pads and not any(pads) else None


_HEADS: Mapping[str, Callable[[Heads, OnnxNode], Heads | None]] = {
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Gather": _gather,
    "Slice": _slice,
    "Pad": _unpadded,
    **dict.fromkeys(("Mul", "Div"), _scaled),
    **dict.fromkeys(("Identity", "Cast"), lambda heads, _node: heads),
}

_SCORES: Mapping[str, Callable[[Scores, OnnxNode, Learnt], Scores | None]] = {
    "Softmax": _weights,
    "Reshape": _in_rows,
    **dict.fromkeys(("Mul", "Div"), _times),
    **dict.fromkeys(("Add", "Where"), _masked),
    **dict.fromkeys(("Identity", "Cast", "Dropout"), _same_scores),
}

_PRODUCTS = {"MatMul": product, "Einsum": einsum}
