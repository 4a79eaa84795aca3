"""How many events are counted at once, and how runs take turns where that is not all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mlperf.collect.counters import capacity
from mlperf.collect.counters.capacity import events_at_once, part_of_run, parts_of
from mlperf.collect.counters.offers import CounterOffer, source_offer
from mlperf.collect.counters.perf_event import Reading

NAMES = tuple("abcdefg")
LIMITED = set("abcdef")


@pytest.mark.parametrize(
    ("at_once", "parts"),
    [
        (0, ["abcdef"]),
        (6, ["abcdef"]),
        (5, ["abcde", "abf"]),
        (4, ["abcd", "abef"]),
        (3, ["abc", "abd", "abe", "abf"]),
        (2, ["ab", "cd", "ef"]),
        (1, ["a", "b", "c", "d", "e", "f"]),
    ],
)
def test_every_column_has_its_turn_and_the_first_two_are_always_there(at_once: int, parts: list[str]) -> None:
    assert parts_of(NAMES, LIMITED, at_once) == [tuple(part) for part in parts]
    for run in range(1, 2 * len(parts) + 1):
        assert part_of_run(NAMES, LIMITED, at_once, run) == (*parts[(run - 1) % len(parts)], "g")


class Machine:
    """A kernel that lends ``promised`` counters, of which only ``real`` count."""

    def __init__(self, promised: int, real: int) -> None:
        self.promised, self.real = promised, real
        self.open: list[int] = []
        self.work = 0.0

    def open_event(self, *_: Any) -> int:
        self.open.append(len(self.open))
        return self.open[-1]

    def read_event(self, handle: int) -> Reading:
        share = min(1.0, self.promised / len(self.open))
        return Reading(self.work if handle < self.real or share < 1 else 0.001 * self.work, share)

    def a_little_work(self) -> None:
        self.work += 1e6

    def closing(self, handles: Any) -> Any:
        from contextlib import contextmanager

        @contextmanager
        def closed() -> Iterator[None]:
            yield
            del self.open[-len(tuple(handles)) :]

        return closed()


@pytest.mark.parametrize(("promised", "real", "expected"), [(6, 5, 5), (6, 6, 0), (4, 2, 2), (99, 99, 0), (8, 7, 7)])
def test_counts_that_are_lost_in_silence_are_noticed(
    promised: int, real: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(promised, real)
    for name in ("open_event", "read_event", "a_little_work", "closing"):
        monkeypatch.setattr(capacity, name, getattr(machine, name))
    events_at_once.cache_clear()
    try:
        assert events_at_once() == expected
    finally:
        events_at_once.cache_clear()


def test_a_limit_is_said() -> None:
    offer = source_offer("hardware", [CounterOffer("hw_cycles", "ok")], at_once=5)
    assert (offer.status, offer.at_once) == ("degraded", 5)
    assert "5 events at once" in offer.why
