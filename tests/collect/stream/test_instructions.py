"""Events of one process, counted or explained."""

from __future__ import annotations

import os
import time

import pytest

from mlperf.collect.stream.instructions import TASK_CLOCK, Absent, open_counter


def test_an_event_counts_or_says_why_not() -> None:
    """The task clock is a software event: wherever events may be opened it agrees with the process's own clock."""
    counter = open_counter(os.getpid(), TASK_CLOCK)
    if isinstance(counter, Absent):
        assert counter.reason
        return
    before, start_s = counter.read(), time.thread_time()
    sum(range(2_000_000))
    counted_s, used_s = (counter.read() - before) * 1e-9, time.thread_time() - start_s
    counter.close()
    assert counted_s == pytest.approx(used_s, rel=0.2, abs=0.01)


def test_instructions_are_counted_or_their_absence_is_explained() -> None:
    counter = open_counter(os.getpid())
    if isinstance(counter, Absent):
        assert len(counter.reason) > 10
    else:
        assert counter.read() > 0
        counter.close()
