"""Compiled loops where numba is installed, the same functions undecorated where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    import numba
except ImportError:
    numba = None

HAVE_NUMBA = numba is not None


def jit(function: Function) -> Function:
    """Compile ``function`` with ``numba.njit(cache=True)``; without numba return it as it is."""
    if numba is None:
        return function
    compiled: Function = numba.njit(cache=True)(function)
    return compiled


def jit_loops(function: Function) -> Function:
    """As `jit`, for inner loops of sums that may be reordered, run beside other threads: ``fastmath`` and without the GIL."""
    if numba is None:
        return function
    compiled: Function = numba.njit(cache=True, fastmath=True, nogil=True)(function)
    return compiled
