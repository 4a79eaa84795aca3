"""ONNX operators that go over maps with a window, or change how large maps are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlperf.specs.importers.imported import MAPS_FIRST, TOKENS_LAST, Imported
from mlperf.specs.importers.onnx.node import OnnxNode
from mlperf.specs.importers.padding import Borders, same_padding
from mlperf.specs.network.shape import Size, window_extent

DIRECTIONS: Mapping[str, int] = {MAPS_FIRST: 2, TOKENS_LAST: 1}
"""Directions in which a window moves over tensors of these orders; a sequence is a map of one column."""
SAME = (b"SAME_UPPER", b"SAME_LOWER")
"""Padding by which the size of the output follows from the stride alone."""


def conv(imported: Imported, node: OnnxNode) -> bool:
    """A convolution of maps; with the padding that stands before it."""
    weights, groups = node.dims(1), node.attributes.get("group", 1)
    source = imported.unpadded(node.inputs[0])[0]
    if not _moves_over(imported, source, weights[2:]):
        return False
    imported.check_width(node.output, "maps", weights[1] * groups, imported.shape(source).n_maps)
    source, window = _window(imported, node, _pair(weights[2:]))
    imported.add(node.output, "conv", [source], n_maps=weights[0], groups=groups, bias=node.has_input(2), **window)
    return True


def pool(imported: Imported, node: OnnxNode, *, mode: str) -> bool:
    """A pool of maps; with the padding that stands before it."""
    filter_size, source = node.attributes["kernel_shape"], imported.unpadded(node.inputs[0])[0]
    if not _moves_over(imported, source, filter_size):
        return False
    source, window = _window(imported, node, _pair(filter_size))
    # With 'same' padding there is one window for each step of the stride, however the number would be rounded.
    ceil_mode = bool(node.attributes.get("ceil_mode", 0)) and node.attributes.get("auto_pad", b"NOTSET") not in SAME
    imported.add(node.output, "pool", [source], mode=mode, ceil_mode=ceil_mode, **window)
    return True


def global_pool(imported: Imported, node: OnnxNode, *, mode: str) -> bool:
    """A pool over all places of every map."""
    if imported.layout(node.inputs[0]) not in DIRECTIONS:
        return False
    imported.add(node.output, "pool", node.inputs[:1], mode=mode, output_size=(1, 1))
    return True


def reduced(imported: Imported, node: OnnxNode, *, mode: str) -> bool:
    """A mean or maximum over all places, or along the rows or columns of maps; a sum is the work of a mean."""
    source, axes, keeps = node.inputs[0], node.axes(1), bool(node.attributes.get("keepdims", 1))
    layout, shape = imported.layout(source), imported.shape(source)
    window = {"h": (shape.height, 1), "w": (1, shape.width)}.get("".join(layout[axis] for axis in axes))
    if window is not None and keeps and layout == MAPS_FIRST:
        imported.add(node.output, "pool", [source], mode=mode, filter_size=window)
        return True
    return imported.global_pool(node.output, source, axes, keeps=keeps, mode=mode)


def _moves_over(imported: Imported, tensor: str, filter_size: Sequence[int]) -> bool:
    """Whether a window of so many directions fits the order of the tensor's dimensions."""
    return DIRECTIONS.get(imported.layout(tensor)) == len(filter_size)


def _pair(numbers: Sequence[int], other: int = 1) -> Size:
    """Height and width; ``other`` is the width where there is one direction only."""
    height, width = (*numbers, other) if len(numbers) == 1 else numbers
    return (height, width)


def _borders(pads: Sequence[int]) -> Borders:
    """Top, left, bottom and right, from all starts and then all ends."""
    if len(pads) == 2:
        return (pads[0], 0, pads[1], 0)
    top, left, bottom, right = pads
    return (top, left, bottom, right)


def _window(imported: Imported, node: OnnxNode, filter_size: Size) -> tuple[str, dict[str, Size]]:
    """What is read; filter, stride, padding and dilation: ONNX steps by 1 unless told, pools too."""
    stride, dilation = (_pair(node.attributes.get(name, (1, 1))) for name in ("strides", "dilations"))
    place = f"network {imported.name!r}, node {node.name!r}"
    if node.attributes.get("auto_pad", b"NOTSET") in SAME:
        source = imported.unpadded(node.inputs[0])[0]
        padding = same_padding(imported.shape(node.inputs[0]), filter_size, stride, dilation, place)
    else:
        ceil_mode, borders = bool(node.attributes.get("ceil_mode", 0)), _borders(node.attributes.get("pads", (0, 0, 0, 0)))
        window = (filter_size, stride, dilation)
        source, padding = imported.under_window(node.inputs[0], window, borders, place, ceil_mode=ceil_mode)
    return source, {"filter_size": filter_size, "stride": stride, "padding": padding, "dilation": dilation}


