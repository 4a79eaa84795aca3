"""ONNX operators that take some of the maps, and reshapes that mix the maps of groups."""

from __future__ import annotations

import math

from mlperf.specs.importers.imported import MAPS_FIRST, Imported
from mlperf.specs.importers.onnx_node import OnnxNode

BATCH_END = 2**31 - 1
"""What exporters write for an end behind everything, at least."""

GROUP_ROWS, GROUP_COLUMNS = "bgchw", "bcghw"
"""Maps of each group together, and the first maps of all groups together."""


def slice_maps(imported: Imported, node: OnnxNode) -> bool:
    """All of a tensor, or maps that follow one another; of other parts there is no layer."""
    given = [node.values(place) for place in range(1, len(node.inputs))]
    old = [[float(end) for end in node.attributes.get(name, ())] for name in ("starts", "ends", "axes")]
    starts, ends, axes, steps = [*(given or old), [], [], [], []][:4]
    if not starts or len(starts) != len(ends) or any(node.has_input(place) and not node.values(place) for place in range(1, 5)):
        return False
    shape, layout = imported.shape(node.inputs[0]), imported.layout(node.inputs[0])
    sizes = {"c": shape.n_maps, "h": shape.height, "w": shape.width, "t": shape.height}
    taken = {"c": (0, shape.n_maps)}
    if any(step != 1.0 for step in steps):
        return False
    for start, end, axis in zip(starts, ends, axes or range(len(starts)), strict=True):
        letter = layout[int(axis)]
        # How many samples there are is open: only an end that no batch reaches is behind all.
        length = sizes.get(letter, BATCH_END)
        first, last = (int(min(max(place + length * (place < 0), 0), length)) for place in (start, end))
        if letter != "c" and (first, last) != (0, length):
            return False
        taken[letter] = (first, last)
    first, last = taken["c"]
    if first >= last:
        return False
    imported.part(node.output, node.inputs[0], first, last - first)
    return True


def split_maps(imported: Imported, node: OnnxNode) -> bool:
    """Parts of given numbers of maps, or of equal ones; the last may be smaller."""
    layout, n_maps, n_parts = imported.layout(node.inputs[0]), imported.shape(node.inputs[0]).n_maps, len(node.outputs)
    if n_parts == 1:
        imported.same(node.output, node.inputs[0])
        return True
    sizes = [int(size) for size in node.attributes.get("split") or node.values(1)]
    if node.has_input(1) and not sizes:
        return False
    if not sizes:
        each = -(-n_maps // n_parts)
        sizes = [each] * (n_parts - 1) + [n_maps - each * (n_parts - 1)]
    if layout[node.attributes.get("axis", 0)] != "c" or len(sizes) != n_parts or min(sizes) < 1 or sum(sizes) != n_maps:
        return False
    first = 0
    for output, size in zip(node.outputs, sizes, strict=True):
        if output:
            imported.part(output, node.inputs[0], first, size)
        first += size
    return True


def in_groups(imported: Imported, node: OnnxNode, sizes: list[float]) -> bool:
    """A reshape of maps into rows of one group each."""
    source = node.inputs[0]
    shape = imported.shape(source)
    if len(sizes) != 5 or imported.layout(source) != MAPS_FIRST:
        return False
    known = math.prod(size for size in sizes[1:] if size > 0)
    groups, maps, height, width = (shape.size / known if size == -1.0 else size for size in sizes[1:])
    if (groups * maps, height, width) != (shape.n_maps, shape.height, shape.width):
        return False
    imported.same(node.output, source, GROUP_ROWS)
    imported.grouped[node.output] = int(groups)
    return True


def groups_swapped(imported: Imported, node: OnnxNode) -> bool:
    """Rows and columns of maps in each other's place."""
    source = node.inputs[0]
    if source not in imported.grouped or imported.layout(source) != GROUP_ROWS:
        return False
    if list(node.attributes.get("perm", ())) != [0, 2, 1, 3, 4]:
        return False
    imported.same(node.output, source, GROUP_COLUMNS)
    imported.grouped[node.output] = imported.grouped[source]
    return True


def shuffled(imported: Imported, node: OnnxNode) -> bool:
    """A reshape of such columns back into maps."""
    source = node.inputs[0]
    if source not in imported.grouped or imported.layout(source) != GROUP_COLUMNS:
        return False
    imported.add(node.output, "shuffle", [source], groups=imported.grouped[source])
    imported.layouts[node.output] = MAPS_FIRST
    return True
