"""ONNX operators on paths of equally many maps side by side, as split attention weighs them against each other."""

from __future__ import annotations

import math
from dataclasses import replace

from mlperf.specs.importers.heads import Axis, Heads, size_of
from mlperf.specs.importers.imported import MAPS_FIRST, Imported
from mlperf.specs.importers.onnx.attention import as_piece, put
from mlperf.specs.importers.onnx.node import OnnxNode
from mlperf.specs.importers.reshapes import GROUP_ROWS


def of_paths(imported: Imported, node: OnnxNode) -> bool:
    """Paths of equally many maps side by side, weighed against each other and summed, as split attention has them."""
    wanted = node.inputs if node.operator in ("Concat", "Mul") else node.inputs[:1]
    if node.operator not in _PATHS or node.tensors != wanted:
        return False
    paths = [found for name in wanted if (found := _path(imported, name)) is not None]
    return len(paths) == len(wanted) and _PATHS[node.operator](imported, node, paths)


def _path(imported: Imported, tensor: str) -> Heads | None:
    """A tensor whose maps stand in a dimension of their own for each path."""
    if tensor in imported.heads or imported.layouts.get(tensor) != GROUP_ROWS:
        return imported.heads.get(tensor)
    alias, sizes = f"{tensor}_paths", imported.sizes(tensor)
    imported.same(alias, tensor, MAPS_FIRST)
    return Heads.whole(alias, MAPS_FIRST, imported.sizes(alias)).reshaped([sizes[letter] for letter in GROUP_ROWS])


def _side_by_side(imported: Imported, node: OnnxNode, paths: list[Heads]) -> bool:
    """Tensors stacked along a dimension of their own: one path each."""
    place = node.attributes["axis"] % len(paths[0].dims)
    whole = all(each.is_complete(imported.sizes(each.base)) for each in paths)
    if not whole or paths[0].dims[place] or len({each.dims for each in paths}) > 1:
        return False
    stacked, n_maps = f"{node.output}_stacked", imported.shape(paths[0].base).n_maps
    imported.add(stacked, "concat", [each.base for each in paths])
    dims = list(paths[0].dims)
    dims[place] = (Axis("c", n_maps, len(paths)),)
    return put(imported, node.output, Heads(stacked, tuple(dims)))


def _summed(imported: Imported, node: OnnxNode, paths: list[Heads]) -> bool:
    """The sum of all paths: of as many parts of the maps."""
    (heads,), axes = paths, node.axes(1)
    place = axes[0] % len(heads.dims) if len(axes) == 1 else 0
    if len(heads.dims[place]) != 1 or heads.dims[place][0].letter != "c":
        return False
    parts = []
    for number in range(size_of(heads.dims[place])):
        part = heads.part(place, number, 1)
        if part is None:
            return False
        imported.heads[f"{node.output}_{number}"] = part
        parts.append(as_piece(imported, f"{node.output}_{number}"))
    if not all(parts):
        return False
    imported.add(f"{node.output}_sum", "add", parts)
    dims = imported.heads[f"{node.output}_0"].dims
    left = dims if node.attributes.get("keepdims", 1) else [dim for number, dim in enumerate(dims) if number != place]
    return put(imported, node.output, Heads(f"{node.output}_sum", tuple(left)))


def _weighed(imported: Imported, node: OnnxNode, paths: list[Heads]) -> bool:
    """Every path times a number for each of its maps."""
    first, *others = sorted(paths, key=lambda each: -math.prod(each.sizes))
    by_map = [tuple(tuple(axis for axis in dim if axis.letter != "t") for dim in first.dims) == each.dims for each in others]
    if not by_map or not all(by_map) or not all(each.is_complete(imported.sizes(each.base)) for each in (first, *others)):
        return False
    imported.add(f"{node.output}_weighed", "multiply", [first.base, *(each.base for each in others)])
    return put(imported, node.output, replace(first, base=f"{node.output}_weighed"))


def _weights(imported: Imported, node: OnnxNode, paths: list[Heads]) -> bool:
    """A softmax over the paths: an exponential and a quotient for every number, as of a sigmoid."""
    (heads,) = paths
    over = heads.dims[node.attributes.get("axis", -1)]
    if not over or any(axis.letter != "c" for axis in over) or not heads.is_complete(imported.sizes(heads.base)):
        return False
    imported.add(f"{node.output}_weights", "activation", [heads.base], function="sigmoid")
    return put(imported, node.output, replace(heads, base=f"{node.output}_weights"))


_PATHS = {"Concat": _side_by_side, "ReduceSum": _summed, "Mul": _weighed, "Softmax": _weights}
