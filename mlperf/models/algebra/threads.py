"""One BLAS thread around small blocks: more threads spin longer than they work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _blas_libraries() -> tuple[Any, ...]:
    # Looking for the libraries takes milliseconds, setting their threads microseconds: look once.
    return tuple(library for library in ThreadpoolController().lib_controllers if library.user_api == "blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Pin every BLAS of the process to one thread, and give the threads back afterwards."""
    restore: list[tuple[Callable[[int], None], int]] = []
    for library in _blas_libraries():
        n_threads = library.get_num_threads()
        if n_threads is not None and n_threads > 1:
            library.set_num_threads(1)
            restore.append((library.set_num_threads, n_threads))
    try:
        yield
    finally:
        for set_num_threads, n_threads in restore:
            set_num_threads(n_threads)
