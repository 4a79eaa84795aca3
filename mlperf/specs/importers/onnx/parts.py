"""ONNX operators that take some of the maps or tokens."""

from __future__ import annotations

from mlperf.specs.importers.imported import Imported
from mlperf.specs.importers.onnx.node import OnnxNode

BATCH_END = 2**31 - 1
"""What exporters write for an end behind everything, at least."""


def slice_maps(imported: Imported, node: OnnxNode) -> bool:
    """All of a tensor, maps or tokens that follow one another, or every n-th row or column; of other parts there is no layer."""
    given = [node.values(place) for place in range(1, len(node.inputs))]
    old = [[float(end) for end in node.attributes.get(name, ())] for name in ("starts", "ends", "axes")]
    starts, ends, axes, steps = [*(given or old), [], [], [], []][:4]
    if not starts or len(starts) != len(ends) or any(node.has_input(place) and not node.values(place) for place in range(1, 5)):
        return False
    shape, layout = imported.shape(node.inputs[0]), imported.layout(node.inputs[0])
    sizes = {"c": shape.n_maps, "h": shape.height, "w": shape.width, "t": shape.height}
    taken = {"c": (0, shape.n_maps)}
    if any(step != 1.0 for step in steps):
        return _every_nth(imported, node, list(zip(starts, ends, axes, steps, strict=False)))
    for start, end, axis in zip(starts, ends, axes or range(len(starts)), strict=True):
        letter = layout[int(axis)]
        # How many samples there are is open: only an end that no batch reaches is behind all.
        length = sizes.get(letter, BATCH_END)
        first, last = (int(min(max(place + length * (place < 0), 0), length)) for place in (start, end))
        is_some = letter == "t" and first < last
        if letter != "c" and not is_some and (first, last) != (0, length):
            return False
        taken[letter] = (first, last)
    first, last = taken["c"]
    if first >= last:
        return False
    source = _some_tokens(imported, node, taken.get("t", (0, shape.height)))
    imported.part(node.output, source, first, last - first)
    return True


def _every_nth(imported: Imported, node: OnnxNode, taken: list[tuple[float, float, float, float]]) -> bool:
    """Every second row or column of maps and the like, from the first on: windows of one element that far apart."""
    shape, layout = imported.shape(node.inputs[0]), imported.layout(node.inputs[0])
    stride = {"h": 1, "w": 1}
    for start, end, axis, step in taken:
        letter = layout[int(axis)]
        if letter not in "hw" or start != 0 or end < {"h": shape.height, "w": shape.width}[letter] or step < 1:
            return False
        stride[letter] = int(step)
    imported.add(node.output, "pool", node.inputs[:1], filter_size=(1, 1), stride=(stride["h"], stride["w"]))
    return True


def _some_tokens(imported: Imported, node: OnnxNode, taken: tuple[int, int]) -> str:
    """The tensor with the taken tokens alone, in the order that it had; the tensor itself where all are taken."""
    source, n_tokens = node.inputs[0], taken[1] - taken[0]
    if n_tokens == imported.shape(source).height:
        return source
    tokens = f"{node.output}_token"
    imported.add(tokens, "select_token", [source], n_tokens=n_tokens)
    imported.layouts[tokens] = imported.layout(source)
    return tokens


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
