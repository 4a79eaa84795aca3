"""The engine's memory-bound kernels as passes: im2col, col2im, pools, activations, normalisation, joins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlperf.features.network_engine.geometry import Site, map_extents, map_operand, map_strides
from mlperf.features.network_engine.passes import Extents, Operand, Pass, Stage, apply_passes, slope_passes, staged
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape

SPREAD = "gradient in columns"


def im2col(site: Site) -> Iterator[Stage]:
    """Copy the map into its border, where there is one, then every window into a row of columns."""
    layer, batch = site.layer, site.batch
    bordered, image = with_border(site)
    if bordered != site.inputs:
        target = Operand("bordered map", "write", map_strides(bordered))
        source = map_operand(site.buffers.value(site.source), "read", site.inputs)
        yield staged(map_extents(batch, site.inputs), ("copy", target, source))
    walk = columns(site, f"columns of {layer.name}", "write"), windows(site, image, bordered, "read")
    yield staged(window_extents(site), ("copy", *walk), around=groups_of(layer))


def col2im(site: Site) -> Iterator[Stage]:
    """Clear the gradient, then add the columns of one tap of the filter after the other."""
    layer, batch = site.layer, site.batch
    yield Stage((), (fill(site.sent, batch, site.inputs),))
    taps = tuple((name, trips) for name, trips in window_extents(site) if name in "rs")
    inner = tuple((name, trips) for name, trips in window_extents(site) if name not in "rs")
    walk = (windows(site, site.sent, site.inputs, "update"), columns(site, SPREAD, "read"))
    yield staged(inner, ("add", *walk), around=(*groups_of(layer), *taps))


def with_border(site: Site) -> tuple[Shape, str]:
    """Shape of the padded map and its block; the map itself where nothing pads."""
    if not any(site.layer.padding):
        return site.inputs, site.buffers.value(site.source)
    rows, cols = (2 * padding for padding in site.layer.padding)
    return Shape(site.inputs.n_maps, site.inputs.height + rows, site.inputs.width + cols), "bordered map"


def groups_of(layer: Layer) -> Extents:
    """Loop over groups of channels."""
    return (("g", layer.groups),)


def window_extents(site: Site) -> Extents:
    """Loops over all windows and the elements of each."""
    height, width = site.layer.filter_size
    per_group = site.inputs.n_maps // site.layer.groups
    return (
        ("b", site.batch),
        ("y", site.outputs.height),
        ("x", site.outputs.width),
        ("r", height),
        ("s", width),
        ("c", per_group),
    )


def columns(site: Site, array: str, access: str) -> Operand:
    """A block of columns: one row for each window, one block for each group."""
    per_group = site.inputs.n_maps // site.layer.groups
    width = site.layer.filter_size[1] * per_group
    fan = site.layer.filter_size[0] * width
    rows = site.outputs.height * site.outputs.width
    strides = {
        "g": site.batch * rows * fan,
        "b": rows * fan,
        "y": site.outputs.width * fan,
        "x": fan,
        "r": width,
        "s": per_group,
        "c": 1,
    }
    return Operand(array, access, strides)


def windows(site: Site, array: str, shape: Shape, access: str) -> Operand:
    """A map, window after window; where taps reach over the border the map is walked as if it went on."""
    layer = site.layer
    row = shape.width * shape.n_maps
    strides = {
        "g": shape.n_maps // layer.groups,
        "b": shape.height * row,
        "y": layer.stride[0] * row,
        "x": layer.stride[1] * shape.n_maps,
        "r": layer.dilation[0] * row,
        "s": layer.dilation[1] * shape.n_maps,
        "c": 1,
    }
    return Operand(array, access, strides)


def fill(array: str, batch: int, shape: Shape) -> Pass:
    """Write zeros over a whole map."""
    return Pass("fill", map_extents(batch, shape), (map_operand(array, "write", shape),))


@dataclass(frozen=True, slots=True)
class Window:
    """Taps of a pool and the part of the map that each walks."""

    taps: Extents
    read: Mapping[str, int]

    @classmethod
    def of(cls, site: Site) -> Window:
        """Make the window from the layer, or from the two map sizes where the pool is adaptive."""
        layer, inputs, outputs = site.layer, site.inputs, site.outputs
        size, stride = layer.filter_size, layer.stride
        if layer.is_adaptive:
            size = stride = (max(1, inputs.height // outputs.height), max(1, inputs.width // outputs.width))
        strides = map_strides(inputs, stride)
        row = inputs.width * inputs.n_maps
        return cls((("r", size[0]), ("s", size[1])), strides | {"r": row, "s": inputs.n_maps})


def pool(site: Site) -> Iterator[Stage]:
    """Four passes for each tap: compare, number, keep the number, keep the maximum."""
    window, extents = Window.of(site), map_extents(site.batch, site.outputs)
    read = Operand(site.buffers.value(site.source), "read", window.read)
    best, own = f"value of {site.layer.name}", map_strides(site.outputs)
    small = {name: Operand(f"{name} of {site.layer.name}", "update", own, 1) for name in ("mask", "number", "indices")}
    yield staged(extents, ("fill", small["indices"]), ("copy", Operand(best, "write", own), read))
    yield staged(
        extents,
        ("greater", read, Operand(best, "read", own), small["mask"]),
        ("multiply_small", small["mask"], small["number"]),
        ("maximum_small", small["indices"], small["number"]),
        ("maximum", Operand(best, "update", own), read),
        around=window.taps,
    )


def unpool(site: Site) -> Iterator[Stage]:
    """Two passes for each tap where windows tile the map, a third that adds where they overlap."""
    window, extents = Window.of(site), map_extents(site.batch, site.outputs)
    own = map_strides(site.outputs)
    gradient = Operand(site.buffers.gradient(site.layer.name), "read", own)
    indices, mask = (Operand(f"{name} of {site.layer.name}", "update", own, 1) for name in ("indices", "unpool mask"))
    target, part = Operand(site.sent, "update", window.read), Operand(f"part of {site.layer.name}", "update", own)
    overlap = any(stride < size for stride, (_, size) in zip(site.layer.stride, window.taps, strict=True))
    if overlap:
        yield Stage((), (fill(site.sent, site.batch, site.inputs),))
    added = (("add", target, part),) if overlap else ()
    product = ("multiply", gradient, mask, part if overlap else target)
    yield staged(extents, ("equal_small", indices, mask), product, *added, around=window.taps)


def average_pool(site: Site) -> Iterator[Stage]:
    """Add tap after tap, then scale."""
    window, extents = Window.of(site), map_extents(site.batch, site.outputs)
    out = Operand(f"value of {site.layer.name}", "update", map_strides(site.outputs))
    yield staged(extents, ("fill", out))
    yield staged(extents, ("add", out, Operand(site.buffers.value(site.source), "read", window.read)), around=window.taps)
    yield staged(extents, ("multiply", out))


def average_unpool(site: Site) -> Iterator[Stage]:
    """Scale into a scratch map and add it, tap after tap."""
    window, extents = Window.of(site), map_extents(site.batch, site.outputs)
    own = map_strides(site.outputs)
    part = Operand(f"part of {site.layer.name}", "update", own)
    yield Stage((), (fill(site.sent, site.batch, site.inputs),))
    scaled = ("multiply", Operand(site.buffers.gradient(site.layer.name), "read", own), part)
    yield staged(extents, scaled, ("add", Operand(site.sent, "update", window.read), part), around=window.taps)


def global_pool(site: Site) -> Iterator[Stage]:
    """Sum over all pixels, channel by channel."""
    image = map_operand(site.buffers.value(site.source), "read", site.inputs)
    out = Operand(f"value of {site.layer.name}", "update", {"b": site.inputs.n_maps, "c": 1})
    yield staged(map_extents(site.batch, site.inputs), ("add", out, image))


def global_unpool(site: Site) -> Iterator[Stage]:
    """Every pixel gets the scaled gradient of its map."""
    gradient = Operand(site.buffers.gradient(site.layer.name), "read", {"b": site.inputs.n_maps, "c": 1})
    target = map_operand(site.sent, "write", site.inputs)
    yield staged(map_extents(site.batch, site.inputs), ("multiply", gradient, target))


def activation(site: Site) -> Iterator[Stage]:
    """Add the bias, apply the function; dropout multiplies with a mask."""
    extents, shape = map_extents(site.batch, site.outputs), site.outputs
    before = map_operand(f"value of {site.layer.name}", "update", shape)
    if site.layer.kind == "dropout":
        names = (site.buffers.value(site.source), f"mask of {site.layer.name}")
        source, mask = (map_operand(name, "read", shape) for name in names)
        yield staged(extents, ("multiply", source, mask, before))
        return
    if site.layer.name not in site.buffers.fused.function_of:
        source = map_operand(site.buffers.value(site.source), "read", shape)
        yield Stage((), apply_passes(site.layer.function, extents, source, before))
        return
    bias = Operand(f"bias of {site.layer.name}", "read", {"c": 1})
    passes = apply_passes(site.buffers.fused.function_of[site.layer.name], extents, before, before)
    yield Stage((), (Pass("add", extents, (before, bias)), *passes))


def activation_gradient(site: Site) -> Iterator[Stage]:
    """The slope, and its product with the gradient."""
    extents, shape = map_extents(site.batch, site.outputs), site.outputs
    gradient = map_operand(site.buffers.gradient(site.layer.name), "read", shape)
    fused = site.buffers.fused.function_of.get(site.layer.name)
    target = gradient if fused else map_operand(site.sent, "write", shape)
    if site.layer.kind == "dropout":
        mask = map_operand(f"mask of {site.layer.name}", "read", shape)
        yield staged(extents, ("multiply", gradient, mask, target))
        return
    kept = map_operand(f"value of {site.layer.name}", "read", shape)
    yield Stage((), slope_passes(fused or site.layer.function, extents, kept, gradient, target))


def softmax(site: Site) -> Iterator[Stage]:
    """Largest logit, difference, exponential, sum, quotient."""
    extents, shape = map_extents(site.batch, site.outputs), site.outputs
    logits = map_operand(site.buffers.value(site.layer.name), "read", shape)
    out = map_operand(site.buffers.gradient(site.layer.name), "update", shape)
    yield staged(extents, ("maximum", logits), ("add", logits, out), ("exp", out), ("add", out), ("divide", out))


def batch_norm(site: Site) -> Iterator[Stage]:
    """Mean, difference, square, variance, scaling; scale and shift where they are learnt."""
    extents, shape, name = map_extents(site.batch, site.outputs), site.outputs, site.layer.name
    source = map_operand(site.buffers.value(site.source), "read", shape)
    normal, out = (map_operand(f"{kind} of {name}", "update", shape) for kind in ("normal", "value"))
    vector = Operand(f"vectors of {name}", "read", {"c": 1})
    last = (("multiply", normal, vector, out), ("add", out, vector))
    yield staged(
        extents,
        ("add", source, vector),
        ("add", source, vector, normal),
        ("multiply", normal, out),
        ("add", out, vector),
        ("multiply", normal, vector),
        *(last if site.layer.bias else (("copy", normal, out),)),
    )


def batch_norm_gradient(site: Site) -> Iterator[Stage]:
    """Product with the normal values, two sums, and four passes for the gradient of the input."""
    extents, shape, name = map_extents(site.batch, site.outputs), site.outputs, site.layer.name
    gradient = map_operand(site.buffers.gradient(name), "read", shape)
    normal, out = map_operand(f"normal of {name}", "read", shape), map_operand(site.sent, "update", shape)
    vector = Operand(f"vectors of {name}", "read", {"c": 1})
    yield staged(
        extents,
        ("multiply", gradient, normal, out),
        ("add", out, vector),
        ("add", gradient, vector),
        ("multiply", normal, vector, out),
        ("add", out, gradient),
        ("add", out, vector),
        ("multiply", out, vector),
    )


def add(site: Site) -> Iterator[Stage]:
    """One pass for each input beyond the first."""
    name = site.layer.name
    yield _sum_of(site, [site.buffers.value(each) for each in site.cnn.sources[name]], f"value of {name}")


def add_gradient(site: Site) -> Iterator[Stage]:
    """Add the gradients that several readers sent, one pass for each beyond the first."""
    name = site.layer.name
    yield _sum_of(site, [site.buffers.sent(reader, name) for reader in site.buffers.readers[name]], f"gradient of {name}")


def _sum_of(site: Site, arrays: Sequence[str], target: str) -> Stage:
    """The second map is added to the first, each further one to the sum."""
    first, *others = [map_operand(array, "read", site.outputs) for array in arrays]
    out = map_operand(target, "update", site.outputs)
    steps = [("add", first if number == 0 else out, other, out) for number, other in enumerate(others)]
    return staged(map_extents(site.batch, site.outputs), *steps)


def concat(site: Site) -> Iterator[Stage]:
    """One copy for each input, to its channels of the output."""
    joined = map_strides(site.outputs)
    for name, shape in zip(site.cnn.sources[site.layer.name], site.cnn.input_shapes(site.layer.name), strict=True):
        operands = (Operand(f"value of {site.layer.name}", "write", joined), map_operand(site.buffers.value(name), "read", shape))
        yield staged(map_extents(site.batch, shape), ("copy", *operands))


def concat_gradient(site: Site) -> Iterator[Stage]:
    """Copy the gradient's parts back to each input."""
    joined = map_strides(site.outputs)
    for name, shape in zip(site.cnn.sources[site.layer.name], site.cnn.input_shapes(site.layer.name), strict=True):
        target = map_operand(site.buffers.sent(site.layer.name, name), "write", shape)
        operands = (target, Operand(site.buffers.gradient(site.layer.name), "read", joined))
        yield staged(map_extents(site.batch, shape), ("copy", *operands))


STAGES: Mapping[str, Callable[[Site], Iterator[Stage]]] = {
    stages.__name__: stages
    for stages in (
        *(im2col, col2im, pool, unpool, average_pool, average_unpool, global_pool, global_unpool),
        *(activation, activation_gradient, softmax, batch_norm, batch_norm_gradient),
        *(add, add_gradient, concat, concat_gradient),
    )
}
