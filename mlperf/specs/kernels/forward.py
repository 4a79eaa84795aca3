"""Kernels of the forward pass, layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mlperf.core.errors import DataError
from mlperf.specs.kernels import further_kinds
from mlperf.specs.kernels.fusion import Fusion, fusion
from mlperf.specs.kernels.work import Work, memory_work, pass_work
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.counts import fan
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape
from mlperf.specs.network.windows import pool_access, pool_kernels, pool_window

Sources = tuple[Shape, ...]


def forward_work(cnn: CnnSpec) -> Iterator[Work]:
    """Kernels from the input to softmax and loss, in execution order, for one sample."""
    fused = fusion(cnn)
    for layer in cnn.layers:
        yield from layer_work(cnn, layer)
        yield from _element_wise(layer, cnn.shapes[layer.name], fused)
    yield softmax_work(cnn)


def layer_work(cnn: CnnSpec, layer: Layer) -> Iterator[Work]:
    """Kernels of one layer but bias, activation and dropout."""
    yield from _RULES[layer.kind](layer, cnn.input_shapes(layer.name), cnn.shapes[layer.name])


def _conv(layer: Layer, sources: Sources, target: Shape) -> Iterator[Work]:
    source, inputs = sources[0], fan(layer, sources[0])
    columns = layer.window * source.n_maps
    yield memory_work("im2col", layer.name, target.map_size * columns, (source.n_maps, columns), target, layer.window)
    yield Work(
        "convolution",
        layer.name,
        m=target.map_size,
        n=layer.n_maps // layer.groups,
        k=inputs,
        trans="NN",
        stretched="m",
        groups=layer.groups,
        maps_in=source.n_maps,
        maps_out=layer.n_maps,
        map_size=target.map_size,
        row_size=target.width,
    )


def _fc(layer: Layer, sources: Sources, _target: Shape) -> Iterator[Work]:
    inputs = fan(layer, sources[0])
    yield Work("fc", layer.name, m=1, n=layer.n_maps, k=inputs, trans="NN", stretched="m", maps_in=inputs, maps_out=layer.n_maps)


def _pool(layer: Layer, sources: Sources, target: Shape) -> Iterator[Work]:
    source = sources[0]
    yield pass_work(pool_kernels(layer)[0], layer.name, pool_access(layer, source, target), source, pool_window(layer, source))


_RULES: Mapping[str, Callable[[Layer, Sources, Shape], Iterator[Work]]] = {
    "conv": _conv,
    "pool": _pool,
    "fc": _fc,
    "batch_norm": further_kinds.once,
    "activation": further_kinds.nothing,
    "softmax": further_kinds.nothing,
    "dropout": further_kinds.nothing,
    "flatten": further_kinds.nothing,
    "add": further_kinds.joined,
    "concat": further_kinds.once,
    **further_kinds.FORWARD,
}


def _element_wise(layer: Layer, target: Shape, fused: Fusion) -> Iterator[Work]:
    stands_alone = layer.kind == "dropout" or (layer.kind == "activation" and layer.name not in fused.absorbed)
    if layer.name in fused.function_of or stands_alone:
        yield pass_work("activation", layer.name, target.size, target)


def softmax_work(cnn: CnnSpec) -> Work:
    """Softmax, loss and loss gradient on the network's output.

    Raises
    ------
    DataError
        A softmax layer stands before the end.
    """
    for layer in cnn.layers[:-1]:
        if layer.kind == "softmax":
            raise DataError(
                "got a softmax before the end, expected it as the last layer",
                place=f"cnn {cnn.name!r}, layer {layer.name!r}",
                hint="Softmax and loss run once, on the network's output; there is no kernel for one in between.",
            )
    shape = cnn.output_shape
    return pass_work("softmax", cnn.layers[-1].name, shape.size, shape)
