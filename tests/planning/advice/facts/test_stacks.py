"""Lines where threads stand, and which of them are places to wait for work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.planning.advice.facts.stacks import LIBRARY, in_library, leaf_lines


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/usr/lib/python3.11/threading.py:327", True),
        ("/usr/lib/python3.11/multiprocessing/connection.py:950", True),
        ("/usr/lib/python3.11/queue.py:171", True),
        ("C:\\Python\\Lib\\selectors.py:5", True),
        ("/home/me/train.py:71", False),
        ("/home/me/my_threading.py:3", False),
        ("/home/me/queue.pyx:3", False),
    ],
)
def test_places_to_wait_for_work(line: str, expected: bool) -> None:
    assert (LIBRARY.search(line) is not None) == expected


def test_leaves_of_stacks(made: Callable[[], Made]) -> None:
    maker = made()
    maker.stacks(0, 10 * MS, ["main", "load"], line=7)
    recording = maker.recording()
    rows = np.arange(len(recording.events))
    assert leaf_lines(recording, rows) == ["a.py:7", "a.py:7"]
    assert in_library(recording, rows).tolist() == [False, False]
    assert in_library(recording, rows[:0]).tolist() == []
