"""Samples weighed by the scheduler's count."""

from __future__ import annotations

import numpy as np

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.readers.system.task_looks import TaskLooks
from mlperf.traces.whole_run.processor_time import missed_time, weighed_by_looks

MS = 1_000_000


def looks_at(rows: list[tuple[int, int, int, int]]) -> TaskLooks:
    at_ns, pid, tid, spent_ns = np.array(rows, dtype=np.int64).T
    return TaskLooks(
        "tasks.txt", at_ns, pid, tid, spent_ns, {(int(p), int(t)): f"thread {t}" for p, t in zip(pid, tid, strict=True)}
    )


def samples_at(rows: list[tuple[int, int, int]]) -> EventTable:
    start_ns, tid, weight_ns = np.array(rows, dtype=np.int64).T
    text = {"strings": ("gemm",), "name": 0, "sources": ("perf",)}
    return event_table(len(rows), kind=int(Kind.SAMPLE), start_ns=start_ns, pid=1, tid=tid, weight_ns=weight_ns, **text)


def test_a_thread_weighs_what_the_scheduler_counted_and_its_samples_after_the_last_look() -> None:
    """10 ms by samples until 100 ms, where the scheduler counts 13; 5 ms after that."""
    samples = samples_at([(50 * MS, 1, 5 * MS), (90 * MS, 1, 5 * MS), (110 * MS, 1, 5 * MS), (60 * MS, 2, 4 * MS)])
    (found, others) = weighed_by_looks([samples], looks_at([(40 * MS, 1, 1, 6 * MS), (100 * MS, 1, 1, 13 * MS)]))
    np.testing.assert_allclose(found.weight_ns, [6 * MS, 6 * MS, 6 * MS, 4 * MS])
    assert len(others) == 0


def test_threads_too_short_for_a_sample_count_too() -> None:
    (found, others) = weighed_by_looks([samples_at([(50, 1, 10)])], looks_at([(90, 1, 1, 10), (90, 1, 3, 7)]))
    assert found.weight_ns.tolist() == [10]
    assert (others.tid.tolist(), others.weight_ns.tolist(), others.text(others.name)) == ([3], [7], ["[thread 3]"])


def test_where_nothing_samples_the_looks_are_all_there_is() -> None:
    marks = event_table(1, kind=int(Kind.REGION), start_ns=5, duration_ns=10)
    looks = looks_at([(40, 1, 1, 6), (100, 1, 1, 13)])
    (same, found) = weighed_by_looks([marks], looks)
    assert same is marks
    assert found.weight_ns.tolist() == [6, 7]
    assert weighed_by_looks([marks], None) == [marks]


def test_what_is_missed_is_said() -> None:
    samples = samples_at([(50, 1, 1_000 * MS)])
    assert missed_time(samples, {"user_s": 0.9, "system_s": 0.12}) == []
    (said,) = missed_time(samples, {"user_s": 3.0, "system_s": 1.0})
    assert "add up to 1 s" in said
    assert "counted 4 s" in said
