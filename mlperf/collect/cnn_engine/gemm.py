"""Matrix products of a training step, each logged with its sizes and flags as BLAS sees them, and the fully connected layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mlperf.collect.cnn_engine.builder import Array, Builder, Gemm
from mlperf.specs.network.cnn import Layer


def product(build: Builder, kernel: str, layer: str, pairs: Sequence[tuple[Array, Array, Array]], flags: str) -> Callable[[], None]:
    """Log the products ``out = a @ b`` and return the function that runs them.

    Parameters
    ----------
    pairs : sequence of (a, b, out)
        One entry a group; a (m, k), b (k, n), out (m, n); a transposed operand is a view, which NumPy hands to BLAS as a flag.
    flags : {"NN", "TN", "NT"}
        Which operand is such a view.
    """
    a, b, _ = pairs[0]
    build.gemms.append(Gemm(kernel, layer, a.shape[0], b.shape[1], a.shape[1], flags, len(pairs)))
    if len(pairs) == 1:
        return single(*pairs[0])
    return grouped(tuple(pairs))


def single(a: Array, b: Array, out: Array) -> Callable[[], None]:
    """One product."""

    def run() -> None:
        np.matmul(a, b, out=out)

    return run


def grouped(pairs: tuple[tuple[Array, Array, Array], ...]) -> Callable[[], None]:
    """One product for each group of channels."""

    def run() -> None:
        for a, b, out in pairs:
            np.matmul(a, b, out=out)

    return run


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
