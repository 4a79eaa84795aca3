"""The kernel's perf interface: refusals are explained, events that open count."""

from __future__ import annotations

import ctypes
import errno
import time
from typing import Any

import pytest

from mlperf.collect.counters import perf_source
from mlperf.collect.counters.offers import ABSENT, DEGRADED
from mlperf.collect.counters.perf_event import HARDWARE, SOFTWARE, Attributes, Event, cache_event, open_event, read_event, refusal
from mlperf.collect.counters.perf_source import closing, probe_event, probe_events
from mlperf.datasets.dictionary.counters import counters_of


def test_the_structure_and_the_numbers_are_those_of_the_kernel() -> None:
    """linux/perf_event.h: PERF_ATTR_SIZE_VER0 is 64; L1D read misses are 0x10000, last-level write accesses 0x102."""
    assert ctypes.sizeof(Attributes) == 64
    assert cache_event(0, 0, 1).config == 0x10000
    assert cache_event(2, 1, 0).config == 0x102
    assert HARDWARE["hw_dtlb_load_misses"].config == 0x10003


def test_every_event_has_a_column_and_every_column_an_event() -> None:
    assert list(HARDWARE) == [counter.name for counter in counters_of("hardware")]
    assert list(SOFTWARE) == [counter.name for counter in counters_of("software")]


def test_the_task_clock_is_the_threads_own_clock() -> None:
    offer = probe_event("sw_task_clock_s", SOFTWARE["sw_task_clock_s"])
    if offer.status == ABSENT:
        assert offer.why
        return
    event = SOFTWARE["sw_task_clock_s"]
    with closing((handle := open_event(event),)):
        start, before = time.thread_time(), read_event(handle)
        sum(range(2_000_000))
        after, own_s = read_event(handle), time.thread_time() - start
    assert before is not None
    assert after is not None
    assert (after.value - before.value) * event.scale == pytest.approx(own_s, rel=0.05, abs=1e-4)


def test_an_event_that_no_machine_has_is_absent_and_says_why() -> None:
    offer = probe_event("hw_nonsense", Event(type=0, config=4711))
    assert offer.status == ABSENT
    assert offer.why


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOENT, "does not offer"),
        (errno.EACCES, "perf_event_paranoid"),
        (errno.ENOSYS, "no perf events"),
        (errno.EMFILE, "files"),
    ],
)
def test_refusals_are_explained(number: int, says: str) -> None:
    assert says in refusal(OSError(number, "x"))


def refusing(kernel_only: bool) -> Any:
    """A kernel that lets nobody count its own part, or nobody count at all."""

    def opened(event: Event, pid: int = 0, *, on_exec: bool = False) -> int:
        if not (kernel_only and event.user_only):
            raise OSError(errno.EACCES, "no")
        return open_event(event, pid, on_exec=on_exec)

    return opened


def test_without_the_kernels_part_faults_are_degraded_and_switches_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switches happen in the kernel: a count of them without it is always zero, and zero would be a lie."""
    real = probe_events("software", lambda: SOFTWARE, list(SOFTWARE))
    monkeypatch.setattr(perf_source, "open_event", refusing(kernel_only=True))
    offer = probe_events("software", lambda: SOFTWARE, list(SOFTWARE))
    found = {each.name: each.status for each in offer.counters}
    assert found["sw_context_switches"] == ABSENT
    assert found["sw_cpu_migrations"] == ABSENT
    if real.status != ABSENT:
        assert found["sw_page_faults"] == DEGRADED
        assert offer.status == DEGRADED


def test_a_kernel_that_permits_nothing_is_an_absent_source_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_source, "open_event", refusing(kernel_only=False))
    offer = probe_events("hardware", lambda: HARDWARE, list(HARDWARE))
    assert offer.status == ABSENT
    assert offer.usable == ()
    assert "perf_event_paranoid" in offer.why


def test_an_event_that_opens_and_stays_at_zero_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    class Zero:
        value, running_share = 0.0, 1.0

    monkeypatch.setattr(perf_source, "read_event", lambda _: Zero)
    offer = probe_event("sw_task_clock_s", SOFTWARE["sw_task_clock_s"])
    assert offer.status == ABSENT
