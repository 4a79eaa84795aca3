"""PAPI, where its library is installed: preset events by name."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from mlperf.collect.counters.capacity import a_little_work, events_at_once
from mlperf.collect.counters.launch import Child
from mlperf.collect.counters.offers import ABSENT, DEGRADED, CounterOffer, Readings, SourceOffer, absent_source, source_offer

PACKAGE = "libpapi-dev (Debian, Ubuntu), papi (Fedora)"
LIBRARIES = ("libpapi.so", "libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0", "libpapi.so.7", "libpapi.so.6.0", "libpapi.so.6")
VERSIONS = ((7, 2), (7, 1), (7, 0), (6, 0), (5, 7))
NULL_SET = -1
INHERIT_OPTION = 28
PROCESSOR_COMPONENT = 0
WITH_START = "begins a few microseconds before the command does"
PREFIX = "papi_"


class Inherit(ctypes.Structure):
    """PAPI's option to count children, padded to the size of its union of options."""

    _fields_ = (("eventset", ctypes.c_int), ("inherit", ctypes.c_int), ("rest", ctypes.c_char * 4096))


@cache
def library() -> ctypes.CDLL | None:
    """The initialised library; None where there is none that works."""
    for name in (ctypes.util.find_library("papi"), *LIBRARIES):
        if name is not None:
            try:
                found = ctypes.CDLL(name)
            except OSError:
                continue
            return found if initialised(found) else None
    return None


def initialised(found: ctypes.CDLL) -> bool:
    """Whether the library accepts one of the versions known here: it wants to be given its own number."""
    numbers = [major << 24 | minor << 16 for major, minor in VERSIONS]
    return any(found.PAPI_library_init(number) == number for number in numbers)


@dataclass(frozen=True, slots=True)
class EventSet:
    """Events that count together."""

    papi: ctypes.CDLL
    number: int
    names: list[str]

    def add(self, name: str) -> str:
        """Add the event of a column; why it cannot be, or nothing."""
        event = f"PAPI_{name.removeprefix(PREFIX).upper()}"
        code = self.papi.PAPI_add_named_event(self.number, event.encode())
        if code == 0:
            self.names.append(name)
        return "" if code == 0 else f"PAPI does not add it: {words(self.papi, code)}"

    def start(self) -> str:
        """Begin to count; why that fails, or nothing."""
        code = self.papi.PAPI_start(self.number)
        return "" if code == 0 else f"PAPI does not start it: {words(self.papi, code)}"

    def stop(self) -> dict[str, float]:
        """End counting, and what was counted."""
        values = (ctypes.c_longlong * max(1, len(self.names)))()
        if self.papi.PAPI_stop(self.number, values) != 0:
            return {}
        return {name: float(value) for name, value in zip(self.names, values, strict=False)}


def words(papi: ctypes.CDLL, code: int) -> str:
    """PAPI's own words for a code."""
    papi.PAPI_strerror.restype = ctypes.c_char_p
    text = papi.PAPI_strerror(code)
    return text.decode() if text else f"error {code}"


def new_set(papi: ctypes.CDLL) -> EventSet:
    """A set without events."""
    number = ctypes.c_int(NULL_SET)
    papi.PAPI_create_eventset(ctypes.byref(number))
    papi.PAPI_assign_eventset_component(number, PROCESSOR_COMPONENT)
    return EventSet(papi, number.value, [])


@contextmanager
def event_set(papi: ctypes.CDLL) -> Iterator[EventSet]:
    """A set that is cleaned up at the end of the block."""
    made = new_set(papi)
    try:
        yield made
    finally:
        destroy(made)


def destroy(events: EventSet) -> None:
    """Give a set back."""
    events.papi.PAPI_cleanup_eventset(events.number)
    events.papi.PAPI_destroy_eventset(ctypes.byref(ctypes.c_int(events.number)))


def probe_papi(names: Sequence[str]) -> SourceOffer:
    """Add, start and read every preset on this thread: PAPI lists presets that fail when they are added."""
    papi = library()
    if papi is None:
        return absent_source("papi", names, "the library libpapi is not installed, or of an unknown version", PACKAGE)
    return source_offer("papi", [probe_preset(papi, name) for name in names], at_once=events_at_once())


def probe_preset(papi: ctypes.CDLL, name: str) -> CounterOffer:
    """Probe one preset of PAPI."""
    with event_set(papi) as events:
        why = events.add(name) or events.start()
        if why:
            return CounterOffer(name, ABSENT, why)
        a_little_work()
        counted = events.stop()
    if name in ("papi_tot_ins", "papi_tot_cyc") and not counted.get(name):
        return CounterOffer(name, ABSENT, "it starts but counts nothing")
    return CounterOffer(name, DEGRADED, WITH_START)


@dataclass(frozen=True, slots=True)
class PapiWatch:
    """Events that count a command."""

    events: EventSet

    def __call__(self, child: Child) -> Readings:  # noqa: ARG002 - watches of other sources need it
        """Read the events and give them back."""
        counted = self.events.stop()
        destroy(self.events)
        return Readings(counted)


def watch_papi(child: Child, names: Sequence[str]) -> PapiWatch:
    """Attach as many presets as fit into the processor's counters to a command that has not begun."""
    papi = library()
    if papi is None:
        raise OSError("libpapi is gone")
    events = new_set(papi)
    papi.PAPI_attach(events.number, ctypes.c_ulong(child.pid))
    papi.PAPI_set_opt(INHERIT_OPTION, ctypes.byref(Inherit(events.number, 1)))
    for name in names:
        events.add(name)
    events.start()
    return PapiWatch(events)
