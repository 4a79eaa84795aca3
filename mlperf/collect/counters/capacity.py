"""How many events the processor really counts at once: virtual machines promise counters that their host uses itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from mlperf.collect.counters.perf_event import HARDWARE, Event, closing, open_event, read_event
from mlperf.core.errors import MissingExtraError

MOST = 8
TRIALS = 2
TOLERANCE = 0.03
N_ALWAYS = 2
"""The first events of a list, instructions and cycles, are counted in every run."""


@cache
def events_at_once() -> int:
    """Largest number of events that all count the same work; 0 where no limit was met, as the kernel shares what is scarce.

    Copies of one event are opened together. Where the kernel lets them take turns it says so. Where it does not and some of
    them still count less, counts are lost in silence: only fewer events at once can be trusted.
    """
    try:
        for number in range(2, MOST + 1):
            for _ in range(TRIALS):
                counts = copies(HARDWARE["hw_instructions"], number)
                if counts is None:
                    return 0
                if min(counts) < (1 - TOLERANCE) * max(counts):
                    return number - 1
    except (OSError, MissingExtraError):
        return 0
    return 0


def copies(event: Event, number: int) -> list[float] | None:
    """What copies of an event count of the same work; None where they have to take turns."""
    # A counter that counted something else before has to be set up anew, which is where counts get lost.
    with closing((open_event(HARDWARE["hw_branches"]),)):
        a_little_work()
    handles = [open_event(Event(event.type, event.config)) for _ in range(number)]
    with closing(handles):
        before = [read_event(handle) for handle in handles]
        a_little_work()
        after = [read_event(handle) for handle in handles]
    counts = []
    for start, end in zip(before, after, strict=True):
        if start is None or end is None or end.running_share < 1:
            return None
        counts.append(end.value - start.value)
    return counts


def a_little_work() -> int:
    """Some million instructions with branches, loads and stores."""
    numbers = list(range(20_000))
    return sum(number for number in numbers if number % 3)


def part_of_run(names: Sequence[str], limited: Iterable[str], at_once: int, run: int) -> tuple[str, ...]:
    """Columns to count in a run where not all can be counted at once.

    Parameters
    ----------
    names : sequence of str
        Columns, the most important ones first.
    limited : iterable of str
        Those of them that need a counter of the processor.
    at_once : int
        How many of these count at once; 0: all.
    run : int
        Number of the run, from 1: later runs count other columns, beside the first two.
    """
    parts = parts_of(names, limited, at_once)
    taken = set(parts[(run - 1) % len(parts)])
    scarce = set(limited)
    return tuple(name for name in names if name not in scarce or name in taken)


def parts_of(names: Sequence[str], limited: Iterable[str], at_once: int) -> list[tuple[str, ...]]:
    """The limited columns, shared out over runs."""
    scarce = set(limited)
    wanted = [name for name in names if name in scarce]
    if not at_once or len(wanted) <= at_once:
        return [tuple(wanted)]
    always = wanted[:N_ALWAYS] if at_once > N_ALWAYS else []
    others, width = wanted[len(always) :], at_once - len(always)
    return [(*always, *others[start : start + width]) for start in range(0, len(others), width)]
