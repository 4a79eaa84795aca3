"""The shape that a layer writes, from the shapes that it reads: one small function per kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlperf.core.errors import DataError
from mlperf.specs.network.layer import Layer, layer_error
from mlperf.specs.network.shape import Shape, n_windows

Inputs = tuple[Shape, ...]


def output_shape(layer: Layer, inputs: Inputs) -> Shape:
    """What ``layer`` writes for one sample when it reads ``inputs``.

    Raises
    ------
    DataError
        Wrong number of inputs or a shape that does not fit; names the layer, what it got and what it expected.
    """
    if layer.kind not in _MERGES and len(inputs) != 1:
        raise layer_error(layer.name, "inputs", len(inputs), "exactly one", f"Only {' and '.join(_MERGES)} layers read several.")
    return _RULES[layer.kind](layer, inputs)


def _same(_layer: Layer, inputs: Inputs) -> Shape:
    """Element by element: what goes in comes out."""
    return inputs[0]


def _conv(layer: Layer, inputs: Inputs) -> Shape:
    if inputs[0].n_maps % layer.groups:
        raise layer_error(
            layer.name,
            "groups",
            layer.groups,
            f"a divisor of the {inputs[0].n_maps} maps it reads",
            "Every group reads the same number of maps.",
        )
    return _slide(layer, inputs[0], layer.n_maps)


def _pool(layer: Layer, inputs: Inputs) -> Shape:
    if layer.is_adaptive:
        return Shape(inputs[0].n_maps, *layer.output_size)
    return _slide(layer, inputs[0], inputs[0].n_maps)


def _slide(layer: Layer, shape: Shape, n_maps: int) -> Shape:
    numbers = zip((shape.height, shape.width), layer.filter_size, layer.stride, layer.padding, layer.dilation, strict=True)
    height, width = (n_windows(*each, layer.ceil_mode) for each in numbers)
    if min(height, width) < 1:
        raise DataError(
            f"got {shape}, expected maps of at least {_least(layer)}",
            place=f"layer {layer.name!r}, input shape",
            hint="The window does not fit: use a larger input, fewer pools before this layer, or padding.",
        )
    return Shape(n_maps, height, width)


def _least(layer: Layer) -> str:
    """The smallest input that holds one window."""
    numbers = zip(layer.filter_size, layer.dilation, layer.padding, strict=True)
    return " x ".join(str(max(dilation * (size - 1) + 1 - 2 * padding, 1)) for size, dilation, padding in numbers)


def _fc(layer: Layer, _inputs: Inputs) -> Shape:
    return Shape(layer.n_maps, 1, 1)


def _flatten(_layer: Layer, inputs: Inputs) -> Shape:
    return Shape(inputs[0].size, 1, 1)


def _add(layer: Layer, inputs: Inputs) -> Shape:
    _check_at_least_two(layer, inputs)
    for shape in inputs[1:]:
        if shape != inputs[0]:
            raise DataError(
                f"got {shape}, expected {inputs[0]} like the first input",
                place=f"layer {layer.name!r}, input shape",
                hint="add needs equal shapes: a 1 x 1 convolution with the same stride makes them so.",
            )
    return inputs[0]


def _concat(layer: Layer, inputs: Inputs) -> Shape:
    _check_at_least_two(layer, inputs)
    first = inputs[0]
    for shape in inputs[1:]:
        if (shape.height, shape.width) != (first.height, first.width):
            raise DataError(
                f"got {shape}, expected maps of {first.height} x {first.width} like the first input",
                place=f"layer {layer.name!r}, input shape",
                hint="concat joins maps of one size: pool or pad the branches alike.",
            )
    return Shape(sum(shape.n_maps for shape in inputs), first.height, first.width)


def _check_at_least_two(layer: Layer, inputs: Inputs) -> None:
    if len(inputs) < 2:
        raise layer_error(
            layer.name, "inputs", len(inputs), "at least two", 'Name the branches, as in inputs = ["conv1", "conv2"].'
        )


_MERGES = ("add", "concat")
_RULES: Mapping[str, Callable[[Layer, Inputs], Shape]] = {
    "conv": _conv,
    "pool": _pool,
    "fc": _fc,
    "batch_norm": _same,
    "activation": _same,
    "softmax": _same,
    "dropout": _same,
    "flatten": _flatten,
    "add": _add,
    "concat": _concat,
}
