"""A network as a chain of layers that can be cut into stripes: what the equations of model parallelism read."""

from __future__ import annotations

import numpy as np

from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.counts import layer_n_macs, layer_n_params, state_macs
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import window_extent
from mlperf.systems.model_parallel.layers import CONV, FC, POOL, RECURRENT, LayerTable

SELECT = "select_token"
FOLDED = ("activation", "softmax", "dropout", "flatten", SELECT)
FUNCTIONS = {"rnn": 1.0, "gru": 3.0, "lstm": 5.0}
"""Nonlinear functions of a cell for each of its units: of the gates, and of the state that is handed on."""
"""Kinds that belong to the layer before them: their time is that of an activation."""


def layer_table(cnn: CnnSpec) -> LayerTable:
    """Layers that can be partitioned, each with its rows, window, multiply-adds of one sample and stored weights.

    Convolutions, pools, recurrent and fully connected layers of a chain; what `FOLDED` names is part of the layer before it. A row
    of a fully connected or recurrent layer is a neuron, of others one row of all maps. A recurrent layer hands on its state at all
    steps, at one where a token is selected. An adaptive pool has the window and stride of its largest cell.

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
        raise DataError("got no layer to partition, expected conv, pool, recurrent or fc", place=f"cnn {cnn.name!r}")
    rows, per, connections, params, kernel, stride, pad = (
        np.array(column) for column in zip(*(_row(cnn, layer) for layer in kept), strict=True)
    )
    names, kinds = tuple(layer.name for layer in kept), tuple(layer.kind for layer in kept)
    steps = np.array([cnn.shapes[layer.name].height if layer.kind == RECURRENT else 0 for layer in kept])
    inside = np.array(
        [float(state_macs(layer, cnn.input_shapes(layer.name)[0])) if layer.kind == RECURRENT else 0.0 for layer in kept]
    )
    functions = np.array([_functions(cnn, layer) for layer in kept])
    window = (kernel, stride, pad)
    return LayerTable(cnn.name, names, kinds, rows, per, connections, params, *window, steps, inside, functions)


def _functions(cnn: CnnSpec, layer: Layer) -> float:
    """Functions that a recurrent layer works out for each value that it hands on; 1 of others."""
    if layer.kind != RECURRENT:
        return 1.0
    return FUNCTIONS[layer.cell] * cnn.shapes[layer.name].height / _handed_on(cnn, layer)


def _handed_on(cnn: CnnSpec, layer: Layer) -> int:
    """Steps whose states the layer above reads."""
    names = [each.name for each in cnn.layers]
    for each in cnn.layers[names.index(layer.name) + 1 :]:
        if each.kind == SELECT:
            return 1
        if each.kind not in FOLDED:
            break
    return cnn.shapes[layer.name].height


def _belongs(cnn: CnnSpec, layer: Layer) -> bool:
    place = f"cnn {cnn.name!r}, layer {layer.name!r}"
    if layer.kind not in (CONV, POOL, FC, RECURRENT, *FOLDED):
        known = ", ".join((CONV, POOL, FC, RECURRENT, *FOLDED))
        hint = "The equations cover chains of these; predict --system data-parallel takes any network."
        raise DataError(f"got a layer of kind {layer.kind!r}, expected one of {known}", place=place, hint=hint)
    names = tuple(cnn.shapes)
    before = names[names.index(layer.name) - 1]
    if cnn.sources[layer.name] != (before,):
        hint = "Networks with branches cannot be partitioned yet."
        raise DataError(f"got inputs {', '.join(cnn.sources[layer.name])}, expected {before}", place=place, hint=hint)
    if layer.kind == SELECT and not any(each.kind == RECURRENT for each in cnn.layers):
        raise DataError("got a selected token without a recurrent layer before it", place=place)
    return layer.kind not in FOLDED


def _row(cnn: CnnSpec, layer: Layer) -> tuple[int, float, float, float, int, int, int]:
    source, target = cnn.input_shapes(layer.name)[0], cnn.shapes[layer.name]
    par = float(layer_n_params(layer, source))
    conn = float(layer_n_macs(layer, [source], target))
    if layer.kind == FC:
        return target.size, 1.0, conn, par, 1, 1, 0
    if layer.kind == RECURRENT:
        return target.n_maps, float(_handed_on(cnn, layer)), conn, par, 1, 1, 0
    kernel, stride = window_extent(layer.filter_size[0], layer.dilation[0]), layer.stride[0]
    window = layer.window
    if layer.is_adaptive:
        kernel, stride = -(-source.height // target.height), max(1, source.height // target.height)
        window = kernel * -(-source.width // target.width)
    if layer.kind == POOL:
        conn = float(target.size * window)
    return target.height, float(target.width * target.n_maps), conn, par, kernel, stride, layer.padding[0]
