"""A large JSON file as pieces of bytes, decompressed as they are read."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

from mlperf.core.errors import DataError
from mlperf.traces.readers.content import GZIP_MAGIC

PIECE_BYTES = 1 << 18
GZIP_WINDOW = 31


def pieces(path: Path) -> Iterator[bytes]:
    """Bytes of a file in order, gunzipped where it begins as gzip does; the return value is what is wrong with its end, or empty.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            first = stream.read(PIECE_BYTES)
            if not first.startswith(GZIP_MAGIC):
                while first:
                    yield first
                    first = stream.read(PIECE_BYTES)
                return ""
            return (yield from _unzipped(first, stream))
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror})", place=str(path), hint="Check the path and its permissions."
        ) from error


def _unzipped(raw: bytes, stream: object) -> Iterator[bytes]:
    """Content of gzip members one after another, in pieces of bounded size."""
    member = zlib.decompressobj(GZIP_WINDOW)
    while raw:
        try:
            content = member.decompress(raw, PIECE_BYTES)
        except zlib.error as error:
            return f"its compression breaks off ({error})"
        if content:
            yield content
        raw = member.unused_data if member.eof else member.unconsumed_tail
        if member.eof and (raw or not content):
            member = zlib.decompressobj(GZIP_WINDOW)
        if not raw:
            raw = stream.read(PIECE_BYTES)
    return "" if member.eof else "its compression ends early"
