"""Segments by the kind of their layer and the code that runs them."""

from __future__ import annotations

from mlperf.collect.canonical.loops import CODES, ConvLoops, DenseLoops, Floats, Loops, PoolLoops
from mlperf.core.errors import MissingExtraError, UsageError
from mlperf.core.suggest import nearest_hint


def check_code(code: str) -> None:
    """Refuse a code that is not there.

    Raises
    ------
    UsageError
        No such code.
    MissingExtraError
        ``scalar`` without numba.
    """
    if code not in CODES:
        raise UsageError(f"got code {code!r}, expected one of {', '.join(CODES)}", hint=nearest_hint(code, CODES))
    if code == "scalar" and not has_numba():
        raise MissingExtraError(
            "scalar loops are compiled by numba, which is absent",
            place="extra 'fast'",
            hint="python -m pip install 'mlperf-estimator[fast]', or take --code blas.",
        )


def has_numba() -> bool:
    """Whether loops can be compiled; ranks that do without need not wait for numba to be imported."""
    from mlperf.core.jit import HAVE_NUMBA

    return HAVE_NUMBA


def dense(code: str, weights: Floats) -> Loops:
    """Fully connected neurons; ``weights`` of shape (n_out, n_in + 1)."""
    if code == "blas":
        return DenseLoops(weights)
    from mlperf.collect.canonical.scalar_loops import ScalarDense

    return ScalarDense(weights)


def convolution(code: str, weights: Floats, kernel: int, rows: int, width: int) -> Loops:
    """Rows of a convolution; ``weights`` of shape (kernel**2 * maps_in + 1, maps_out)."""
    if code == "blas":
        return ConvLoops(weights, kernel, rows, width)
    from mlperf.collect.canonical.scalar_loops import ScalarConv

    return ScalarConv(weights, kernel, rows, width)


def pool(code: str, size: int, rows: int, width: int, maps: int) -> Loops:
    """Rows of a pool."""
    if code == "blas":
        return PoolLoops(size, rows, width, maps)
    from mlperf.collect.canonical.scalar_loops import ScalarPool

    return ScalarPool(size, rows, width, maps)
