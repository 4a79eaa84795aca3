"""Which segments are measured: sizes of fully connected, convolutional and pooling loops, and what one call of a pass is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mlperf.collect.canonical.build import convolution, dense, pool
from mlperf.collect.canonical.loops import VALUE_BYTES, Floats, Loops, error_terms, working_set_bytes
from mlperf.collect.protocol.host import cache_bytes

LEAST_BYTES = 16 * 1024
ASPECTS = (0.25, 1.0, 4.0)
"""Inputs over outputs of fully connected segments: three of them tell multiply-adds from neurons."""

CONVOLUTIONS = (
    *((16, 16, 1, 8, 5), (16, 16, 8, 16, 3), (8, 8, 16, 32, 3), (10, 16, 1, 16, 5)),
    *((32, 32, 3, 16, 5), (32, 32, 16, 16, 3), (16, 16, 32, 32, 3), (8, 8, 64, 64, 3)),
    *((8, 16, 1, 16, 5), (6, 6, 8, 16, 5), (12, 12, 8, 32, 5), (4, 12, 16, 16, 3)),
)
"""Rows and columns of the input, maps read and written, side of the kernels."""

POOLS = ((6, 12, 16, 2), (8, 8, 8, 2), (12, 12, 16, 2), (16, 16, 16, 2), (32, 32, 16, 2), (64, 64, 32, 2))
"""Rows and columns of the input, maps, side of a window."""

SHARDS = (4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216)
"""Values of a server's part."""
BLOCK = 2**14 + 1


@dataclass(frozen=True, slots=True)
class Case:
    """One segment and one of its passes.

    Attributes
    ----------
    kind, direction : str
        As in the table ``canonical``: kind of layer, and pass.
    sizes : tuple of int
        fc: inputs, outputs; conv: rows and columns of the input, maps read, maps written, kernel; pool: rows and columns of the
        input, maps, side of a window; server: values.
    code : str
        Which code runs it.
    """

    kind: str
    direction: str
    sizes: tuple[int, ...]
    code: str = "blas"


def canonical_cases(code: str = "blas", *, quick: bool) -> tuple[Case, ...]:
    """All cases: working sets from 16 KiB to four times the largest cache in steps of 2 (quick: to that cache, in steps of 4)."""
    segments: list[tuple[str, tuple[int, ...]]] = [("fc", sizes) for sizes in dense_sizes(quick=quick)]
    segments += [("conv", sizes) for sizes in CONVOLUTIONS[:: 2 if quick else 1]]
    segments += [("pool", sizes) for sizes in POOLS[:: 2 if quick else 1]]
    passes = {"fc": ("forward", "backward", "update"), "conv": ("forward", "backward", "update"), "pool": ("forward", "backward")}
    cases = [Case(kind, direction, sizes, code) for kind, sizes in segments for direction in passes[kind]]
    return (*cases, *(Case("server", "add", (size,), code) for size in SHARDS))


def dense_sizes(*, quick: bool) -> Iterator[tuple[int, int]]:
    """Inputs and outputs of the fully connected segments."""
    largest = max(cache_bytes().values(), default=32 * 2**20) * (1 if quick else 4)
    size, factor = LEAST_BYTES, 4 if quick else 2
    while size <= largest:
        for aspect in ASPECTS:
            n_in = max(2, round((size / VALUE_BYTES * aspect) ** 0.5))
            yield n_in, max(1, size // (VALUE_BYTES * n_in))
        size *= factor


def values(*shape: int) -> Floats:
    """Small numbers of any shape, quickly."""
    block = (0.1 * np.random.default_rng(0).standard_normal(BLOCK)).astype(np.float32)
    return np.resize(block, shape)


def loops_of(code: str, kind: str, sizes: tuple[int, ...]) -> Loops:
    """The segment of a case."""
    if kind == "fc":
        n_in, n_out = sizes
        return dense(code, values(n_out, n_in + 1))
    if kind == "conv":
        rows, width, maps_in, maps_out, kernel = sizes
        return convolution(code, values(kernel**2 * maps_in + 1, maps_out), kernel, rows, width)
    rows, width, maps, size = sizes
    return pool(code, size, rows, width, maps)


def held_bytes(case: Case) -> int:
    """Bytes of the weights of a case, where they are what is large; a server's also of what it receives."""
    if case.kind == "server":
        return 2 * VALUE_BYTES * case.sizes[0]
    return VALUE_BYTES * case.sizes[0] * case.sizes[1] if case.kind == "fc" else 0


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One case ready to be timed.

    Attributes
    ----------
    run : callable
        One call: one sample.
    n_connections, n_neurons : int
        What it does.
    working_set_bytes : float
        What it touches again and again.
    """

    run: Callable[[], object]
    n_connections: int
    n_neurons: int
    working_set_bytes: float


def call_of(case: Case) -> Call:
    """Buffers and the call of a case; a backward pass ends with f' of its inputs, as eq. 7 counts it, a product does not."""
    if case.kind == "server":
        weights, received = values(case.sizes[0]), values(case.sizes[0])
        return Call(lambda: np.add(weights, received, out=weights), case.sizes[0], 0, 2.0 * VALUE_BYTES * case.sizes[0])
    loops = loops_of(case.code, case.kind, case.sizes)
    x, delta = values(loops.n_inputs), values(loops.n_neurons)
    out, saved = loops.forward(x)
    gradient: Floats = np.zeros_like(loops.weights)
    runs: dict[str, tuple[Callable[[], object], int]] = {
        "forward": (lambda: loops.forward(x), loops.n_neurons),
        "backward": (lambda: error_terms(loops.backward(delta, saved).ravel(), x), loops.n_inputs),
        "product": (lambda: loops.backward(delta, saved), 0),
        "update": (lambda: loops.update(delta, saved, gradient), 0),
        "error": (lambda: error_terms(delta, out.ravel()), loops.n_neurons),
    }
    run, n_neurons = runs[case.direction]
    n_connections = 0 if case.direction == "error" else loops.n_connections
    return Call(run, n_connections, n_neurons, working_set_bytes(loops))
