"""Put all events of a trace on the time of one clock, as far as the trace itself tells how."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.traces.clocks.constraints import Constraints, joined
from mlperf.traces.clocks.drifting import MOST_DRIFT_PPM
from mlperf.traces.clocks.estimate import estimate_clocks
from mlperf.traces.clocks.from_events import clock_numbers, constraints_of
from mlperf.traces.clocks.report import ClockReport
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable

CONTRADICTION_HINT = (
    "Wrong matching, a clock that was set during the run, or files of different runs; if clocks may drift further, say so."
)


def clock_report(
    table: EventTable,
    *,
    most_drift_ppm: float = MOST_DRIFT_PPM,
    least_message_ns: int = 0,
    readings: Sequence[Constraints] = (),
) -> ClockReport:
    """What a matched trace says about its clocks: one a host where every event has a host, else one a rank.

    Parameters
    ----------
    table : EventTable
        With messages matched (`match`) and members of collective operations sharing `corr`.
    most_drift_ppm : float
        How far the speeds of two clocks may differ, millionths; 0: they run alike.
    least_message_ns : int
        Shortest time from the start of a sending to the end of its receipt; 0 is always safe.
    readings : sequence of Constraints
        Further ones between the same clocks, by `bracketed`.
    """
    clock, names = clock_numbers(table)
    return _report(table, (clock, names), most_drift_ppm, joined((constraints_of(table, clock, least_message_ns), *readings)))


def _report(table: EventTable, clocks: tuple[IntArray, tuple[str, ...]], most_drift_ppm: float, found: Constraints) -> ClockReport:
    """The report from constraints."""
    number, names = clocks
    span = np.zeros((len(names), 2), dtype=np.int64)
    known = number != UNSET
    for each in range(len(names)):
        rows = number == each
        span[each] = table.start_ns[rows].min(), table.end_ns[rows].max()
    if not known.any():
        names, span = ("the only clock",), np.zeros((1, 2), dtype=np.int64)
    return estimate_clocks(found, names, span, most_drift_ppm=most_drift_ppm)


def align(
    table: EventTable,
    *,
    most_drift_ppm: float = MOST_DRIFT_PPM,
    least_message_ns: int = 0,
    readings: Sequence[Constraints] = (),
) -> tuple[EventTable, ClockReport]:
    """Put all events on the time of the first clock: each clock's offset is the middle of its bounds.

    Parameters
    ----------
    table, most_drift_ppm, least_message_ns, readings
        As in `clock_report`.

    Returns
    -------
    tuple of EventTable and ClockReport
        Rows in the same order. Events whose waiting cannot be told from nothing have the flag CLOCK_UNSURE; the attribute
        ``clock_uncertainty_ns`` holds the half width by rank (infinite: unbounded). A clock without both bounds stays as recorded,
        a note says so, and all that it shares with others is CLOCK_UNSURE.

    Raises
    ------
    DataError
        The clocks contradict each other whatever their offsets; the message names the circle of events.
    """
    report = clock_report(table, most_drift_ppm=most_drift_ppm, least_message_ns=least_message_ns, readings=readings)
    if report.contradiction:
        raise DataError(f"the clocks contradict each other: {'; '.join(report.contradiction)}", hint=CONTRADICTION_HINT)
    clock, _ = clock_numbers(table)
    start = shifted_times(report, clock, table.start_ns)
    end = shifted_times(report, clock, table.end_ns)
    moved = table.replace(start_ns=start, duration_ns=np.maximum(end - start, 0))
    flags = np.where(unsure(moved, clock, report), table.flags | int(Flag.CLOCK_UNSURE), table.flags).astype(np.uint16)
    uncertainty = report.uncertainty_ns
    by_rank = {int(rank): float(uncertainty[clock[row]]) for rank, row in _first_rows(table.rank) if clock[row] != UNSET}
    attributes = {**table.attributes, "clock_uncertainty_ns": by_rank}
    return moved.replace(
        flags=flags, notes=(*table.notes, *(note.rstrip(".") for note in report.notes)), attributes=attributes
    ), report


def align_impossible(table: EventTable) -> EventTable:
    """`align` a table in which a collective operation ends on one rank before it begins on another, if other clocks explain that.

    Where the times as recorded are possible nothing moves: ranks of one machine have one clock, which is known better than the
    middle of any bounds.
    """
    if not _has_torn(table):
        return table
    report = clock_report(table)
    if report.contradiction or report.as_recorded_fits:
        return table
    moved, _ = align(table)
    far = np.abs(report.offset_ns[report.is_bounded]).max(initial=0.0)
    known = report.uncertainty_ns[report.is_bounded].max(initial=0.0)
    note = f"the ranks' clocks disagree by up to {far / 1e6:,.1f} ms: put on one clock, known within {known / 1e3:,.1f} us"
    return moved.replace(notes=(*moved.notes, note))


def _has_torn(table: EventTable) -> bool:
    """Whether any member of a collective operation ends before another begins."""
    rows = np.flatnonzero((table.kind == Kind.COLL) & (table.corr != UNSET))
    if not len(rows):
        return False
    rows = rows[np.argsort(table.corr[rows], kind="stable")]
    first = np.flatnonzero(np.concatenate(([True], np.diff(table.corr[rows]) != 0)))
    earliest, latest = np.minimum.reduceat(table.end_ns[rows], first), np.maximum.reduceat(table.start_ns[rows], first)
    return bool((earliest < latest).any())


def shifted_times(report: ClockReport, clock: IntArray, time_ns: IntArray) -> IntArray:
    """Readings of clocks as time of the reference, nanoseconds; as they are where a clock has no bounds."""
    moved = np.array(time_ns, dtype=np.int64)
    for each in np.flatnonzero(report.is_bounded).tolist():
        rows = np.flatnonzero(clock == each)
        # Beside the first reading, since floats cannot hold nanoseconds since the epoch.
        moments = (report.moments_ns[each] - report.moments_ns[each, 0]).astype(float)
        passed = (time_ns[rows] - report.moments_ns[each, 0]).astype(float)
        moved[rows] += report.rough_ns[each] + np.rint(np.interp(passed, moments, report.middle_ns[each])).astype(np.int64)
    return moved


def unsure(table: EventTable, clock: IntArray, report: ClockReport) -> BoolArray:
    """Ends of messages and members of collective operations whose wait is below what is known of the two clocks."""
    found = np.zeros(len(table), dtype=bool)
    rows = np.flatnonzero((table.match != UNSET) & (clock != UNSET))
    rows = rows[clock[table.match[rows]] != UNSET]
    partner = table.match[rows]
    apart = np.abs(table.start_ns[rows] - table.start_ns[partner])
    found[rows] = _below(apart, clock[rows], clock[partner], report.pair_uncertainty_ns)
    members = np.flatnonzero((table.kind == Kind.COLL) & (table.corr != UNSET) & (clock != UNSET))
    members = members[np.lexsort((table.start_ns[members], table.corr[members]))]
    if len(members):
        ends = np.concatenate((np.flatnonzero(np.diff(table.corr[members])), [len(members) - 1]))
        latest = members[ends][np.searchsorted(ends, np.arange(len(members)))]
        waits = table.start_ns[latest] - table.start_ns[members]
        found[members] |= _below(waits, clock[members], clock[latest], report.pair_uncertainty_ns)
    return found


def _below(wait_ns: IntArray, one: IntArray, other: IntArray, uncertainty_ns: FloatArray) -> BoolArray:
    """Waits between two clocks that are below what is known of them."""
    return np.asarray((one != other) & (wait_ns < uncertainty_ns[one, other]))


def _first_rows(rank: np.ndarray[tuple[int], np.dtype[np.int32]]) -> list[tuple[int, int]]:
    """Every rank with its first row."""
    ranks, rows = np.unique(rank, return_index=True)
    return list(zip(ranks.tolist(), rows.tolist(), strict=True))
