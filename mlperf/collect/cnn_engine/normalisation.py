"""Batch normalisation over a sub-batch, in training mode."""

from __future__ import annotations

import numpy as np

from mlperf.collect.cnn_engine.builder import Builder, Contribution
from mlperf.specs.network.cnn import Layer

EPSILON = 1e-5


def forward_batch_norm(build: Builder, layer: Layer) -> None:
    """Lay out y = scale * (x - mean) / sqrt(variance + 1e-5) + shift, per map; scale and shift only where they are learnt."""
    n_maps = build.cnn.shapes[layer.name].n_maps
    source = build.source(layer).reshape(-1, n_maps)
    out = build.new_value(layer).reshape(-1, n_maps)
    normal = build.save(layer, "normal", np.empty_like(source))
    inverse = build.save(layer, "inverse", build.empty((n_maps,)))
    scale = build.parameter(layer, "scale", (n_maps,), 0.1, 1.0) if layer.bias else None
    shift = build.parameter(layer, "shift", (n_maps,), 0.1) if layer.bias else None
    rows = source.shape[0]

    def run() -> None:
        np.subtract(source, np.add.reduce(source, axis=0) / rows, out=normal)
        np.multiply(normal, normal, out=out)
        np.divide(1, np.sqrt(np.add.reduce(out, axis=0) / rows + EPSILON), out=inverse)
        np.multiply(normal, inverse, out=normal)
        if scale is None or shift is None:
            np.copyto(out, normal)
        else:
            np.multiply(normal, scale, out=out)
            np.add(out, shift, out=out)

    build.emit("batch_norm", layer.name, run)


def backward_batch_norm(build: Builder, layer: Layer, received: Contribution, *, wanted: bool) -> None:
    """Lay out the gradients of scale and shift, and that of the input where it is wanted."""
    source = build.cnn.sources[layer.name][0]
    gradient = received.array.reshape(-1, received.array.shape[-1])
    normal, inverse = build.saved[layer.name]["normal"], build.saved[layer.name]["inverse"]
    learnt = build.gradients.get(layer.name, {})
    scale = build.parameters[layer.name]["scale"] if learnt else np.ones_like(inverse)
    out = build.new_gradient(source).reshape(gradient.shape) if wanted else np.empty_like(gradient)
    rows = gradient.shape[0]

    def run() -> None:
        np.multiply(gradient, normal, out=out)
        by_scale, by_shift = np.add.reduce(out, axis=0), np.add.reduce(gradient, axis=0)
        if learnt:
            np.copyto(learnt["scale"], by_scale)
            np.copyto(learnt["shift"], by_shift)
        if wanted:
            np.multiply(normal, by_scale / -rows, out=out)
            np.add(out, gradient, out=out)
            np.subtract(out, by_shift / rows, out=out)
            np.multiply(out, scale * inverse, out=out)

    build.emit("batch_norm_gradient", layer.name, run)
