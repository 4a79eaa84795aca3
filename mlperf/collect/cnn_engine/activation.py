"""Bias and activation function forward, its derivative backward; dropout as the element-wise pass it is."""

from __future__ import annotations

import numpy as np

from mlperf.collect.cnn_engine.builder import Array, Builder, Contribution
from mlperf.collect.cnn_engine.functions import FUNCTIONS
from mlperf.specs.network.cnn import Layer

KEPT = 0.5


def forward_bias(build: Builder, layer: Layer) -> None:
    """Lay out bias + f behind the product of ``layer``: in place, unless the derivative needs what it would overwrite."""
    name = build.fused.function_of[layer.name]
    function, before = FUNCTIONS[name], build.values[layer.name]
    bias = build.parameter(layer, "bias", (before.shape[-1],), 0.1)
    out = build.new_value(layer) if function.from_input else before
    build.save(layer, "kept", before if function.from_input else out)

    def add_bias() -> None:
        np.add(before, bias, out=before)

    def run() -> None:
        np.add(before, bias, out=before)
        function.apply(before, out)

    build.emit("activation", layer.name, add_bias if name == "identity" else run)


def forward_activation(build: Builder, layer: Layer) -> None:
    """Lay out an activation that no bias precedes."""
    function, source = FUNCTIONS[layer.function], build.source(layer)
    out = build.new_value(layer)
    build.save(layer, "kept", source if function.from_input else out)
    build.emit("activation", layer.name, lambda: function.apply(source, out))


def backward_bias(build: Builder, layer: Layer, received: Contribution) -> Array:
    """Lay out the derivative of the function behind a bias; returns the gradient before bias and function."""
    name = build.fused.function_of.get(layer.name, "identity")
    if name == "identity":
        return received.array
    out = received.array if received.exclusive else np.empty_like(received.array)
    pull_back(build, layer, name, received.array, out)
    return out


def backward_activation(build: Builder, layer: Layer, received: Contribution) -> None:
    """Lay out the derivative of a standalone activation."""
    source = build.cnn.sources[layer.name][0]
    if layer.function == "identity":
        build.send(source, received.array, exclusive=received.exclusive)
        return
    pull_back(build, layer, layer.function, received.array, build.new_gradient(source))


def pull_back(build: Builder, layer: Layer, function_name: str, gradient: Array, out: Array) -> None:
    """Lay out ``out = gradient * f'``."""
    slope, kept = FUNCTIONS[function_name].slope, build.saved[layer.name]["kept"]
    mask = np.empty(gradient.shape, dtype=np.bool_)

    def run() -> None:
        np.multiply(gradient, slope(kept, mask), out=out)

    build.emit("activation_gradient", layer.name, run)


def forward_dropout(build: Builder, layer: Layer) -> None:
    """Lay out a product with a mask drawn once: the pass over memory is timed, the random draws are not."""
    source, out = build.source(layer), build.new_value(layer)
    mask = build.save(layer, "mask", (build.rng.random(out.shape) < KEPT).astype(build.dtype) / build.dtype.type(KEPT))
    build.emit("activation", layer.name, lambda: np.multiply(source, mask, out=out))


def backward_dropout(build: Builder, layer: Layer, received: Contribution) -> None:
    """Lay out the same product backward."""
    mask, gradient = build.saved[layer.name]["mask"], received.array
    out = build.new_gradient(build.cnn.sources[layer.name][0])
    build.emit("activation_gradient", layer.name, lambda: np.multiply(gradient, mask, out=out))
