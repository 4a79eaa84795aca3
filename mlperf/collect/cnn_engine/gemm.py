"""Matrix products of a training step, each logged with its sizes and flags as BLAS sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mlperf.collect.cnn_engine.builder import Array, Builder, Gemm


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
