"""Marks of JSON, against a scanner that goes byte by byte."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlperf.traces.readers.chrome.tape import MARKS, tape


def slowly(text: bytes) -> list[tuple[int, int]]:
    """Marks outside of strings, and quotes that are not escaped."""
    found, inside, escaped = [], False, False
    for place, byte in enumerate(text):
        if escaped:
            escaped = False
        elif byte == ord("\\"):
            escaped = True
        elif byte == ord('"'):
            inside = not inside
            found.append((place, MARKS.index(byte) + 1))
        elif not inside and byte in MARKS:
            found.append((place, MARKS.index(byte) + 1))
    return found


@given(st.text(alphabet='"\\{}[]:, ax', max_size=40))
def test_marks_are_those_of_a_slow_scanner(text: str) -> None:
    at, kind = tape(np.frombuffer(text.encode(), dtype=np.uint8))
    assert list(zip(at.tolist(), kind.tolist(), strict=True)) == slowly(text.encode())
