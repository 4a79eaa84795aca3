"""Edits of regions that share computations, against every nanosecond by itself."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from message_programs import protocol_timing

from mlperf.core.errors import UsageError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.replay import replay
from mlperf.traces.whatif.combine import edited
from mlperf.traces.whatif.grammar import read_edit
from mlperf.traces.whatif.pieces import cut_at, pieces_of
from mlperf.traces.whatif.regions import steps_of

LENGTH = 400
COLUMNS = ("start_ns", "duration_ns", "rank", "kind", "name", "corr")


def nested(seed: int) -> tuple[EventTable, list[list[tuple[int, int, int]]]]:
    """Two ranks that meet at random times in barriers, inside of regions outer and inner; and the regions' passes by rank."""
    rng = random.Random(seed)
    rows, passes = [], []
    for rank in range(2):
        cuts = sorted(rng.sample(range(LENGTH), 8))
        outer, inner = [(cuts[0], cuts[3]), (cuts[4], cuts[7])], [(cuts[1], cuts[2]), (cuts[5], cuts[6])]
        passes.append([(name, begin, end) for name, region in enumerate((outer, inner)) for begin, end in region])
        rows += [(begin, end - begin, rank, Kind.REGION, name, -1) for name, begin, end in passes[-1]]
        calls = sorted(rng.sample(range(LENGTH), 4))
        rows += [(begin, 0, rank, Kind.COLL, 2, number) for number, begin in enumerate(calls)]
        rows.append((LENGTH, 0, rank, Kind.MARK, 2, -1))
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    return event_table(len(rows), strings=("outer", "inner", "MPI_Barrier"), **columns), passes


@pytest.mark.parametrize("seed", range(20))
def test_factors_of_regions_multiply_where_they_meet_in_any_order(seed: int) -> None:
    table, passes = nested(seed)
    run = replay(table, protocol_timing())
    texts = ("compute(region=outer)*0.5", "compute(region=inner)*3", "compute()*2", "compute(0:1)*0", "compute(region=inner)*0.5")
    calls = run.program.calls
    wanted = np.zeros(len(run.times.compute_ns))
    for rank in range(2):
        starts = calls.start_ns[calls.first[rank] : calls.first[rank + 1]]
        for moment in range(LENGTH):
            place = int(np.searchsorted(starts, moment, side="right"))
            edge = int(calls.first[rank]) + place if place < len(starts) else len(calls) + rank
            factor = 2.0 * (0.0 if (rank, place) == (0, 1) else 1.0)
            for name, begin, end in passes[rank]:
                factor *= (0.5, 1.5)[name] if begin <= moment < end else 1.0
            wanted[edge] += factor
    for order in itertools.islice(itertools.permutations(texts), 0, 120, 13):
        edits = [read_edit(text, run.timing) for text in order]
        assert edited(run, edits).times.compute_ns.tolist() == np.rint(wanted).tolist()


def test_pieces_of_a_computation_add_up_to_it() -> None:
    run = replay(nested(3)[0], protocol_timing())
    steps = (steps_of(run, "outer"), steps_of(run, "inner"))
    pieces = pieces_of(run, steps)
    assert np.bincount(pieces.edge, pieces.lasts_ns).tolist() == run.times.compute_ns.tolist()
    for number, region in enumerate(steps):
        inside = pieces.step[number] >= 0
        assert pieces.lasts_ns[inside].sum() == region.compute_ns.sum()
    assert pieces_of(run, ()).lasts_ns.sum() == run.times.compute_ns.sum()


def test_a_step_is_balanced_once_and_then_scaled() -> None:
    run = replay(nested(5)[0], protocol_timing())

    def after(*texts: str) -> list[int]:
        found: list[int] = edited(run, [read_edit(text, run.timing) for text in texts]).times.compute_ns.tolist()
        return found

    balanced = after("balance(compute, region=outer)")
    assert balanced != run.times.compute_ns.tolist()
    assert after("balance(compute, region=outer)", "balance(compute, region=outer, step=0:1)") == balanced
    assert after("compute()*3", "balance(compute, region=outer)") == after("balance(compute, region=outer)", "compute()*3")
    assert after("compute()*0", "compute(region=outer)*0.5") == [0] * len(balanced)


