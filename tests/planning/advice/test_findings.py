"""A finding and its causes."""

from __future__ import annotations

from mlperf.planning.advice.advise import cause_of, in_order
from mlperf.planning.advice.findings import INCONCLUSIVE, INPUT, LOCK, MEMORY, NAMED, Finding
from mlperf.planning.advice.gains import Gain
from mlperf.planning.advice.thresholds import Thresholds


def gain(saved_s: float) -> Gain:
    return Gain(1.0, saved_s, saved_s, saved_s, saved_s)


def test_causes_stand_before_what_follows_from_them() -> None:
    wait = Finding(INPUT, NAMED, "load", gain(0.4))
    lock = Finding(LOCK, NAMED, "line", gain(0.3), explains=(INPUT,))
    unsure = Finding(MEMORY, INCONCLUSIVE, "update", gain(0.9))
    assert in_order([wait, unsure, lock], Thresholds()) == [lock, wait, unsure]
    assert cause_of(wait, [wait, lock], Thresholds()) == LOCK


def test_a_cause_that_explains_little_is_none() -> None:
    wait = Finding(INPUT, NAMED, "load", gain(0.4))
    lock = Finding(LOCK, NAMED, "line", gain(0.1), explains=(INPUT,))
    assert in_order([lock, wait], Thresholds()) == [wait, lock]
    assert cause_of(wait, [wait, lock], Thresholds()) == ""
    assert cause_of(Finding(INPUT, NAMED, "load", None), [lock], Thresholds()) == ""
