"""Sources made of perf events: tried on ourselves, then opened on the command."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mlperf.collect.counters.capacity import a_little_work, events_at_once
from mlperf.collect.counters.launch import Child
from mlperf.collect.counters.offers import ABSENT, DEGRADED, OK, CounterOffer, Readings, SourceOffer, source_offer
from mlperf.collect.counters.perf_event import IN_THE_KERNEL, Event, closing, open_event, paranoid, read_event, refusal
from mlperf.core.errors import MissingExtraError

NEVER_ZERO = ("instructions", "cycles", "branches", "loads", "task_clock", "tsc", "aperf", "mperf")
"""Ends of columns that any work moves: where they stay at zero, the event opens but does not count."""

USER_ONLY = "without the kernel's part"


def probe_events(source: str, events: Callable[[], Mapping[str, Event]], names: Sequence[str]) -> SourceOffer:
    """Open every event on this thread, do a little work, and read it.

    Parameters
    ----------
    source : str
        Name of the source.
    events : callable
        Returns the events by column.
    names : sequence of str
        Every column of the source, whether there is an event for it or not.
    """
    known = events()
    offers = [probe_event(name, known.get(name)) for name in names]
    return source_offer(source, offers, at_once=events_at_once() if source == "hardware" else 0)


def probe_event(name: str, event: Event | None) -> CounterOffer:
    """One event, as it works on this thread."""
    if event is None:
        return CounterOffer(name, ABSENT, "the kernel does not list it")
    try:
        handle, event = _open_permitted(name, event)
    except OSError as error:
        return CounterOffer(name, ABSENT, refusal(error))
    except MissingExtraError as error:
        return CounterOffer(name, ABSENT, error.message)
    with closing((handle,)):
        a_little_work()
        reading = read_event(handle)
    if reading is None:
        return CounterOffer(name, ABSENT, "it opens but never gets a counter")
    if reading.value == 0 and name.removesuffix("_s").endswith(NEVER_ZERO):
        return CounterOffer(name, ABSENT, "it opens but counts nothing")
    if name.startswith("sw_") and event.user_only:
        return CounterOffer(name, DEGRADED, f"{USER_ONLY} (perf_event_paranoid is {paranoid()})")
    return CounterOffer(name, OK)


def _open_permitted(name: str, event: Event, pid: int = 0, *, on_exec: bool = False) -> tuple[int, Event]:
    """Open an event, without the kernel's part where that part is not permitted."""
    try:
        return open_event(event, pid, on_exec=on_exec), event
    except OSError as error:
        if event.user_only or name in IN_THE_KERNEL or error.errno not in (errno.EACCES, errno.EPERM):
            raise
    reduced = replace(event, user_only=True)
    return open_event(reduced, pid, on_exec=on_exec), reduced


@dataclass(slots=True)
class EventWatch:
    """Open events on a command.

    Attributes
    ----------
    handles : dict
        Column to file descriptor and factor.
    share_name : str
        Column of the smallest running share; empty where events never share counters.
    """

    handles: dict[str, tuple[int, float]]
    share_name: str

    def __call__(self, child: Child) -> Readings:  # noqa: ARG002 - watches of other sources need it
        """Read and close every event."""
        with closing(tuple(handle for handle, _ in self.handles.values())):
            readings = {name: (read_event(handle), scale) for name, (handle, scale) in self.handles.items()}
        found = {name: (reading, scale) for name, (reading, scale) in readings.items() if reading is not None}
        values = {name: reading.value * scale for name, (reading, scale) in found.items()}
        shares = [reading.running_share for reading, _ in found.values()]
        smallest = {self.share_name: min(shares)} if self.share_name and shares else {}
        return Readings(values | smallest, [name for name, (reading, _) in found.items() if reading.running_share < 1])


def watch_events(child: Child, names: Sequence[str], events: Mapping[str, Event], share_name: str = "") -> EventWatch:
    """Open events on a command that has not begun."""
    handles: dict[str, tuple[int, float]] = {}
    for name in names:
        # An event that opened a moment ago may be refused now, when somebody else took the last counter: its cell stays empty.
        with suppress(OSError):
            handle, event = _open_permitted(name, events[name], child.pid, on_exec=True)
            handles[name] = (handle, event.scale)
    return EventWatch(handles, share_name)
