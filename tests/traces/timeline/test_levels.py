"""Levels of detail against brute force: nothing is lost, columns hold what begins in them, zooms agree."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.timeline.levels import (
    COARSEST,
    MOST_DEPTH,
    Items,
    depths,
    exact_items,
    in_columns,
    joined_runs,
    levels_of,
    n_in_columns,
    shares,
    value_levels,
)


def some_items(n_events: int, seed: int = 3) -> Items:
    """Disjoint events of all lengths with gaps."""
    rng = np.random.default_rng(seed)
    length = rng.choice([0, 3, 40, 500, 20_000], n_events, p=[0.1, 0.4, 0.3, 0.15, 0.05]) + rng.integers(0, 3, n_events)
    gap = rng.integers(0, 100, n_events)
    start = np.cumsum(gap + length) - length
    label = rng.integers(0, 6, n_events).astype(np.int32)
    return exact_items(start, start + length, label, rng.integers(0, 1000, n_events))


def brute_force(items: Items, width: int) -> list[tuple[int, int, int, int, int]]:
    """Start, end, label, time and count of each item, by looking at every event."""
    columns: dict[int, list[int]] = {}
    found = []
    for at in range(len(items)):
        if items.end_ns[at] - items.start_ns[at] >= width:
            found.append((int(items.start_ns[at]), int(items.end_ns[at]), int(items.label[at]), int(items.busy_ns[at]), 1))
        else:
            columns.setdefault(int(items.start_ns[at]) // width, []).append(at)
    for members in columns.values():
        weight: dict[int, tuple[int, int]] = {}
        for at in members:
            time, count = weight.get(int(items.label[at]), (0, 0))
            weight[int(items.label[at])] = (time + int(items.busy_ns[at]), count + 1)
        label = min(weight, key=lambda one: (-weight[one][0], -weight[one][1], one))
        first, last = min(int(items.start_ns[at]) for at in members), max(int(items.end_ns[at]) for at in members)
        found.append((first, last, label, sum(int(items.busy_ns[at]) for at in members), len(members)))
    return sorted(found)


@pytest.mark.parametrize("width", [1, 7, 100, 5000, 10**9])
def test_columns_as_counted_one_by_one(width: int) -> None:
    items = some_items(700)
    found = in_columns(items, 0, width)
    rows = sorted(
        zip(*(getattr(found, name).tolist() for name in ("start_ns", "end_ns", "label", "busy_ns", "count")), strict=True)
    )
    assert rows == brute_force(items, width)
    assert len(found) == n_in_columns(items, 0, width)
    assert (np.diff(found.start_ns) >= 0).all()


def test_every_level_keeps_time_count_and_bytes() -> None:
    items = some_items(60_000)
    span = (0, int(items.end_ns.max()))
    levels = levels_of(items, span, 20_000)
    assert len(levels) > 1
    for level in levels:
        assert level.items.busy_ns.sum() == items.busy_ns.sum()
        assert level.items.count.sum() == len(items)
        assert level.items.size_bytes.sum() == items.size_bytes.sum()
    widths = [level.width_ns for level in levels]
    assert widths == sorted(widths, reverse=True)
    assert len(levels[-1].items) <= 20_000 < 2 * len(levels[-1].items)
    assert len(levels[0].items) < 4 * COARSEST


def test_few_events_are_all_there_and_a_chosen_time_whole() -> None:
    items = some_items(900)
    span = (0, int(items.end_ns.max()))
    (only,) = levels_of(items, span, 5000)
    assert only.width_ns == 0
    assert len(only.items) == 900
    many = some_items(60_000)
    span = (0, int(many.end_ns.max()))
    part = (span[1] // 2, span[1] // 2 + span[1] // 200)
    last = levels_of(many, span, 2000, part)[-1]
    inside = (many.end_ns >= part[0]) & (many.start_ns <= part[1])
    assert (last.width_ns, last.from_ns, last.to_ns) == (0, *part)
    np.testing.assert_array_equal(last.items.start_ns, many.start_ns[inside])


def test_runs_of_one_label_are_joined_over_small_gaps_only() -> None:
    start = np.array([0, 10, 20, 40, 50])
    items = exact_items(start, start + 10, np.array([1, 1, 1, 1, 2], dtype=np.int32))
    found = joined_runs(items, 5)
    assert found.start_ns.tolist() == [0, 40, 50]
    assert found.end_ns.tolist() == [30, 50, 60]
    assert found.count.tolist() == [3, 1, 1]


def test_overlapping_events_get_lines_on_which_none_overlap() -> None:
    rng = np.random.default_rng(5)
    start = np.sort(rng.integers(0, 10_000, 300))
    end = start + rng.integers(1, 100, 300)
    found = depths(start, end)
    for depth in range(MOST_DEPTH - 1):
        own = found == depth
        assert (start[own][1:] >= end[own][:-1]).all()
    nested = depths(np.array([0, 1, 2, 6]), np.array([10, 5, 4, 9]))
    assert nested.tolist() == [0, 1, 2, 1]
    assert depths(np.array([0, 5]), np.array([5, 6])).tolist() == [0, 0]


def test_items_are_shared_out_to_those_that_need_more() -> None:
    assert shares([10, 1000, 1000], 500) == [10, 245, 245]
    assert shares([1, 2], 100) == [1, 2]
    assert sum(shares([7, 9, 100, 3], 50)) == 50


def test_a_series_in_columns_keeps_its_extremes() -> None:
    time = np.arange(10_000) * 10
    value = np.sin(time / 500.0)
    value[5000] = 9.0
    at, low, high = value_levels(time, value, (0, 100_000), 100)
    assert len(at) <= 101
    assert (high.max(), low.min()) == (9.0, value.min())
    assert (low <= high).all()
    whole = value_levels(time[:50], value[:50], (0, 500), 100)
    np.testing.assert_array_equal(whole[1], value[:50])
