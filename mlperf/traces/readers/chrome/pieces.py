"""A large JSON file as pieces of bytes, decompressed as they are read."""

from __future__ import annotations

import zlib
from collections.abc import Generator
from typing import IO

from mlperf.traces.readers.content import GZIP_MAGIC

PIECE_BYTES = 1 << 18
GZIP_WINDOW = 31
"""What tells zlib to expect gzip's header."""


def pieces(stream: IO[bytes]) -> Generator[bytes, None, str]:
    """Bytes of a file in order, gunzipped where it begins as gzip does; returns what is wrong with its end, or nothing."""
    first = stream.read(PIECE_BYTES)
    if first.startswith(GZIP_MAGIC):
        return (yield from _unzipped(first, stream))
    while first:
        yield first
        first = stream.read(PIECE_BYTES)
    return ""


def _unzipped(raw: bytes, stream: IO[bytes]) -> Generator[bytes, None, str]:
    """Content of gzip members one after another, in pieces of bounded size."""
    member = zlib.decompressobj(GZIP_WINDOW)
    while raw:
        try:
            content = member.decompress(raw, PIECE_BYTES)
        except zlib.error as error:
            return f"its compression is broken ({error})"
        if content:
            yield content
        if member.eof:
            raw = (member.unused_data or stream.read(PIECE_BYTES)).lstrip(b"\0")
            if raw:
                member = zlib.decompressobj(GZIP_WINDOW)
        else:
            raw = member.unconsumed_tail or stream.read(PIECE_BYTES)
    return "" if member.eof else "its compression ends early"
