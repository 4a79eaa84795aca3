"""Marks of JSON outside of strings."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from mlperf.traces.readers.chrome.tape import MARKS, tape


def walked(text: bytes) -> list[int]:
    """Positions of marks by one walk that knows strings and escapes."""
    found, inside, skip = [], False, False
    for at, byte in enumerate(text):
        if skip:
            skip = False
        elif byte == ord("\\"):
            skip = inside
        elif byte == ord('"'):
            inside = not inside
            found.append(at)
        elif not inside and byte in MARKS:
            found.append(at)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_marks_are_those_of_a_walk(seed: int) -> None:
    """Strings hold quotes, backslashes in any number, and marks."""
    rng = random.Random(seed)
    words = ["".join(rng.choice('ab"\\{}[]:,\n') for _ in range(rng.randrange(9))) for _ in range(20)]
    text = json.dumps([{word: [other, {"x": 1}]} for word, other in zip(words[::2], words[1::2], strict=True)]).encode()
    assert tape(np.frombuffer(text, dtype=np.uint8))[0].tolist() == walked(text)


def test_nothing_has_no_marks() -> None:
    assert len(tape(np.zeros(0, dtype=np.uint8))[0]) == 0
