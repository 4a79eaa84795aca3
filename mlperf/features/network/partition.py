"""A network as a chain of layers that can be cut into stripes: what the equations of model parallelism read."""

from __future__ import annotations

import numpy as np

from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.counts import layer_n_macs, layer_n_params
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import window_extent
from mlperf.systems.model_parallel.layers import CONV, FC, POOL, LayerTable

FOLDED = ("activation", "softmax", "dropout", "flatten")
"""Kinds that belong to the layer before them: their time is that of an activation."""


def layer_table(cnn: CnnSpec) -> LayerTable:
    """Layers that can be partitioned, each with its rows, window, multiply-adds of one sample and stored weights.

    Convolutions, pools and fully connected layers of a chain; what `FOLDED` names is part of the layer before it. A row of a fully
    connected layer is a neuron, of others one row of all maps. An adaptive pool has the window and stride of its largest cell.

    Raises
    ------
    DataError
        Names a layer of another kind, or one that does not read the layer before it.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), section 4.1.
    """
    kept = [layer for layer in cnn.layers if _belongs(cnn, layer)]
    if not kept:
        raise DataError("got no layer to partition, expected conv, pool or fc", place=f"cnn {cnn.name!r}")
    columns = [np.array(column) for column in zip(*(_row(cnn, layer) for layer in kept), strict=True)]
    names, kinds = tuple(layer.name for layer in kept), tuple(layer.kind for layer in kept)
    return LayerTable(cnn.name, names, kinds, *columns)


def _belongs(cnn: CnnSpec, layer: Layer) -> bool:
    place = f"cnn {cnn.name!r}, layer {layer.name!r}"
    if layer.kind not in (CONV, POOL, FC, *FOLDED):
        known = ", ".join((CONV, POOL, FC, *FOLDED))
        hint = "The equations cover chains of these; predict --system data-parallel takes any network."
        raise DataError(f"got a layer of kind {layer.kind!r}, expected one of {known}", place=place, hint=hint)
    names = tuple(cnn.shapes)
    before = names[names.index(layer.name) - 1]
    if cnn.sources[layer.name] != (before,):
        hint = "Networks with branches cannot be partitioned yet."
        raise DataError(f"got inputs {', '.join(cnn.sources[layer.name])}, expected {before}", place=place, hint=hint)
    return layer.kind not in FOLDED


def _row(cnn: CnnSpec, layer: Layer) -> tuple[int, float, float, float, int, int, int]:
    source, target = cnn.input_shapes(layer.name)[0], cnn.shapes[layer.name]
    par = float(layer_n_params(layer, source))
    conn = float(layer_n_macs(layer, source, target))
    if layer.kind == FC:
        return target.size, 1.0, conn, par, 1, 1, 0
    kernel, stride = window_extent(layer.filter_size[0], layer.dilation[0]), layer.stride[0]
    window = layer.window
    if layer.is_adaptive:
        kernel, stride = -(-source.height // target.height), max(1, source.height // target.height)
        window = kernel * -(-source.width // target.width)
    if layer.kind == POOL:
        conn = float(target.size * window)
    return target.height, float(target.width * target.n_maps), conn, par, kernel, stride, layer.padding[0]
