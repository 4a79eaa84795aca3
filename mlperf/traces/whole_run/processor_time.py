"""Samples tell what threads do, the scheduler how long they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.system.task_looks import TaskLooks, Thread

LARGEST_GAP = 0.05
"""Share by which processor time of samples may miss what the system counted before it is said."""


def weighed_by_looks(tables: Sequence[EventTable], looks: TaskLooks | None) -> list[EventTable]:
    """Let samples of each thread stand for the time that the scheduler counted.

    A sampler's clock runs only between two switches of tasks: where ranks sleep and wake all the time, what it counts is 6 % below
    what the scheduler does. After the last look at a thread its samples count as they are.

    Parameters
    ----------
    tables : sequence of EventTable
        All on CLOCK_MONOTONIC.
    looks : TaskLooks or None

    Returns
    -------
    list of EventTable
        With other weights; threads without a sample, all of them where nothing samples, as rows of their own.
    """
    if looks is None:
        return [*tables]
    last, sampled = looks.last(), set[Thread]()
    found = []
    for table in tables:
        samples = table.kind == Kind.SAMPLE
        if samples.any():
            threads, of_row = np.unique(np.stack([table.pid[samples], table.tid[samples]], axis=1), axis=0, return_inverse=True)
            factors = _factors(threads, of_row.ravel(), table.start_ns[samples], table.weight_ns[samples], last)
            weight = np.array(table.weight_ns)
            weight[samples] = np.rint(weight[samples] * factors[of_row.ravel()])
            table = table.replace(weight_ns=weight)
            sampled |= {(int(pid), int(tid)) for pid, tid in threads}
        found.append(table)
    others = looks.samples()
    return [*found, others.take(np.array([thread not in sampled for thread in _threads(others)], dtype=bool))]


def _factors(
    threads: IntArray, of_row: IntArray, start_ns: IntArray, weight_ns: IntArray, last: Mapping[Thread, tuple[int, int]]
) -> FloatArray:
    """What weights of each thread are multiplied by."""
    known = [last.get((int(pid), int(tid)), (-1, 0)) for pid, tid in threads]
    at_ns, spent_ns = np.array(known, dtype=np.int64).T
    told = np.bincount(of_row, weights=weight_ns, minlength=len(threads))
    after = np.bincount(of_row, weights=np.where(start_ns > at_ns[of_row], weight_ns, 0), minlength=len(threads))
    wanted = np.where(at_ns >= 0, spent_ns + after, told)
    return np.asarray(wanted / np.maximum(told, 1))


def _threads(table: EventTable) -> list[Thread]:
    """Of each row."""
    return list(zip(table.pid.tolist(), table.tid.tolist(), strict=True))


def missed_time(events: EventTable, about: Mapping[str, Any]) -> list[str]:
    """A sentence where samples add up to another processor time than the system counted."""
    counted = float(about.get("user_s", 0.0)) + float(about.get("system_s", 0.0))
    sampled = float(events.weight_ns[events.kind == Kind.SAMPLE].sum()) * 1e-9
    if not sampled or counted < 1.0 or abs(sampled / counted - 1) <= LARGEST_GAP:
        return []
    why = ": no sampler sees switches between tasks, and short threads have no sample" if sampled < counted else ""
    return [f"samples add up to {sampled:.3g} s of processor time, where the system counted {counted:.3g} s{why}"]
