"""ONNX operators that hand on the same numbers in another shape, order or format."""

from __future__ import annotations

import math

from mlperf.specs.importers.imported import FLAT, MAPS_FIRST, Imported
from mlperf.specs.importers.onnx_node import OnnxNode
from mlperf.specs.importers.onnx_parts import GROUP_COLUMNS, groups_swapped, in_groups, shuffled

TOKENS_LAST, TOKENS_FIRST = "bct", "btc"

_WITH_ONES = {(FLAT, (1,)): TOKENS_FIRST, (FLAT, (2,)): TOKENS_LAST, (FLAT, (2, 3)): MAPS_FIRST, (TOKENS_LAST, (3,)): MAPS_FIRST}
"""Order of the dimensions after sizes of 1 were put at these places."""


def same(imported: Imported, node: OnnxNode) -> bool:
    """The numbers themselves; in another format they are as many."""
    imported.same(node.output, node.inputs[0])
    return True


def transpose(imported: Imported, node: OnnxNode) -> bool:
    """Dimensions in another order; without one given, back to front."""
    if groups_swapped(imported, node):
        return True
    backwards = range(len(imported.layout(node.inputs[0])))[::-1]
    return imported.permuted(node.output, node.inputs[0], tuple(node.attributes.get("perm", backwards)))


def flatten(imported: Imported, node: OnnxNode) -> bool:
    """All elements of a sample in a row."""
    if node.attributes.get("axis", 1) % len(imported.layout(node.inputs[0])) != 1:
        return False
    imported.add(node.output, "flatten", node.inputs[:1])
    return True


def reshape(imported: Imported, node: OnnxNode) -> bool:
    """Two sizes of which the first is the batch: a flatten; batch, maps and one more: tokens; as they were: nothing."""
    sizes, shape, layout = node.values(1), imported.shape(node.inputs[0]), imported.layout(node.inputs[0])
    if len(sizes) == 3 and layout == MAPS_FIRST and sizes[1] in (0, shape.n_maps):
        imported.add(node.output, "tokens", node.inputs[:1])
        return True
    if in_groups(imported, node, sizes):
        return True
    if len(sizes) == 4 and layout == GROUP_COLUMNS and _as_before(sizes, imported, node.inputs[0]):
        return shuffled(imported, node)
    if len(sizes) == 4 and layout in (MAPS_FIRST, FLAT) and _as_before(sizes, imported, node.inputs[0]):
        imported.same(node.output, node.inputs[0], MAPS_FIRST)
        return True
    if len(sizes) != 2 or sizes[1] not in (-1, shape.size):
        return False
    imported.add(node.output, "flatten", node.inputs[:1])
    return True


def _as_before(sizes: list[float], imported: Imported, source: str) -> bool:
    """Whether these are the sizes of ``source``; 0 keeps one, -1 stands for what remains."""
    shape, is_flat = imported.shape(source), imported.layout(source) == FLAT
    wanted = (shape.n_maps, shape.height, shape.width)
    kept = (shape.n_maps,) if is_flat else wanted
    given = [before if size == 0.0 else size for size, before in zip(sizes[1:], (*kept, -1, -1), strict=False)]
    if sizes[0] != -1.0 and given.count(-1) == 1:
        given[given.index(-1)] = shape.size / math.prod(size for size in given if size != -1)
    return tuple(given) == wanted


def squeeze(imported: Imported, node: OnnxNode) -> bool:
    """Sizes of 1 taken away: of the whole map a flatten, of its one column a sequence of tokens."""
    source = node.inputs[0]
    shape, layout = imported.shape(source), imported.layout(source)
    axes = _axes(node, len(layout))
    if layout == MAPS_FIRST and axes == [3] and shape.width == 1:
        imported.same(node.output, source, TOKENS_LAST)
        return True
    places = {MAPS_FIRST: [2, 3], TOKENS_LAST: [2], TOKENS_FIRST: [1]}.get(layout)
    if shape.map_size > 1 or places is None or (axes or places) != places:
        return False
    imported.add(node.output, "flatten", [source])
    return True


def unsqueeze(imported: Imported, node: OnnxNode) -> bool:
    """Sizes of 1 put between others, as a gate needs them before it meets maps."""
    source = node.inputs[0]
    layout = imported.layout(source)
    n_axes = len(node.attributes.get("axes") or node.values(1))
    after = _WITH_ONES.get((layout, tuple(_axes(node, len(layout) + n_axes))))
    if after is None:
        return False
    imported.same(node.output, source, after)
    return True


def _axes(node: OnnxNode, rank: int) -> list[int]:
    """Axes from the attribute (old files) or the second input, counted from the front, in order."""
    return sorted(int(axis) % rank for axis in node.attributes.get("axes") or node.values(1))
