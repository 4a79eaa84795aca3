"""ONNX operators that hand on the same numbers in another shape, order or format."""

from __future__ import annotations

import math
from itertools import zip_longest

from mlperf.specs.importers.imported import FLAT, MAPS_FIRST, TOKENS_FIRST, TOKENS_LAST, Imported
from mlperf.specs.importers.onnx_input import ROWS, TOKENS
from mlperf.specs.importers.onnx_node import OnnxNode
from mlperf.specs.importers.onnx_parts import GROUP_COLUMNS, groups_swapped, in_groups, shuffled
from mlperf.specs.importers.onnx_recurrent import directions_joined, directions_moved

_WITH_ONES = {
    (FLAT, (1,)): TOKENS_FIRST,
    (FLAT, (2,)): TOKENS_LAST,
    (FLAT, (2, 3)): MAPS_FIRST,
    (TOKENS_LAST, (3,)): MAPS_FIRST,
    (ROWS, (1,)): MAPS_FIRST,
    (TOKENS, (1,)): TOKENS_LAST,
    (TOKENS, (2,)): TOKENS_FIRST,
}
"""Order of the dimensions after sizes of 1 were put at these places."""


def same(imported: Imported, node: OnnxNode) -> bool:
    """The numbers themselves; in another format they are as many."""
    imported.same(node.output, node.inputs[0])
    return True


def transpose(imported: Imported, node: OnnxNode) -> bool:
    """Dimensions in another order; without one given, back to front."""
    if groups_swapped(imported, node) or directions_moved(imported, node):
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
    """A sample's sizes as they were: nothing; all in a row: a flatten; maps and one more: tokens; maps of what is flat."""
    source, sizes = node.inputs[0], node.values(1)
    layout, shape = imported.layout(source), imported.shape(source)
    if directions_joined(imported, node) or in_groups(imported, node, sizes):
        return True
    wanted = _of_a_sample(sizes, imported, source)
    if len(wanted) == 3 and layout == GROUP_COLUMNS and wanted == (shape.n_maps, shape.height, shape.width):
        return shuffled(imported, node)
    own = imported.sizes(source)
    if wanted == tuple(own[letter] for letter in layout if letter != "b"):
        imported.same(node.output, source)
    elif layout == MAPS_FIRST and wanted == (shape.n_maps, shape.map_size):
        imported.add(node.output, "tokens", [source])
    elif wanted == (shape.size,):
        imported.add(node.output, "flatten", [source])
    elif len(wanted) == 3 and wanted[1:] == (1, 1) and layout == FLAT:
        imported.same(node.output, source, MAPS_FIRST)
    elif len(wanted) == 3 and (layout == FLAT or (layout == TOKENS_LAST and wanted[0] == shape.n_maps)):
        imported.add(node.output, "unflatten", [source], n_maps=wanted[0], output_size=wanted[1:])
        imported.layouts[node.output] = MAPS_FIRST
    else:
        return False
    return True


def _of_a_sample(sizes: list[float], imported: Imported, source: str) -> tuple[int, ...]:
    """Sizes behind that of the batch: 0 keeps one, -1 stands for what remains; none where they do not hold a sample."""
    own, layout = imported.sizes(source), imported.layout(source)
    kept = [own[letter] for letter in layout[1:]] if layout.startswith("b") else []
    given = [int(size) or before for size, before in zip_longest(sizes[1:], kept[: len(sizes) - 1], fillvalue=0)]
    known = math.prod(size for size in given if size > 0)
    size, n_open = imported.shape(source).size, given.count(-1)
    if not given or not kept or min(given) < -1 or 0 in given or n_open > 1 or size % known:
        return ()
    if n_open and sizes[0] == -1.0:
        return ()
    wanted = tuple(size // known if each == -1 else each for each in given)
    return wanted if math.prod(wanted) == size else ()


def squeeze(imported: Imported, node: OnnxNode) -> bool:
    """Sizes of 1 taken away: of the whole map a flatten, of its one column a sequence of tokens."""
    source = node.inputs[0]
    shape, layout = imported.shape(source), imported.layout(source)
    axes = _axes(node, len(layout))
    if directions_joined(imported, node, axes):
        return True
    if layout == MAPS_FIRST and axes == [3] and shape.width == 1:
        imported.same(node.output, source, TOKENS_LAST)
        return True
    if layout == MAPS_FIRST and axes == [2] and shape.height == 1:
        imported.add(node.output, "tokens", [source])
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
    axes = tuple(_axes(node, len(layout) + n_axes))
    if layout == TOKENS_LAST and axes == (2,):
        shape = imported.shape(source)
        imported.add(node.output, "unflatten", [source], n_maps=shape.n_maps, output_size=(1, shape.height))
        imported.layouts[node.output] = MAPS_FIRST
        return True
    after = _WITH_ONES.get((layout, axes))
    if after is None:
        return False
    imported.same(node.output, source, after)
    return True


def expand(imported: Imported, node: OnnxNode) -> bool:
    """Sizes of 1 stretched, which a product does by itself: no layer; a layer that cannot refuses their shapes."""
    source, sizes = node.inputs[0], node.values(1)
    own, layout = imported.sizes(source), imported.layout(source)
    kept = (1,) * (len(sizes) - len(layout)) + tuple(own[letter] for letter in layout)
    if (
        not sizes
        or len(kept) != len(sizes)
        or any(before not in (1, size) and size != 1 for before, size in zip(kept, sizes, strict=True))
    ):
        return False
    imported.same(node.output, source)
    return True


def _axes(node: OnnxNode, rank: int) -> list[int]:
    """Axes from the attribute (old files) or the second input, counted from the front, in order."""
    return sorted(int(axis) % rank for axis in node.attributes.get("axes") or node.values(1))