def transposed_conv(imported: Imported, node: OnnxNode) -> bool:
    """A transposed convolution of maps, of a size that is given or follows."""
    weights, groups = node.dims(1), node.attributes.get("group", 1)
    if not _moves_over(imported, node.inputs[0], weights[2:]):
        return False
    imported.check_width(node.output, "maps", weights[0], imported.shape(node.inputs[0]).n_maps)
    window = _transposed_window(imported, node, _pair(weights[2:]))
    imported.add(
        node.output, "transposed_conv", node.inputs[:1], n_maps=weights[1] * groups, groups=groups, bias=node.has_input(2), **window
    )
    return True


def _transposed_window(imported: Imported, node: OnnxNode, filter_size: Size) -> dict[str, Size]:
    """As `_window`; of an odd number of rows to cut, one more is cut and written in addition."""
    attributes, shape = node.attributes, imported.shape(node.inputs[0])
    stride, dilation = (_pair(attributes.get(name, (1, 1))) for name in ("strides", "dilations"))
    auto, extra = attributes.get("auto_pad", b"NOTSET"), [*_pair(attributes.get("output_padding", (0, 0)), 0)]
    top, left, bottom, right = _borders(attributes.get("pads", (0, 0, 0, 0)) if auto == b"NOTSET" else (0, 0, 0, 0))
    totals, sizes = [top + bottom, left + right], (shape.height, shape.width)
    wanted = tuple(attributes.get("output_shape", ()))[-DIRECTIONS[imported.layout(node.inputs[0])] :]
    if not wanted and auto in SAME:
        wanted = tuple(size * step for size, step in zip(sizes, stride, strict=True))
    for axis, size in enumerate(wanted):
        totals[axis] = (sizes[axis] - 1) * stride[axis] + extra[axis] + window_extent(filter_size[axis], dilation[axis]) - size
        if totals[axis] < 0:
            extra[axis], totals[axis] = extra[axis] - totals[axis], 0
    return {
        "filter_size": filter_size,
        "stride": stride,
        "padding": (-(-totals[0] // 2), -(-totals[1] // 2)),
        "dilation": dilation,
        "output_padding": (extra[0] + totals[0] % 2, extra[1] + totals[1] % 2),
    }


def pad(imported: Imported, node: OnnxNode) -> bool:
    """Rows and columns around maps: part of the window that reads them."""
    if node.attributes.get("mode", b"constant") not in (b"constant", b"edge", b"reflect", b"wrap"):
        return False
    pads = [int(pad) for pad in node.attributes.get("pads") or node.values(1)]
    rank = len(imported.layout(node.inputs[0]))
    axes = [int(axis) % rank for axis in node.values(3)] or list(range(len(pads) // 2))
    if len(pads) != 2 * len(axes) or not pads:
        return False
    before, after = dict(zip(axes, pads, strict=False)), dict(zip(axes, pads[len(axes) :], strict=True))
    if any(each.get(axis, 0) for each in (before, after) for axis in (0, 1)):
        return False
    borders = (before.get(2, 0), before.get(3, 0), after.get(2, 0), after.get(3, 0))
    return imported.pad(node.output, node.inputs[0], borders)


def resize(imported: Imported, node: OnnxNode) -> bool:
    """Sizes where they are given, else scales; both name all four dimensions, or those of ``axes``."""
    mode = {b"nearest": "nearest", b"linear": "bilinear"}.get(node.attributes.get("mode", b"nearest"), "")
    shape, scales_at = imported.shape(node.inputs[0]), 1 if len(node.inputs) == 2 else 2
    rank = 2 + DIRECTIONS.get(imported.layout(node.inputs[0]), 0)
    if not mode or rank == 2:
        return False
    before, wanted = [1, shape.n_maps, shape.height, shape.width][:rank], node.values(3)
    numbers = wanted or node.attributes.get("scales") or node.values(scales_at)
    axes = [axis % rank for axis in node.attributes.get("axes", range(rank))]
    if len(numbers) != len(axes) or node.attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        return False
    after = list(before)
    for axis, number in zip(axes, numbers, strict=True):
        after[axis] = int(number) if wanted else int(before[axis] * number)
    if after[1] != before[1]:
        return False
    imported.add(node.output, "resize", node.inputs[:1], mode=mode, output_size=_pair(after[2:]))
    return True
