"""ONNX operators that hand on the same numbers in another shape, order or format, and products that need such a one."""

from __future__ import annotations

from collections.abc import Sequence

from mlperf.specs.importers.imported import FLAT, MAPS_FIRST, ROWS_OF_TOKENS, STEPS_FIRST, TOKENS_FIRST, TOKENS_LAST, Imported
from mlperf.specs.importers.onnx.attention import taken_apart
from mlperf.specs.importers.onnx.input import ROWS, TOKENS
from mlperf.specs.importers.onnx.node import OnnxNode
from mlperf.specs.importers.onnx.recurrent import directions_joined, directions_moved
from mlperf.specs.importers.reshapes import groups_swapped, reshaped
from mlperf.specs.network.shape import Shape

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
    backwards = range(len(imported.layout(node.inputs[0])))[::-1]
    order = tuple(node.attributes.get("perm", backwards))
    if groups_swapped(imported, node.output, node.inputs[0], order) or directions_moved(imported, node):
        return True
    return imported.permuted(node.output, node.inputs[0], order) or taken_apart(imported, node)


def flatten(imported: Imported, node: OnnxNode) -> bool:
    """All elements of a sample in a row; or the tokens of all samples in rows."""
    if imported.layout(node.inputs[0]) in (TOKENS_FIRST, STEPS_FIRST) and node.attributes.get("axis", 1) in (2, -1):
        imported.same(node.output, node.inputs[0], ROWS_OF_TOKENS[imported.layout(node.inputs[0]) == STEPS_FIRST])
        return True
    if node.attributes.get("axis", 1) % len(imported.layout(node.inputs[0])) != 1:
        return False
    imported.add(node.output, "flatten", node.inputs[:1])
    return True


def reshape(imported: Imported, node: OnnxNode) -> bool:
    """Other sizes of a sample, the directions of a recurrent layer joined, or heads of attention."""
    sizes = [int(size) for size in node.values(1)]
    return (
        directions_joined(imported, node) or reshaped(imported, node.output, node.inputs[0], sizes) or taken_apart(imported, node)
    )


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
    if shape.map_size == 1 and (layout, axes) in ((TOKENS_FIRST, [1]), (STEPS_FIRST, [0])):
        imported.same(node.output, source, FLAT)
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
        return taken_apart(imported, node)
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


def times_rows(imported: Imported, tensor: str, sources: Sequence[str]) -> bool:
    """Maps times one number for each of their rows, which as maps of their own meet one number each."""
    whole, *others = map(imported.shape, sources)
    rows = Shape(whole.n_maps, whole.height, 1)
    if [imported.layout(each) for each in sources] != [MAPS_FIRST] * 2 or others != [rows] or min(whole.height, whole.width) == 1:
        return False
    apart = [f"{tensor}_rows_{place}" for place in range(2)]
    for name, source, size in zip(apart, sources, ((whole.width, 1), (1, 1)), strict=True):
        imported.add(name, "unflatten", [source], n_maps=rows.size, output_size=size)
    imported.add(f"{tensor}_rows", "multiply", apart)
    imported.add(tensor, "unflatten", [f"{tensor}_rows"], n_maps=whole.n_maps, output_size=(whole.height, whole.width))
    imported.layouts[tensor] = MAPS_FIRST
    return True


def _axes(node: OnnxNode, rank: int) -> list[int]:
    """Axes from the attribute (old files) or the second input, counted from the front, in order."""
    return sorted(int(axis) % rank for axis in node.attributes.get("axes") or node.values(1))
