"""Where Python threads stood, and whether that is a place to wait for work."""

from __future__ import annotations

import re

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.events.kinds import UNSET
from mlperf.traces.whole_run.recording import Recording

LIBRARY = re.compile(r"(?:^|[\\/])(?:threading|queue|selectors|socket|connection|synchronize|thread|_base)\.py:")
"""Lines of Python's own library: who waits there waits for work or news, and holds nothing."""


def leaf_lines(recording: Recording, rows: IntArray) -> list[str]:
    """``"file:line"`` where each stack's innermost function stood."""
    events = recording.events
    files, lines = events.text(events.name2[rows]), events.tag[rows].tolist()
    return [f"{file}:{line}" if line != UNSET else "" for file, line in zip(files, lines, strict=True)]


def in_library(recording: Recording, rows: IntArray) -> BoolArray:
    """Whether each stack stood in a line of `LIBRARY`."""
    lines = leaf_lines(recording, rows)
    known = {each: LIBRARY.search(each) is not None for each in set(lines)}
    return np.array([known[each] for each in lines], dtype=bool)
