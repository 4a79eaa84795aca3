"""Control points of the registration program put into another order, by domino path or longest wait (PerWiz, table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.studies.message_passing.programs import Launch, Measured, Programs, measured
from mlperf.studies.message_passing.protocol import Registration
from mlperf.traces.replay.run import Replay, replay
from mlperf.traces.replay.timing import Timing
from mlperf.traces.whatif.domino import domino_search
from mlperf.traces.whatif.reordered import reordered
from mlperf.traces.whatif.sweep import Sweep, sweep

DOMINO, LONGEST = "domino path", "longest wait"
STRATEGIES = (DOMINO, LONGEST)
NS = 1e-9


@dataclass(frozen=True, slots=True)
class Edit:
    """A control point moved to another place in the order.

    Attributes
    ----------
    point : int
        The control point; the tag of the event that was named.
    before : int
        The point that it now comes before.
    rank, partner : int
        Who waited for whom.
    wait_s : float
        How long.
    without_wait_s : float
        T' of the sweep: the run if only that wait were gone.
    predicted_s : float
        T of the recorded calls in the new order.
    order : tuple of int
        The new order.
    """

    point: int
    before: int
    rank: int
    partner: int
    wait_s: float
    without_wait_s: float
    predicted_s: float
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """The program after some edits.

    Attributes
    ----------
    edit : Edit or None
        What led here; None: the program as it was.
    runs : Measured
        Its runs.
    replayed_s : float
        T0 of the replay of its recording.
    """

    edit: Edit | None
    runs: Measured
    replayed_s: float


def launch_of(programs: Programs, wanted: Registration, order: Sequence[int]) -> Launch:
    """The program with its points in some order."""
    options = {
        "--points": wanted.points,
        "--seed": wanted.seed,
        "--time-ms": wanted.time_ms,
        "--bytes": wanted.bytes,
        "--order": ",".join(map(str, order)),
    }
    words = [str(word) for pair in options.items() for word in pair]
    return Launch((str(programs.path("registration")), *words), wanted.ranks, region="PRGN")


def edited_runs(programs: Programs, wanted: Registration, strategy: str, timing: Timing, first: Measured) -> list[Step]:
    """Edit and run again, as often as the protocol says; ends early where no wait is left that an edit could shorten."""
    order = tuple(range(wanted.points))
    steps = [Step(None, first, replay(first.table, timing).total_ns * NS)]
    for _ in range(wanted.edits):
        edit = next_edit(replay(steps[-1].runs.table, timing), order, strategy)
        if edit is None:
            break
        order = edit.order
        runs = measured(programs, launch_of(programs, wanted, order), wanted.repeats)
        steps.append(Step(edit, runs, replay(runs.table, timing).total_ns * NS))
    return steps


def next_edit(run: Replay, order: Sequence[int], strategy: str) -> Edit | None:
    """The edit that a strategy asks for, with its prediction; None where it names no wait, or nothing can be moved."""
    swept = sweep(run)
    event = named_event(swept, strategy)
    if event < 0:
        return None
    calls, waits = run.program.calls, swept.waits
    point = int(run.program.table.tag[calls.rows[event]])
    partner = int(calls.event_rank[waits.partner[event]])
    points = points_of(run)
    place = new_place(order, point, computed_ns(run, points, partner), int(waits.wait_ns[event]))
    if order[place] == point:
        return None
    moved = [each for each in order if each != point]
    moved.insert(place, point)
    met = set(points.tolist())
    predicted = reordered(run, points, [each for each in moved if each in met])
    return Edit(
        point=point,
        before=order[place],
        rank=int(calls.event_rank[event]),
        partner=partner,
        wait_s=int(waits.wait_ns[event]) * NS,
        without_wait_s=int(swept.wait_zero_ns[event]) * NS,
        predicted_s=predicted.total_ns * NS,
        order=tuple(moved),
    )


def named_event(swept: Sweep, strategy: str) -> int:
    """The event that a strategy names: the first domino of the best path, or the longest wait; -1: none."""
    if strategy == LONGEST:
        longest = int(np.argmax(swept.waits.wait_ns))
        return longest if swept.waits.wait_ns[longest] > 0 else -1
    paths = domino_search(swept).paths
    return paths[0].events[-1] if paths else -1


def points_of(run: Replay) -> IntArray:
    """Control point of every call."""
    calls = run.program.calls
    return np.asarray(run.program.table.tag[calls.rows[calls.event]], dtype=np.int64)


def computed_ns(run: Replay, points: IntArray, rank: int) -> dict[int, int]:
    """What a rank computes for each of its points, nanoseconds."""
    mine = np.flatnonzero(run.program.calls.rank == rank)
    found: dict[int, int] = {}
    for call in mine.tolist():
        found[int(points[call])] = found.get(int(points[call]), 0) + int(run.program.compute_ns[call])
    return found


def new_place(order: Sequence[int], point: int, partner_ns: dict[int, int], wait_ns: int) -> int:
    """Where to move a point: before as many of the partner's earlier points as it computes for within the wait, one at least."""
    place = order.index(point)
    gained = 0
    for at in range(place - 1, -1, -1):
        own = partner_ns.get(order[at])
        if own is None:
            continue
        if gained and gained + own > wait_ns:
            break
        place, gained = at, gained + own
        if gained >= wait_ns:
            break
    return place
