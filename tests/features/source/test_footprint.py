"""Distinct lines against counting them one by one."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from mlperf.features.source.footprint import (
    Runs,
    array_footprint,
    distinct,
    distinct_lines,
    lines_by_set,
    merged_run,
    neighbourhoods,
    reached_starts,
    spread_over_sets,
    walks_of,
)
from mlperf.features.source.strides import Access

LINE = 64


def touched(strides: dict[str, int], trips: dict[str, int], start: int, size: int) -> set[int]:
    """Lines of all addresses, element by element."""
    found = set()
    for steps in product(*(range(trips[name]) for name in strides)):
        first = start + size * sum(step * stride for step, stride in zip(steps, strides.values(), strict=True))
        found |= set(range(first // LINE, (first + size - 1) // LINE + 1))
    return found


def access(strides: dict[str, int], offset: int = 0) -> Access:
    return Access("a", 4, strides, (offset,), (1,), "read")


def runs_of(accesses: list[Access], trips: dict[str, int]) -> list[Runs]:
    return [Runs.of(walk, trips) for walk in walks_of(accesses)]


@pytest.mark.parametrize("seed", range(60))
def test_one_reference_to_an_array_with_rows_and_planes(seed: int) -> None:
    rng = random.Random(seed)
    extents = [rng.randint(2, 20) for _ in range(3)]
    dimension = {"i": extents[1] * extents[2], "j": extents[2], "k": 1}
    running = rng.sample("ijk", rng.randint(1, 3))
    trips = dict(zip("ijk", extents, strict=True))
    kept = {name: trips[name] for name in running}
    found = array_footprint(runs_of([access(dimension)], kept), LINE, 1, None).lines
    # The mean over every position of the loops that stand still.
    still = [name for name in "ijk" if name not in kept]
    counts = [
        len(
            touched(
                {name: dimension[name] for name in kept}, kept, 4 * sum(s * dimension[n] for s, n in zip(at, still, strict=True)), 4
            )
        )
        for at in product(*(range(trips[name]) for name in still))
    ]
    assert found == pytest.approx(sum(counts) / len(counts), rel=0.12, abs=1.0)


@pytest.mark.parametrize(
    "moves",
    [
        ((4, 100),), ((64, 10),), ((128, 10),), ((4, 16), (64, 10)), ((400, 100),), ((4, 100), (400, 100)),
        ((1000, 100), (5000, 10)),
        ((100, 7),), ((196, 5), (280, 5)), ((68, 50),), ((200, 3), (300, 40)), ((8, 8), (1024, 8), (1088, 8)),
    ],
)  # fmt: skip
def test_strides_from_an_aligned_start(moves: tuple[tuple[int, int], ...]) -> None:
    span, rest = merged_run(moves, 4, LINE)
    names = [str(number) for number in range(len(moves))]
    strides = dict(zip(names, (stride // 4 for stride, _ in moves), strict=True))
    trips = dict(zip(names, (trips for _, trips in moves), strict=True))
    assert distinct_lines(span, rest, LINE, LINE) == pytest.approx(len(touched(strides, trips, 0, 4)), rel=0.03, abs=0.5)


@pytest.mark.parametrize("running", ["", "j", "i", "ij"])
def test_neighbouring_references_are_one_run(running: str) -> None:
    strides, offsets = {"i": 1000, "j": 1}, (0, 999, 1000, 1001, 2000)
    trips = {name: {"i": 40, "j": 998}[name] for name in running}
    moving = {name: strides[name] for name in running}
    counts = [
        len(set().union(*(touched(moving, trips, 4 * (offset + position), 4) for offset in offsets)))
        for position in (range(16) if running != "ij" else (0,))
    ]
    found = array_footprint(runs_of([access(strides, offset) for offset in offsets], trips), LINE, 1, None).lines
    assert found == pytest.approx(sum(counts) / len(counts), rel=0.05, abs=1.5)


def test_starts_a_whole_number_of_trips_apart_lengthen_the_loop() -> None:
    assert reached_starts(((4000, 10),), [0, 3996, 4000, 4004, 8000]) == (((4000, 12),), [-4, 0, 4])
    assert neighbourhoods([-4, 0, 4, 900], 68) == [(-4, 4), (900, 900)]


def test_no_more_lines_than_the_array_has() -> None:
    both = [access({"i": 10, "j": 1}), access({"i": 1, "j": 10})]
    assert array_footprint(runs_of(both, {"i": 10, "j": 10}), LINE, 1, 400).lines == 7


@pytest.mark.parametrize(("stride", "sets"), [(4096, {0}), (2048, {0, 32}), (256, set(range(0, 64, 4)))])
def test_strides_by_powers_of_two_meet_few_sets(stride: int, sets: set[int]) -> None:
    by_set = lines_by_set(4, ((stride, 64),), LINE, 64)
    assert by_set.sum() == 64
    assert {int(number) for number in by_set.nonzero()[0]} == sets


def test_consecutive_lines_spread_evenly() -> None:
    assert spread_over_sets(10, 4).tolist() == [3, 3, 2, 2]


@pytest.mark.parametrize("values", [[], [5], [3, 3, 0], [-3, 2, 2], [10**12, 1, 1], [64 * 3, 0, 1]])
def test_distinct_values_are_those_of_a_set(values: list[int]) -> None:
    assert distinct(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))
