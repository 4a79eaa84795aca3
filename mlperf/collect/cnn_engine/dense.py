"""Fully connected layers: one SGEMM forward, dedw, dedb and dedx-fc backward; the reshape costs nothing."""

from __future__ import annotations

import numpy as np

from mlperf.collect.cnn_engine.builder import Array, Builder
from mlperf.collect.cnn_engine.gemm import product
from mlperf.specs.network.cnn import Layer


def forward_dense(build: Builder, layer: Layer) -> None:
    """Lay out the product of flattened maps with the weights."""
    flat = build.source(layer).reshape(build.subbatch_size, -1)
    out = build.new_value(layer)
    weights = build.parameter(layer, "weights", (1, flat.shape[1], layer.n_maps), (2.0 / flat.shape[1]) ** 0.5)
    build.save(layer, "columns", flat[np.newaxis])
    build.emit("fc", layer.name, product(build, "fc", layer.name, [(flat, weights[0], out.reshape(-1, layer.n_maps))], "NN"))


def backward_dense(build: Builder, layer: Layer, gradient: Array) -> None:
    """Lay out the gradient of the input."""
    flat = gradient.reshape(-1, layer.n_maps)
    weights = build.parameters[layer.name]["weights"][0]
    out = build.new_gradient(build.cnn.sources[layer.name][0]).reshape(flat.shape[0], -1)
    build.emit("dedx-fc", layer.name, product(build, "dedx-fc", layer.name, [(flat, weights.T, out)], "NT"))
