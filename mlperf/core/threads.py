"""One thread: around small blocks, where more spin longer than they work, around whatever is timed, and for equal bytes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from threadpoolctl import ThreadpoolController

ONE_THREAD: Mapping[str, str] = MappingProxyType({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
"""Environment of a child process whose numerical libraries shall start no threads."""


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> tuple[Any, ...]:  # noqa: ARG001 - the key: a new module may have loaded a library
    # Looking for the libraries takes milliseconds, setting their threads microseconds: look again after imports only.
    return tuple(ThreadpoolController().lib_controllers)


@contextmanager
def one_thread() -> Iterator[None]:
    """Pin every BLAS and OpenMP of the process to one thread, and give the threads back afterwards."""
    with _one_thread_of(_libraries(len(sys.modules))):
        yield


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Pin every BLAS of the process to one thread, and give the threads back afterwards."""
    with _one_thread_of([library for library in _libraries(len(sys.modules)) if library.user_api == "blas"]):
        yield


@contextmanager
def _one_thread_of(libraries: Iterable[Any]) -> Iterator[None]:
    restore: list[tuple[Callable[[int], None], int]] = []
    for library in libraries:
        n_threads = library.get_num_threads()
        if n_threads is not None and n_threads > 1:
            library.set_num_threads(1)
            restore.append((library.set_num_threads, n_threads))
    try:
        yield
    finally:
        for set_num_threads, n_threads in restore:
            set_num_threads(n_threads)
