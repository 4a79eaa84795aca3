"""Domino paths: which wait to remove first, and which waits fall with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import Flag
from mlperf.traces.whatif.candidates import Candidates, candidates_of
from mlperf.traces.whatif.sweep import Sweep

MOST_LOOK_UPS = 1_000_000
"""Events that a search looks at before it says that it was cut short."""


@dataclass(frozen=True, slots=True, eq=False)
class DominoPath:
    """A chain of waits, each of which, if removed, shortens the run.

    Attributes
    ----------
    rank : int
        Where the search began.
    events : tuple of int
        Events whose waits are to go, as they were found: the last is the first domino to push.
    total_ns : int
        T' if only that one is pushed, nanoseconds.
    """

    rank: int
    events: tuple[int, ...]
    total_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class DominoSearch:
    """The best domino paths of a run.

    Attributes
    ----------
    swept : Sweep
        Every single-event what-if, which the search looked up.
    total_ns : int
        The smallest T' found; T0 where no wait shortens the run.
    rank_total_ns : array of int64, shape (n_ranks,)
        The smallest T' found from each rank; T0 where there is none.
    paths : tuple of DominoPath
        Those with `total_ns`, from the lowest rank on, the latest of equal events first.
    cut : bool
        Whether there are more paths than were asked for, or the search was stopped at `MOST_LOOK_UPS`.
    n_unsure : int
        Waits left out because the clocks are less certain than they are long.
    """

    swept: Sweep
    total_ns: int
    rank_total_ns: IntArray
    paths: tuple[DominoPath, ...]
    cut: bool
    n_unsure: int


def domino_search(swept: Sweep, max_paths: int = 64) -> DominoSearch:
    """Follow, from the last event of every rank, the best event to fix, its partner, the best event there before, and so on.

    Parameters
    ----------
    swept : Sweep
        T' of every event without its wait does not depend on the search: it is looked up.
    max_paths : int
        Paths that are kept; equally good events make branches, whose common ends are searched once.

    References
    ----------
    PerWiz (Ino et al.), section 3.1 and figure 3. All events of the least T' are followed, as the text says, not one as in the
    figure. A chain ends where T' grows, or where it already holds the event.
    """
    run = swept.run
    unsure = run.program.table.flags[run.program.calls.rows] & Flag.CLOCK_UNSURE > 0
    known = candidates_of(swept, ~unsure)
    budget = Budget(MOST_LOOK_UPS)
    rank_total = np.array([_best_from(known, rank, budget) for rank in range(run.program.n_ranks)], dtype=np.int64)
    best = int(rank_total.min(initial=swept.total_ns))
    paths: list[DominoPath] = []
    for rank in np.flatnonzero(rank_total == best).tolist() if best < swept.total_ns else []:
        for events in _paths_from(known, rank, best, budget):
            if len(paths) == max_paths:
                budget.spent = True
                break
            paths.append(DominoPath(rank, events, best))
    n_unsure = int(np.count_nonzero(unsure & (swept.waits.wait_ns > 0)))
    return DominoSearch(swept, best, rank_total, tuple(paths), budget.spent, n_unsure)


class Budget:
    """Look-ups that are left; ``spent`` once something was left out."""

    __slots__ = ("left", "spent")

    def __init__(self, left: int) -> None:
        self.left = left
        self.spent = False

    def take(self, events: list[int]) -> list[int]:
        """As many of the events as there are look-ups left."""
        if len(events) > self.left:
            self.spent = True
            events = events[: self.left]
        self.left -= len(events)
        return events


def _best_from(known: Candidates, rank: int, budget: Budget) -> int:
    """The smallest T' on any chain from a rank's last event: T' never grows along a chain, so that of any event reached."""
    return min((known.total(event) for event in _reached(known, rank, budget)), default=known.total_ns)


def _reached(known: Candidates, rank: int, budget: Budget) -> set[int]:
    """Events on any chain from a rank's last event."""
    seen: set[int] = set()
    open_events = budget.take(known.first(rank))
    while open_events:
        event = open_events.pop()
        if event not in seen:
            seen.add(event)
            open_events += budget.take(known.following(event))
    return seen


def _paths_from(known: Candidates, rank: int, best: int, budget: Budget) -> Iterator[tuple[int, ...]]:
    """Chains from a rank's last event that come down to the best T', the latest of equal events first."""
    useful = _leading_to(known, _reached(known, rank, budget), best, budget)
    stack = [[event for event in known.first(rank) if event in useful]]
    path: list[int] = []
    inside: set[int] = set()
    while stack:
        if not stack[-1]:
            stack.pop()
            if path:
                inside.discard(path.pop())
            continue
        event = stack[-1].pop(0)
        path.append(event)
        inside.add(event)
        following = [each for each in budget.take(known.following(event)) if each in useful and each not in inside]
        if not following:
            yield tuple(path)
        stack.append(following)


def _leading_to(known: Candidates, events: set[int], best: int, budget: Budget) -> set[int]:
    """Those of the events from which a chain comes down to the best T'."""
    before: dict[int, list[int]] = {}
    for event in events:
        for each in budget.take(known.following(event)):
            before.setdefault(each, []).append(event)
    useful = {event for event in events if known.total(event) == best}
    open_events = list(useful)
    while open_events:
        for event in before.get(open_events.pop(), []):
            if event not in useful:
                useful.add(event)
                open_events.append(event)
    return useful
