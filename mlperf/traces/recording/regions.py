"""Parallel regions marked from Python, whichever recorder is there."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from mlperf.core.marks import mark_writer

marks: list[tuple[Callable[[str], None], Callable[[str], None]]] = []
"""Begin and end of a region, of the proxy that is recording; it enters itself here."""


@contextmanager
def region(name: str = "PRGN", size_bytes: int = 0) -> Iterator[None]:
    """Mark a parallel region, or a phase of a step; may be repeated and nested. Does nothing where no recorder is there.

    Parameters
    ----------
    name : str
        The region's name; ``"step"`` for a step of training.
    size_bytes : int
        Bytes of memory that what is inside has to move at least, if that is known: ``mlperf record`` then says how near it comes to
        what the memory gives.

    Examples
    --------
    >>> with region("solve"):
    ...     pass
    """
    writer = mark_writer()
    begin, end = marks[-1] if marks else _library_marks()
    if writer is not None:
        writer.begin(name, size_bytes)
    begin(name)
    try:
        yield
    finally:
        end(name)
        if writer is not None:
            writer.end()


@cache
def _library_marks() -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    """The marks of a library that was loaded before Python, or ones that do nothing."""
    loaded = ctypes.CDLL(None)
    try:
        begin, end = loaded.mlperf_region_begin, loaded.mlperf_region_end
    except AttributeError:
        return _nothing, _nothing
    begin.argtypes = end.argtypes = [ctypes.c_char_p]
    begin.restype = end.restype = None
    return lambda name: begin(name.encode()), lambda name: end(name.encode())


def recorder_is_loaded() -> bool:
    """Whether the PMPI library records this process already."""
    return _library_marks()[0] is not _nothing


def _nothing(_name: str) -> None:
    """No recorder is there."""
