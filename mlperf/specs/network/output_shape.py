"""The shape that a layer writes, from the shapes that it reads: one small function per kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlperf.core.errors import DataError
from mlperf.specs.network.layer import Layer, layer_error
from mlperf.specs.network.shape import Shape, n_windows, window_extent

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


def _misfit(layer: Layer, got: Shape, expected: str, hint: str) -> DataError:
    return DataError(f"got {got}, expected {expected}", place=f"layer {layer.name!r}, input shape", hint=hint)


def _same(_layer: Layer, inputs: Inputs) -> Shape:
    """Element by element: what goes in comes out."""
    return inputs[0]


def _conv(layer: Layer, inputs: Inputs) -> Shape:
    _check_groups(layer, inputs[0])
    return _slide(layer, inputs[0], layer.n_maps)


def _pool(layer: Layer, inputs: Inputs) -> Shape:
    if layer.is_adaptive:
        return Shape(inputs[0].n_maps, *layer.output_size)
    return _slide(layer, inputs[0], inputs[0].n_maps)


def _slide(layer: Layer, shape: Shape, n_maps: int) -> Shape:
    numbers = zip((shape.height, shape.width), layer.filter_size, layer.stride, layer.padding, layer.dilation, strict=True)
    height, width = (n_windows(*each, layer.ceil_mode) for each in numbers)
    if min(height, width) < 1:
        hint = "The window does not fit: use a larger input, fewer pools before this layer, or padding."
        raise _misfit(layer, shape, f"maps of at least {_least(layer)}", hint)
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
            hint = "add needs equal shapes: a 1 x 1 convolution with the same stride makes them so."
            raise _misfit(layer, shape, f"{inputs[0]} like the first input", hint)
    return inputs[0]


def _concat(layer: Layer, inputs: Inputs) -> Shape:
    _check_at_least_two(layer, inputs)
    first = inputs[0]
    for shape in inputs[1:]:
        if (shape.height, shape.width) != (first.height, first.width):
            expected = f"maps of {first.height} x {first.width} like the first input"
            raise _misfit(layer, shape, expected, "concat joins maps of one size: pool or pad the branches alike.")
    return Shape(sum(shape.n_maps for shape in inputs), first.height, first.width)


def _check_at_least_two(layer: Layer, inputs: Inputs) -> None:
    if len(inputs) < 2:
        raise layer_error(
            layer.name, "inputs", len(inputs), "at least two", 'Name the branches, as in inputs = ["conv1", "conv2"].'
        )


def _transposed_conv(layer: Layer, inputs: Inputs) -> Shape:
    source = inputs[0]
    _check_groups(layer, source)
    window = (layer.stride, layer.padding, layer.filter_size, layer.dilation, layer.output_padding)
    numbers = zip((source.height, source.width), *window, strict=True)
    height, width = (
        (size - 1) * step - 2 * border + window_extent(window, gap) + extra for size, step, border, window, gap, extra in numbers
    )
    if min(height, width) < 1:
        raise _misfit(layer, source, "more", "Less padding, or a larger window.")
    return Shape(layer.n_maps, height, width)


def _resize(layer: Layer, inputs: Inputs) -> Shape:
    source = inputs[0]
    if layer.is_adaptive:
        return Shape(source.n_maps, *layer.output_size)
    return Shape(source.n_maps, source.height * layer.scale[0], source.width * layer.scale[1])


def _multiply(layer: Layer, inputs: Inputs) -> Shape:
    """Sizes of 1 are stretched to those of the other inputs."""
    _check_at_least_two(layer, inputs)
    largest = Shape(*(max(getattr(each, name) for each in inputs) for name in ("n_maps", "height", "width")))
    for shape in inputs:
        if any(getattr(shape, name) not in (1, getattr(largest, name)) for name in ("n_maps", "height", "width")):
            hint = "multiply stretches sizes of 1 only, as squeeze-excite does with its 1 x 1 maps."
            raise _misfit(layer, shape, f"{largest} or 1 in place of any of these numbers", hint)
    return largest


def _group_norm(layer: Layer, inputs: Inputs) -> Shape:
    _check_groups(layer, inputs[0])
    return inputs[0]


def _prelu(layer: Layer, inputs: Inputs) -> Shape:
    if layer.n_slopes not in (1, inputs[0].n_maps):
        expected = f"1 or the {inputs[0].n_maps} maps it reads"
        raise layer_error(layer.name, "n_slopes", layer.n_slopes, expected, "One slope for all maps, or one for each.")
    return inputs[0]


def _tokens(_layer: Layer, inputs: Inputs) -> Shape:
    return Shape(inputs[0].n_maps, inputs[0].map_size, 1)


def _unflatten(layer: Layer, inputs: Inputs) -> Shape:
    target = Shape(layer.n_maps, *layer.output_size)
    if target.size != inputs[0].size:
        raise _misfit(
            layer, inputs[0], f"{target.size} elements", "Nothing is lost: n_maps x height x width are as many as before."
        )
    return target


def _class_token(layer: Layer, inputs: Inputs) -> Shape:
    _check_sequence(layer, inputs[0])
    return Shape(inputs[0].n_maps, inputs[0].height + layer.n_tokens, 1)


def _select_token(layer: Layer, inputs: Inputs) -> Shape:
    _check_sequence(layer, inputs[0])
    if layer.n_tokens > inputs[0].height:
        raise _misfit(layer, inputs[0], f"at least {layer.n_tokens} tokens", "A select_token keeps n_tokens of those it reads.")
    return Shape(inputs[0].n_maps, layer.n_tokens, 1)


def _embedding(layer: Layer, inputs: Inputs) -> Shape:
    _check_sequence(layer, inputs[0])
    if inputs[0].n_maps != 1:
        hint = "An embedding reads one index for each token: input_maps = 1, input_size = [128, 1]."
        raise _misfit(layer, inputs[0], "one map", hint)
    return Shape(layer.n_maps, inputs[0].height, 1)


def _attention(layer: Layer, inputs: Inputs) -> Shape:
    _check_sequence(layer, inputs[0])
    if inputs[0].n_maps % layer.n_heads:
        expected = f"a divisor of the {inputs[0].n_maps} maps it reads"
        raise layer_error(layer.name, "n_heads", layer.n_heads, expected, "Every head has the same number of maps.")
    return inputs[0]


def _attend(layer: Layer, inputs: Inputs) -> Shape:
    """Queries, keys and values; what is written stands where the queries stood."""
    if len(inputs) != 3:
        hint = 'Name them, as in inputs = ["queries", "keys", "values"]; the same layer may stand for two of them.'
        raise layer_error(layer.name, "inputs", len(inputs), "three: queries, keys and values", hint)
    query, key, value = inputs
    if query.n_maps % layer.n_heads:
        raise _misfit(layer, query, f"maps that {layer.n_heads} heads divide", "Every head has the same number of maps.")
    head = query.n_maps // layer.n_heads
    n_shared = key.n_maps // head
    if key.n_maps % head or layer.n_heads % max(n_shared, 1) or not n_shared:
        hint = "As many heads of keys as of queries, or fewer that these share; all as wide."
        raise _misfit(layer, key, f"keys of {query.n_maps} maps like the queries", hint)
    if value.map_size != key.map_size:
        raise _misfit(layer, value, f"values for {key.map_size} tokens like the keys", "Every key has a value.")
    if value.n_maps % n_shared:
        raise _misfit(layer, value, f"maps that {n_shared} heads divide", "Every head has the same number of maps.")
    for shape in (query, key):
        if shape.map_size % layer.groups:
            raise _misfit(layer, shape, f"tokens that {layer.groups} windows divide", "Every window holds as many tokens.")
    return Shape(layer.n_heads * (value.n_maps // n_shared), query.height, query.width)


def _recurrent(layer: Layer, inputs: Inputs) -> Shape:
    _check_sequence(layer, inputs[0])
    return Shape(layer.n_maps * layer.n_directions, inputs[0].height, 1)


def _part(layer: Layer, inputs: Inputs) -> Shape:
    last, source = layer.first + layer.n_maps, inputs[0]
    if last > source.n_maps:
        raise _misfit(layer, source, f"at least {last} maps", "A part takes n_maps maps from the map number first on.")
    return Shape(layer.n_maps, source.height, source.width)


def _check_groups(layer: Layer, source: Shape) -> None:
    if source.n_maps % layer.groups:
        expected = f"a divisor of the {source.n_maps} maps it reads"
        raise layer_error(layer.name, "groups", layer.groups, expected, "Every group reads the same number of maps.")


def _check_sequence(layer: Layer, shape: Shape) -> None:
    if shape.width != 1:
        hint = 'A sequence is a map of one column: put a layer of kind = "tokens" before.'
        raise _misfit(layer, shape, "a width of 1", hint)


_MERGES = ("add", "concat", "multiply", "attend")
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
    "transposed_conv": _transposed_conv,
    "resize": _resize,
    "multiply": _multiply,
    "layer_norm": _same,
    "group_norm": _group_norm,
    "layer_scale": _same,
    "layer_shift": _same,
    "prelu": _prelu,
    "tokens": _tokens,
    "unflatten": _unflatten,
    "class_token": _class_token,
    "select_token": _select_token,
    "position_embedding": _same,
    "embedding": _embedding,
    "attention": _attention,
    "attend": _attend,
    "recurrent": _recurrent,
    "part": _part,
    "shuffle": _group_norm,
}
