"""Content in pieces, gzipped or not, whole or cut."""

from __future__ import annotations

import gzip
import io

import pytest

from mlperf.traces.readers.chrome.pieces import PIECE_BYTES, pieces

CONTENT = bytes(range(256)) * 4000


def read(raw: bytes) -> tuple[bytes, str, int]:
    """All bytes, what is wrong with the end, and the longest piece."""
    found, longest, more = [], 0, pieces(io.BytesIO(raw))
    while True:
        try:
            found.append(next(more))
        except StopIteration as end:
            return b"".join(found), end.value, longest
        longest = max(longest, len(found[-1]))


@pytest.mark.parametrize(
    "raw", [CONTENT, gzip.compress(CONTENT), gzip.compress(CONTENT[:9]) + gzip.compress(CONTENT[9:]) + b"\0\0"]
)
def test_the_content_comes_in_bounded_pieces(raw: bytes) -> None:
    """Also of several gzip members, with padding behind."""
    content, fault, longest = read(raw)
    assert content == CONTENT
    assert fault == ""
    assert longest <= PIECE_BYTES


def test_what_is_cut_is_kept_as_far_as_it_goes() -> None:
    whole = gzip.compress(CONTENT)
    content, fault, _ = read(whole[: len(whole) // 2])
    assert CONTENT.startswith(content)
    assert len(content) > 0
    assert "ends early" in fault


def test_broken_compression_is_told() -> None:
    damaged = bytearray(gzip.compress(CONTENT))
    damaged[40:60] = b"\xff" * 20
    assert "broken" in read(bytes(damaged))[1]
