"""ONNX operators that go over maps with a window, or change how large maps are."""

from __future__ import annotations

from mlperf.specs.importers.imported import MAPS_FIRST, Imported
from mlperf.specs.importers.onnx_node import OnnxNode
from mlperf.specs.importers.padding import same_padding
from mlperf.specs.network.shape import Size, window_extent

SAME = (b"SAME_UPPER", b"SAME_LOWER")
"""Padding by which the size of the output follows from the stride alone."""


def conv(imported: Imported, node: OnnxNode) -> bool:
    """A convolution of maps; with the padding that stands before it."""
    weights, groups = node.dims(1), node.attributes.get("group", 1)
    if len(weights) != 4:
        return False
    source = imported.unpadded(node.inputs[0])[0]
    imported.check_width(node.output, "maps", weights[1] * groups, imported.shape(source).n_maps)
    window = _window(imported, node, (weights[2], weights[3]))
    imported.add(node.output, "conv", [source], n_maps=weights[0], groups=groups, bias=node.has_input(2), **window)
    return True


def pool(imported: Imported, node: OnnxNode, *, mode: str) -> bool:
    """A pool of maps; with the padding that stands before it."""
    filter_size = tuple(node.attributes["kernel_shape"])
    if len(filter_size) != 2:
        return False
    window = _window(imported, node, filter_size)
    source = imported.unpadded(node.inputs[0])[0]
    # With 'same' padding there is one window for each step of the stride, however the number would be rounded.
    ceil_mode = bool(node.attributes.get("ceil_mode", 0)) and node.attributes.get("auto_pad", b"NOTSET") not in SAME
    imported.add(node.output, "pool", [source], mode=mode, ceil_mode=ceil_mode, **window)
    return True


def _window(imported: Imported, node: OnnxNode, filter_size: Size) -> dict[str, Size]:
    """Filter, stride, padding and dilation; ONNX steps by 1 unless told, pools too."""
    stride = tuple(node.attributes.get("strides", (1, 1)))
    dilation = tuple(node.attributes.get("dilations", (1, 1)))
    return {
        "filter_size": filter_size,
        "stride": stride,
        "padding": _padding(imported, node, filter_size, stride, dilation),
        "dilation": dilation,
    }


def _padding(imported: Imported, node: OnnxNode, filter_size: Size, stride: Size, dilation: Size) -> Size:
    place = f"network {imported.name!r}, node {node.name!r}"
    if node.attributes.get("auto_pad", b"NOTSET") in SAME:
        return same_padding(imported.shape(node.inputs[0]), filter_size, stride, dilation, place)
    top, left, bottom, right = node.attributes.get("pads", (0, 0, 0, 0))
    ceil_mode = bool(node.attributes.get("ceil_mode", 0))
    borders = (top, left, bottom, right)
    return imported.padding(node.inputs[0], (filter_size, stride, dilation), borders, place, ceil_mode=ceil_mode)


def transposed_conv(imported: Imported, node: OnnxNode) -> bool:
    """A transposed convolution of maps, of a size that is given or follows."""
    weights, groups = node.dims(1), node.attributes.get("group", 1)
    if len(weights) != 4:
        return False
    imported.check_width(node.output, "maps", weights[0], imported.shape(node.inputs[0]).n_maps)
    window = _transposed_window(imported, node, (weights[2], weights[3]))
    imported.add(
        node.output, "transposed_conv", node.inputs[:1], n_maps=weights[1] * groups, groups=groups, bias=node.has_input(2), **window
    )
    return True


def _transposed_window(imported: Imported, node: OnnxNode, filter_size: Size) -> dict[str, Size]:
    """As `_window`; of an odd number of rows to cut, one more is cut and written in addition."""
    attributes, shape = node.attributes, imported.shape(node.inputs[0])
    stride, dilation = (tuple(attributes.get(name, (1, 1))) for name in ("strides", "dilations"))
    auto, extra = attributes.get("auto_pad", b"NOTSET"), list(attributes.get("output_padding", (0, 0)))
    top, left, bottom, right = attributes.get("pads", (0, 0, 0, 0)) if auto == b"NOTSET" else (0, 0, 0, 0)
    totals, sizes = [top + bottom, left + right], (shape.height, shape.width)
    wanted = tuple(attributes.get("output_shape", ()))[-2:]
    if not wanted and auto in SAME:
        wanted = tuple(size * step for size, step in zip(sizes, stride, strict=True))
    for axis, size in enumerate(wanted):
        totals[axis] = (sizes[axis] - 1) * stride[axis] + extra[axis] + window_extent(filter_size[axis], dilation[axis]) - size
        if totals[axis] < 0:
            extra[axis], totals[axis] = extra[axis] - totals[axis], 0
    return {
        "filter_size": filter_size,
        "stride": (stride[0], stride[1]),
        "padding": (-(-totals[0] // 2), -(-totals[1] // 2)),
        "dilation": (dilation[0], dilation[1]),
        "output_padding": (extra[0] + totals[0] % 2, extra[1] + totals[1] % 2),
    }


def pad(imported: Imported, node: OnnxNode) -> bool:
    """Rows and columns around maps: part of the window that reads them."""
    if node.attributes.get("mode", b"constant") not in (b"constant", b"edge", b"reflect", b"wrap"):
        return False
    pads = [int(pad) for pad in node.attributes.get("pads") or node.values(1)]
    axes = [int(axis) % 4 for axis in node.values(3)] or list(range(len(pads) // 2))
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
    if not mode or imported.layout(node.inputs[0]) != MAPS_FIRST:
        return False
    before, wanted = [1, shape.n_maps, shape.height, shape.width], node.values(3)
    numbers = wanted or node.attributes.get("scales") or node.values(scales_at)
    axes = [axis % 4 for axis in node.attributes.get("axes", range(4))]
    if len(numbers) != len(axes) or node.attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        return False
    after = list(before)
    for axis, number in zip(axes, numbers, strict=True):
        after[axis] = int(number) if wanted else int(before[axis] * number)
    if after[1] != before[1]:
        return False
    imported.add(node.output, "resize", node.inputs[:1], mode=mode, output_size=(after[2], after[3]))
    return True
