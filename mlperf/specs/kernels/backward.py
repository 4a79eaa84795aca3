"""Kernels of the backward pass, last layer first."""

from __future__ import annotations

from collections.abc import Iterator

from mlperf.specs.kernels import further_kinds
from mlperf.specs.kernels.fusion import Fusion, fusion
from mlperf.specs.kernels.work import Work, memory_work, pass_work
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.counts import fan
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape
from mlperf.specs.network.windows import pool_access, pool_kernels, pool_window


def backward_work(cnn: CnnSpec) -> Iterator[Work]:
    """Kernels from the loss gradient back to the first layer with weights, in execution order, for one sample."""
    fused, needed, summed = fusion(cnn), cnn.needs_gradient, cnn.n_gradients
    for layer in reversed(cnn.layers):
        if not needed[layer.name]:
            continue
        target = cnn.shapes[layer.name]
        readers = summed[layer.name]
        if readers > 1:
            yield memory_work(
                "add_gradient", layer.name, target.size * (readers - 1), (readers * target.n_maps, target.n_maps), target
            )
        wanted = any(needed[source] for source in cnn.sources[layer.name])
        yield from _element_wise(layer, target, fused)
        if layer.kind in further_kinds.BACKWARD:
            yield from further_kinds.BACKWARD[layer.kind](layer, cnn.input_shapes(layer.name), target, wanted)
            continue
        yield from _weights(layer, cnn.input_shapes(layer.name)[0], target)
        if wanted:
            yield from _inputs(layer, cnn.input_shapes(layer.name)[0], target)


def _element_wise(layer: Layer, target: Shape, fused: Fusion) -> Iterator[Work]:
    stands_alone = layer.kind == "activation" and layer.name not in fused.absorbed and layer.function != "identity"
    has_function = fused.function_of.get(layer.name, "identity") != "identity"
    if stands_alone or has_function or layer.kind == "dropout":
        yield pass_work("activation_gradient", layer.name, target.size, target)


def _weights(layer: Layer, source: Shape, target: Shape) -> Iterator[Work]:
    """dE/dW and dE/db; those of a batch norm are part of its own kernel."""
    if layer.kind == "batch_norm":
        yield pass_work("batch_norm_gradient", layer.name, target.size, target)
    if layer.kind not in ("conv", "fc"):
        return
    place = {"maps_in": source.n_maps if layer.kind == "conv" else source.size, "maps_out": layer.n_maps}
    place |= {"map_size": target.map_size, "row_size": target.width}
    if layer.bias:
        yield Work("dedb", layer.name, m=1, n=layer.n_maps, k=target.map_size, trans="NN", stretched="k", **place)
    n = layer.n_maps // layer.groups
    yield Work(
        "dedw", layer.name, m=fan(layer, source), n=n, k=target.map_size, trans="TN", stretched="k", groups=layer.groups, **place
    )


def _inputs(layer: Layer, source: Shape, target: Shape) -> Iterator[Work]:
    """dE/dX, for layers where it is more than the same numbers in another shape."""
    if layer.kind == "fc":
        inputs = fan(layer, source)
        yield Work(
            "dedx-fc", layer.name, m=1, n=inputs, k=layer.n_maps, trans="NT", stretched="m", maps_in=layer.n_maps, maps_out=inputs
        )
    if layer.kind == "conv":
        yield from _conv_inputs(layer, source, target)
    if layer.kind == "pool":
        access, window = pool_access(layer, source, target), pool_window(layer, source)
        yield pass_work(pool_kernels(layer)[1], layer.name, access, source, window)
    if layer.kind == "concat":
        yield pass_work("concat_gradient", layer.name, target.size, target)


def _conv_inputs(layer: Layer, source: Shape, target: Shape) -> Iterator[Work]:
    columns = layer.window * source.n_maps
    yield Work(
        "dedx-conv",
        layer.name,
        m=target.map_size,
        n=fan(layer, source),
        k=layer.n_maps // layer.groups,
        trans="NT",
        stretched="m",
        groups=layer.groups,
        maps_in=layer.n_maps,
        maps_out=source.n_maps,
        map_size=target.map_size,
        row_size=target.width,
    )
    yield memory_work("col2im", layer.name, target.map_size * columns, (columns, source.n_maps), target, layer.window)
