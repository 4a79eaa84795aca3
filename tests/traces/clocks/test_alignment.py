"""A trace put on one clock: nobody receives before the send, waits that cannot be told from nothing are flagged."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.clocks import align, bracketed, clock_report
from mlperf.traces.clocks.alignment import align_impossible
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable, event_table

OFFSET_NS = (0, 7_000_000, -3_000_000)


def ping_pong(latency_ns: int = 1_000, n_rounds: int = 50, *, answers: bool = True, drift: float = 0.0) -> EventTable:
    """Rank 0 sends to 1 and 2 by turns and gets an answer; receives are posted 100 us before the message comes."""
    rows: list[tuple[int, int, int, int, int]] = []

    def message(source: int, target: int, at: int) -> None:
        rows.append((Kind.SEND, source, at, at + 500, len(rows) + 1))
        rows.append((Kind.RECV, target, at - 100_000, at + latency_ns, len(rows) - 1))

    for number in range(n_rounds):
        other, at = 1 + number % 2, 1_000_000 * (number + 1)
        message(0, other, at)
        if answers:
            message(other, 0, at + 400_000)
    kind, rank, start, end, match = (np.array(column) for column in zip(*rows, strict=True))
    shift, speed = np.array(OFFSET_NS)[rank], 1.0 + np.where(rank == 0, 0.0, drift)
    # A clock shows the true time less its offset.
    start, end = np.rint((start - shift) / speed).astype(int), np.rint((end - shift) / speed).astype(int)
    return event_table(len(rows), kind=kind, rank=rank, start_ns=start, duration_ns=end - start, match=match)


def test_offsets_are_found_within_the_latency() -> None:
    table, report = align(ping_pong(), most_drift_ppm=0.0)
    assert report.uncertainty_ns.tolist() == [0.0, 1_000.0, 1_000.0]
    assert np.abs(report.offset_ns - OFFSET_NS).max() <= 1_000
    receives = np.flatnonzero(table.kind == Kind.RECV)
    assert (table.end_ns[receives] >= table.start_ns[table.match[receives]]).all()
    assert table.attributes["clock_uncertainty_ns"] == {0: 0.0, 1: 1_000.0, 2: 1_000.0}
    assert not report.as_recorded_fits
    assert not (table.flags & Flag.CLOCK_UNSURE).any()


def test_drift_is_followed_along_the_trace() -> None:
    table, report = align(ping_pong(drift=1.5e-4))
    true = ping_pong(drift=0.0)
    moved = np.array(OFFSET_NS)[true.rank]
    assert np.abs(table.start_ns - (true.start_ns + moved)).max() <= 2 * 1_000 + 10
    assert (report.drift_low_ppm[1:] <= 150.0).all()
    assert (report.drift_high_ppm[1:] >= 150.0).all()


def test_waits_below_the_uncertainty_are_flagged() -> None:
    # The receive was posted 100 us before; 60 us of latency leave +-60 us, 150 us leave +-150.
    sure, _ = align(ping_pong(60_000), most_drift_ppm=0.0)
    unsure, _ = align(ping_pong(150_000), most_drift_ppm=0.0)
    assert not (sure.flags & Flag.CLOCK_UNSURE).any()
    assert (unsure.flags & Flag.CLOCK_UNSURE).all()


def test_one_direction_is_unbounded_and_never_zero() -> None:
    recorded = ping_pong(answers=False)
    table, report = align(recorded)
    assert np.isnan(report.offset_ns[1:]).all()
    assert table.attributes["clock_uncertainty_ns"] == {0: 0.0, 1: np.inf, 2: np.inf}
    assert (table.flags & Flag.CLOCK_UNSURE).all()
    assert (table.start_ns == recorded.start_ns).all()
    assert sum("offset unbounded above" in note for note in table.notes) == 2


def test_readings_bound_what_messages_do_not() -> None:
    readings = [
        bracketed(0, [0, 60_000_000], other, [50 - shift, 60_000_050 - shift], [100, 60_000_100])
        for other, shift in ((1, 7_000_000), (2, -3_000_000))
    ]
    report = clock_report(ping_pong(answers=False), most_drift_ppm=0.0, readings=readings)
    assert (report.uncertainty_ns[1:] <= 50).all()
    assert np.abs(report.offset_ns - OFFSET_NS).max() <= 50


def test_a_contradiction_is_an_error_that_names_the_circle() -> None:
    table = ping_pong()
    late = table.start_ns.copy()
    late[np.flatnonzero(table.rank == 1)[-2:]] -= 50_000_000
    with pytest.raises(DataError, match=r"contradict each other: message: .* on rank [01] was before") as caught:
        align(table.replace(start_ns=late))
    assert "clock that was set" in str(caught.value)
    assert clock_report(table.replace(start_ns=late)).contradiction


def test_members_of_a_collective_are_flagged_by_their_own_wait() -> None:
    start = np.array([0, 40, 100_000])
    table = event_table(
        3, kind=int(Kind.COLL), rank=np.arange(3), start_ns=start, duration_ns=100_500 - start, corr=4, name=0, strings=("barrier",)
    )
    aligned, report = align(table, most_drift_ppm=0.0)
    assert np.isfinite(report.uncertainty_ns).all()
    # Nobody knows who came last: every clock may be off by half of the longest stay.
    assert (aligned.flags & Flag.CLOCK_UNSURE).astype(bool).any()


def test_one_clock_needs_nothing() -> None:
    table, report = align(event_table(2, rank=0, kind=int(Kind.COMPUTE), duration_ns=5))
    assert report.offset_ns.tolist() == [0.0]
    assert len(table) == 2
    empty, report = align(event_table(0))
    assert len(empty) == 0
    assert report.as_recorded_fits


def meetings(shift_ns: int) -> EventTable:
    """Ten barriers of 1 ms to which rank 1, whose clock is ahead by so much, comes 0.4 ms after rank 0."""
    start = np.repeat(np.arange(10) * 10_000_000, 2) + np.tile([0, 400_000 + shift_ns], 10)
    length = np.tile([1_000_000, 600_000], 10)
    operation = np.repeat(np.arange(10), 2)
    ranks = np.tile([0, 1], 10)
    return event_table(
        20,
        kind=[Kind.COLL] * 20,
        rank=ranks,
        start_ns=start,
        duration_ns=length,
        corr=operation,
        name=[0] * 20,
        strings=("barrier",),
    )


def test_only_clocks_that_cannot_be_right_are_moved() -> None:
    """A shift of 0.5 ms is possible, and stays; one of 5 ms is not: the offset lies between -5.4 and -3.4 - 1 ms."""
    kept = meetings(500_000)
    assert align_impossible(kept) is kept
    moved = align_impossible(meetings(5_000_000))
    true = meetings(0)
    assert np.abs((moved.start_ns - moved.start_ns[0]) - (true.start_ns - true.start_ns[0])).max() <= 500_000
    assert "put on one clock" in moved.notes[-1]
