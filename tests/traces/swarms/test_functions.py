from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.swarms.functions import N_BINS, collapse, in_steps
from mlperf.traces.timeline.windows import Windows

STRINGS = ("work", "wait", "a.so", "b.so")


def table() -> EventTable:
    """A function in two files, two threads of a pool, a kernel, and a mark that is no work."""
    return event_table(
        7,
        kind=[Kind.SAMPLE, Kind.SAMPLE, Kind.SAMPLE, Kind.SAMPLE, Kind.KERNEL, Kind.COLL, Kind.MARK],
        start_ns=[0, 10, 20, 99, 50, 60, 70],
        duration_ns=[0, 0, 0, 0, 30, 7, 0],
        weight_ns=[5, 5, 5, 5, 0, 0, 0],
        name=[0, 0, 0, 1, 0, 0, 0],
        name2=[2, 2, 3, 2, 2, 2, 2],
        device=[-1, -1, -1, -1, 0, -1, -1],
        pid=1,
        tid=[11, 12, 11, 13, -1, -1, -1],
        strings=STRINGS,
        attributes={"threads": {"1/11": "pool-1", "1/12": "pool-2", "1/13": "main"}},
    )


def test_functions_are_told_by_place_file_and_group_of_threads() -> None:
    found = collapse(table(), 0, 100)
    rows = {
        (place, function, file, thread): (time, n)
        for place, function, file, thread, time, n in zip(
            found.place, found.function, found.file, found.thread, found.time_ns.tolist(), found.n_events.tolist(), strict=True
        )
    }
    assert rows == {
        ("processor", "work", "a.so", "pool-#"): (10.0, 2),
        ("processor", "work", "b.so", "pool-#"): (5.0, 1),
        ("processor", "wait", "a.so", "main"): (5.0, 1),
        ("device", "work", "a.so", ""): (30.0, 1),
        ("messages", "work", "a.so", ""): (7.0, 1),
    }
    assert found.time_ns.tolist() == sorted(found.time_ns.tolist(), reverse=True)


def test_activity_is_where_events_begin() -> None:
    found = collapse(table(), 0, N_BINS)
    own = found.activity[found.function.index("wait")]
    assert np.flatnonzero(own).tolist() == [99]
    assert own.sum() == 5
    assert found.activity.sum() == found.time_ns.sum()


def test_events_out_of_order_are_the_same() -> None:
    turned = table().take(np.arange(7)[::-1])
    one, other = collapse(table(), 0, 100), collapse(turned, 0, 100)
    assert set(zip(one.function, one.file, one.thread, one.time_ns.tolist(), strict=True)) == set(
        zip(other.function, other.file, other.thread, other.time_ns.tolist(), strict=True)
    )


def test_parts_of_steps_are_counted_from_each_step() -> None:
    windows = Windows(0, np.arange(2), np.array([0, 40]), np.array([32, 72]), "planted")
    found = collapse(table(), 0, 100)
    own = in_steps(table(), found, windows)
    place = next(at for at in range(len(found)) if found.file[at] == "b.so")
    assert np.flatnonzero(own[place]).tolist() == [20]
    assert own[found.function.index("wait")].sum() == 0
    kernel = found.place.index("device")
    assert np.flatnonzero(own[kernel]).tolist() == [10]


def test_no_events_are_no_functions() -> None:
    assert len(collapse(event_table(0), 0, 0)) == 0


@pytest.mark.parametrize("n_strings", [3, 100_000])
def test_many_names_stay_apart(n_strings: int) -> None:
    name = np.arange(n_strings)
    strings = [f"f{number}" for number in range(n_strings)]
    events = event_table(n_strings, kind=int(Kind.SAMPLE), weight_ns=1, name=name, name2=name[::-1], strings=strings)
    found = collapse(events, 0, 1)
    assert len(found) == n_strings
    assert found.time_ns.sum() == n_strings
    assert len(found.activity) == min(n_strings, 5000)