def test_a_step_without_computation_gets_a_piece() -> None:
    """Rank 1 computes nothing in its pass: half of the 100 that rank 0 does, and half of that."""
    rows = [(0, 100, 0, Kind.REGION, 0, -1), (100, 20, 0, Kind.COLL, 1, 0), (0, 0, 1, Kind.REGION, 0, -1)]
    rows.append((0, 120, 1, Kind.COLL, 1, 0))
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    run = replay(event_table(4, strings=("outer", "MPI_Barrier"), **columns), protocol_timing())
    edits = [read_edit(text, run.timing) for text in ("compute(region=outer)*0.5", "balance(compute)")]
    assert edited(run, edits).times.compute_ns.tolist() == [25, 25, 0, 0]


def two_regions(inner: tuple[int, int]) -> EventTable:
    """Rank 0 computes 10 and rank 1 20 before a barrier and 10 behind it, all of it in region outer; and a region inner."""
    rows = []
    for rank, work in ((0, 10), (1, 20)):
        rows += [(0, 40, rank, Kind.REGION, 0, -1), (inner[0], inner[1] - inner[0], rank, Kind.REGION, 1, -1)]
        rows += [(work, 30 - work, rank, Kind.COLL, 2, 0), (40, 0, rank, Kind.COLL, 2, 1)]
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    return event_table(len(rows), strings=("outer", "inner", "MPI_Barrier"), **columns)


@pytest.mark.parametrize("order", [("outer", "inner"), ("inner", "outer")])
def test_computations_of_two_regions_are_balanced_in_one_of_them(order: tuple[str, str]) -> None:
    """Each balance alone makes 15 and 15 of 10 and 20; both would make 20 and 10."""
    run = replay(two_regions((0, 30)), protocol_timing())
    edits = [read_edit(f"balance(compute, region={name})", run.timing) for name in order]
    for edit in edits:
        assert edited(run, [edit]).times.compute_ns.tolist()[:3:2] == [15, 15]
    with pytest.raises(UsageError, match=f"region {order[1]}, step 0 shares computations with region {order[0]}, step 0") as caught:
        edited(run, edits)
    assert "one of them at a time" in caught.value.hint


def test_regions_that_share_no_computation_are_balanced_together() -> None:
    run = replay(two_regions((22, 28)), protocol_timing())
    edits = [read_edit(f"balance(compute, region={name})", run.timing) for name in ("outer", "inner")]
    assert edited(run, edits).times.compute_ns.tolist() == edited(run, edits[:1]).times.compute_ns.tolist()


def test_messages_of_two_regions_are_balanced_in_one_of_them() -> None:
    rows = [(0, 40, rank, Kind.REGION, name, -1, -1, 0) for rank in range(2) for name in range(2)]
    rows += [(10, 5, 0, Kind.SEND, 2, 1, 5, 900), (10, 5, 1, Kind.RECV, 2, 0, 4, 900)]
    rows += [(20, 5, 1, Kind.SEND, 2, 0, 7, 100), (20, 5, 0, Kind.RECV, 2, 1, 6, 100)]
    names = ("start_ns", "duration_ns", "rank", "kind", "name", "peer", "match", "size_bytes")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    run = replay(event_table(len(rows), strings=("outer", "inner", "MPI"), **columns), protocol_timing())
    edits = [read_edit(f"balance(volume, region={name})", run.timing) for name in ("outer", "inner")]
    edited(run, edits[:1])
    with pytest.raises(UsageError, match="region inner, step 0 shares messages with region outer, step 0"):
        edited(run, edits)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_that_is_cut_once_answers_as_one_that_is_cut_for_each_edit(seed: int) -> None:
    run = replay(nested(seed)[0], protocol_timing())
    cut = cut_at(run, ("inner", "outer"))
    for text in ("balance(region=inner)", "compute(region=outer)*0.5", "balance(volume, region=outer, step=1)", "compute(0:1)*0"):
        edit = read_edit(text, run.timing)
        for _ in range(2):
            again = edited(run, [edit], cut)
            assert again.times.compute_ns.tolist() == edited(run, [edit]).times.compute_ns.tolist()
            assert again.time_ns.tolist() == edited(run, [edit]).time_ns.tolist()
