"""Which trace events are intervals or marks, and what is wrong with others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.events.kinds import Flag
from mlperf.traces.readers.chrome.pairs import pair_halves
from mlperf.traces.readers.chrome.raw import RawEvents, present

LATEST_NS = 2**61
POINTS = "iIRnNO"
KNOWN = f"XBEMstf{POINTS}"


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """Intervals and marks of a document.

    Attributes
    ----------
    event : array of int64, shape (n_slices,)
        Numbers of the trace events they come from, ascending.
    start_ns, duration_ns : array of int64
        By the file's own zero.
    is_mark : array of bool
        Moments rather than intervals.
    flags : array of uint16
        `Flag`.
    arrows, names : array of int64
        Numbers of the events that begin or end arrows, and that name processes and threads.
    notes : tuple of str
    """

    event: IntArray
    start_ns: IntArray
    duration_ns: IntArray
    is_mark: BoolArray
    flags: NDArray[np.uint16]
    arrows: IntArray
    names: IntArray
    notes: tuple[str, ...]


def slices_of(raw: RawEvents) -> Slices:
    """Find the intervals: complete events, and beginnings with their ends."""
    phase, start, length = raw.column("ph"), raw.column("ts"), raw.column("dur").copy()
    timed = present(start) & (np.abs(start) < LATEST_NS)
    flags = np.zeros(len(phase), dtype=np.uint16)
    whole = _is(phase, "X") & timed
    marks = _is(phase, POINTS) & timed
    halves = np.flatnonzero(_is(phase, "BE") & timed)
    n_open, n_unopened = _join_halves(raw, halves, start, length, flags)
    begins = _is(phase, "B") & timed
    untold = whole & ~present(length)
    negative = (whole | begins) & present(length) & ((length < 0) | (length > LATEST_NS))
    length[untold | negative] = 0
    flags[untold] |= np.uint16(Flag.ASSUMED_TIME)
    flags[negative] |= np.uint16(Flag.REPAIRED)
    length[marks] = 0
    event = np.flatnonzero(whole | begins | marks)
    unknown = ~_is(phase, KNOWN)
    untimed = ~timed & _is(phase, f"XBE{POINTS}")
    notes = (
        _note(
            n_open, "beginning without an end lasts to the end of the file", "beginnings without an end last to the end of the file"
        ),
        _note(n_unopened, "end without a beginning is left out", "ends without a beginning are left out"),
        _note(int(untold.sum()), "complete event has no duration and gets 0", "complete events have no duration and get 0"),
        _note(
            int(negative.sum()),
            "duration below 0 or beyond all clocks is set to 0",
            "durations below 0 or beyond all clocks are set to 0",
        ),
        _note(int(untimed.sum()), "event without a time is left out", "events without a time are left out"),
        _note(
            int(unknown.sum()),
            f"event is of a phase that is not read ({_named(phase[unknown])})",
            f"events are of phases that are not read ({_named(phase[unknown])})",
        ),
    )
    return Slices(
        event=event,
        start_ns=start[event],
        duration_ns=length[event],
        is_mark=marks[event],
        flags=flags[event],
        arrows=np.flatnonzero(_is(phase, "stf") & timed),
        names=np.flatnonzero(_is(phase, "M")),
        notes=tuple(note for note in notes if note),
    )


def _join_halves(raw: RawEvents, halves: IntArray, start: IntArray, length: IntArray, flags: NDArray[np.uint16]) -> tuple[int, int]:
    """Give beginnings their durations; how many stay open, and how many ends nothing opened."""
    if not len(halves):
        return 0, 0
    places = np.stack((raw.column("pid")[halves], raw.column("tid")[halves]), axis=1)
    thread = np.unique(places, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    is_begin = raw.column("ph")[halves] == ord("B")
    closed_by, opened_by = pair_halves(is_begin, thread, start[halves])
    ends = np.where(closed_by >= 0, start[halves[closed_by]], start[halves].max())
    length[halves[is_begin]] = (ends - start[halves])[is_begin]
    still_open = is_begin & (closed_by < 0)
    flags[halves[still_open]] |= np.uint16(Flag.TRUNCATED)
    return int(still_open.sum()), int(np.count_nonzero(~is_begin & (opened_by < 0)))


def _is(phase: NDArray[np.uint8], letters: str) -> BoolArray:
    """Events of some phases."""
    found: BoolArray = np.isin(phase, np.frombuffer(letters.encode(), dtype=np.uint8))
    return found


def _named(phase: NDArray[np.uint8]) -> str:
    """Phases in words."""
    return ", ".join(chr(number) if number else "none" for number in np.unique(phase).tolist()[:8])


def _note(number: int, one: str, many: str) -> str:
    """A sentence with a number, or nothing."""
    return f"{number} {one if number == 1 else many}" if number else ""
