"""Files in pieces: what comes out is what is in them, and a broken end is told."""

from __future__ import annotations

import gzip
import io

import pytest

from mlperf.traces.readers.chrome.pieces import PIECE_BYTES, pieces


def read(raw: bytes) -> tuple[bytes, str, int]:
    found, fault = [], ""
    more = pieces(io.BytesIO(raw))
    try:
        while True:
            found.append(next(more))
    except StopIteration as end:
        fault = end.value
    return b"".join(found), fault, max(map(len, found), default=0)


CONTENT = bytes(range(256)) * 5000


# Names of its own: gzip writes the time down, and processes that run tests side by side would have other names each.
@pytest.mark.parametrize(
    "raw",
    [CONTENT, gzip.compress(CONTENT), gzip.compress(CONTENT[:1000]) + gzip.compress(CONTENT[1000:])],
    ids=["plain", "packed", "packed in parts"],
)
def test_content_comes_whole_in_pieces(raw: bytes) -> None:
    content, fault, largest = read(raw)
    assert (content, fault) == (CONTENT, "")
    assert largest <= PIECE_BYTES


def test_zeros_behind_the_end_are_no_fault() -> None:
    assert read(gzip.compress(CONTENT) + bytes(512))[:2] == (CONTENT, "")


def test_a_cut_gives_what_is_there() -> None:
    packed = gzip.compress(CONTENT)
    content, fault, _ = read(packed[: len(packed) // 2])
    assert CONTENT.startswith(content)
    assert len(content) > 1000
    assert fault == "its compression ends early"


def test_what_is_no_gzip_after_all_is_told() -> None:
    content, fault, _ = read(b"\x1f\x8b" + b"x" * 100)
    assert content == b""
    assert "broken" in fault
