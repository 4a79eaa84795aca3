"""Convolution as SPRINT runs it: im2col and one SGEMM forward; dedb, dedw, dedx-conv and col2im backward."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlperf.collect.cnn_engine.builder import Array, Builder
from mlperf.collect.cnn_engine.gemm import product
from mlperf.collect.cnn_engine.windows import inside, padded, sliding, taps
from mlperf.specs.network.cnn import Layer


def forward_convolution(build: Builder, layer: Layer) -> None:
    """Lay out im2col and the product; the columns stay for dedw."""
    image = build.source(layer)
    out = build.new_value(layer)
    batch, height, width, n_maps = out.shape
    groups, fan = layer.groups, layer.window * image.shape[3] // layer.groups
    weights = build.parameter(layer, "weights", (groups, fan, n_maps // groups), (2.0 / fan) ** 0.5)
    columns = build.save(layer, "columns", build.empty((groups, batch * height * width, fan)))
    build.emit("im2col", layer.name, im2col(image, columns, layer, (height, width)))
    parts = split(out.reshape(-1, n_maps), groups)
    pairs = [(columns[g], weights[g], parts[g]) for g in range(groups)]
    build.emit("convolution", layer.name, product(build, "convolution", layer.name, pairs, "NN"))


def backward_weights(build: Builder, layer: Layer, gradient: Array) -> None:
    """Lay out dedb, with a bias, and dedw.

    Parameters
    ----------
    build, layer : Builder, Layer
        The step being laid out and a ``conv`` or ``fc`` layer of it.
    gradient : array, shape (subbatch_size, height, width, n_maps)
        Gradient by the layer's output before bias and activation.
    """
    flat, found = gradient.reshape(-1, gradient.shape[-1]), build.gradients[layer.name]
    if "bias" in found:
        ones = np.ones((1, flat.shape[0]), dtype=flat.dtype)
        build.emit("dedb", layer.name, product(build, "dedb", layer.name, [(ones, flat, found["bias"].reshape(1, -1))], "NN"))
    columns = build.saved[layer.name]["columns"]
    parts = split(flat, columns.shape[0])
    pairs = [(columns[g].T, parts[g], found["weights"][g]) for g in range(columns.shape[0])]
    build.emit("dedw", layer.name, product(build, "dedw", layer.name, pairs, "TN"))


def backward_convolution(build: Builder, layer: Layer, gradient: Array) -> None:
    """Lay out the gradient of the input: dedx-conv and col2im."""
    columns = build.saved[layer.name]["columns"]
    weights = build.parameters[layer.name]["weights"]
    spread = build.spread(columns.shape)
    parts = split(gradient.reshape(-1, gradient.shape[-1]), columns.shape[0])
    pairs = [(parts[g], weights[g].T, spread[g]) for g in range(columns.shape[0])]
    build.emit("dedx-conv", layer.name, product(build, "dedx-conv", layer.name, pairs, "NT"))
    total = build.new_gradient(build.cnn.sources[layer.name][0])
    build.emit("col2im", layer.name, col2im(spread, total, layer, (gradient.shape[1], gradient.shape[2])))


def split(flat: Array, groups: int) -> list[Array]:
    """Columns of a matrix, one view a group."""
    return [flat] if groups == 1 else np.split(flat, groups, axis=1)


def im2col(image: Array, columns: Array, layer: Layer, size_out: tuple[int, int]) -> Callable[[], None]:
    """Copy every window of ``image`` into a row of ``columns``, through a padded buffer where the layer pads."""
    groups, per_group = columns.shape[0], image.shape[3] // columns.shape[0]
    pads = any(layer.padding)
    bordered = padded(image, layer.padding) if pads else image
    middle = inside(bordered, layer.padding)
    copies = []
    for g in range(groups):
        view = sliding(
            bordered[..., g * per_group : (g + 1) * per_group], size_out, layer.filter_size, layer.stride, layer.dilation
        )
        copies.append((columns[g].reshape(view.shape), view))

    def run() -> None:
        if pads:
            np.copyto(middle, image)
        for rows, view in copies:
            np.copyto(rows, view)

    return run


def col2im(spread: Array, total: Array, layer: Layer, size_out: tuple[int, int]) -> Callable[[], None]:
    """Add every column back where im2col took it from: one strided addition for each filter element."""
    groups = spread.shape[0]
    batch, height, width, n_maps = total.shape
    per_group = n_maps // groups
    found = taps((height, width), size_out, layer.filter_size, layer.stride, layer.padding, layer.dilation)
    adds: list[tuple[Array, Array]] = []
    for g in range(groups):
        rows = spread[g].reshape(batch, *size_out, *layer.filter_size, per_group)
        image = total[..., g * per_group : (g + 1) * per_group]
        adds.extend((image[:, *tap.inputs, :], rows[:, *tap.outputs, tap.row, tap.column, :]) for tap in found)

    def run() -> None:
        total.fill(0)
        for target, addend in adds:
            np.add(target, addend, out=target)

    return run
