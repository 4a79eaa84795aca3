"""Own times of nested functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from profiles import complete, write

from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.own_time import own_time_ns


def test_own_times_of_a_thread_add_up_to_what_is_open(tmp_path: Path) -> None:
    """20 us with 5 and 6 inside, of which the latter holds 4; the same span on another thread is not inside."""
    nested = [("a", 0, 20), ("b", 1, 5), ("c", 10, 6), ("d", 11, 4), ("e", 20, 3)]
    events = [complete("cpu_op", name, start, length) for name, start, length in nested]
    table = read_chrome(write(tmp_path / "a.json", [*events, complete("cpu_op", "f", 2, 3, tid=12)], 0))
    rows = np.arange(len(table))
    own = dict(zip(table.text(table.name), own_time_ns(table, rows).tolist(), strict=True))
    assert own == {"a": 9000, "b": 5000, "c": 2000, "d": 4000, "e": 3000, "f": 3000}
    assert own_time_ns(table, rows[:0]).tolist() == []


def test_functions_that_start_at_once_are_nested_by_their_lengths(tmp_path: Path) -> None:
    events = [complete("cpu_op", "inner", 0, 5), complete("cpu_op", "outer", 0, 8)]
    table = read_chrome(write(tmp_path / "a.json", events, 0))
    assert sorted(own_time_ns(table, np.arange(2)).tolist()) == [3000, 5000]
