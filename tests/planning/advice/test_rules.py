"""Rules at their thresholds: facts made by hand, one rule at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mlperf.planning.advice.facts.input_pipeline import InputFacts
from mlperf.planning.advice.facts.loops import LoopFacts
from mlperf.planning.advice.facts.memory import MemoryFacts
from mlperf.planning.advice.findings import INCONCLUSIVE, INPUT, MEMORY, NAMED, SCALAR
from mlperf.planning.advice.rules import input_rule, loop_rule, memory_rule, rank_rule, ring_rule
from mlperf.planning.advice.sentences import seen
from mlperf.planning.advice.thresholds import Thresholds

LIMITS = Thresholds()
STEP = np.full(20, 0.1)
LOOP = LoopFacts("decode", "/lib/decode.so", 0.5, 0.0, 0.9, 0, 512, 0.3, 32)
WAITS = InputFacts(("load",), STEP, np.full(20, 0.04), 0.0, 0.0, 2, 1.0, 100, 1.5, 8)


def test_few_steps_tell_nothing_for_sure() -> None:
    waits = replace(WAITS, step_s=STEP[:3], load_s=WAITS.load_s[:3])
    found = input_rule(waits, LIMITS)
    assert found is not None
    assert (found.cause, found.verdict) == (INPUT, INCONCLUSIVE)
    assert found.why == "3 steps are too few"


def test_steps_that_differ_too_much_tell_nothing_for_sure() -> None:
    load = np.zeros(20)
    load[3] = 1.5
    found = input_rule(replace(WAITS, load_s=load), LIMITS)
    assert found is not None
    assert found.verdict == INCONCLUSIVE


def test_workers_that_never_wait_are_named_however_unequal_the_steps() -> None:
    """A drift that leaves the mean of the steps open: what their pace comes from is known from the workers."""
    load = np.concatenate((np.full(12, 0.012), np.full(8, 0.09)))
    for at_work, verdict in ((1.0, NAMED), (0.9, INCONCLUSIVE), (float("nan"), INCONCLUSIVE)):
        waits = replace(WAITS, load_s=load, makers_at_work=at_work)
        for found in (input_rule(waits, LIMITS), loop_rule(LOOP, waits, STEP, LIMITS)):
            assert found is not None
            assert found.gain is not None
            assert found.gain.lower_share < LIMITS.least_lower_gain
            assert found.verdict == verdict
    few = replace(WAITS, load_s=load, n_stacks=20)
    assert not few.makers_never_wait
    nobody = replace(WAITS, n_makers=0)
    assert not nobody.makers_never_wait


def test_workers_that_stand_in_queues_keep_up_whatever_handing_over_takes() -> None:
    """As PyTorch's do: the training thread maps what they made into its own memory."""
    busy = replace(WAITS, busy_share=0.8)
    for at_work, verdict in ((0.7, INCONCLUSIVE), (0.9, NAMED), (float("nan"), NAMED)):
        found = input_rule(replace(busy, makers_at_work=at_work), LIMITS)
        assert found is not None
        assert found.verdict == verdict
        assert ("at work for 70% of their time" in found.why) == (verdict == INCONCLUSIVE)
    assert not replace(busy, n_makers=0, makers_at_work=0.1).keeps_up
    assert not replace(busy, n_makers=0, makers_at_work=0.1).may_keep_up


def test_few_samples_leave_it_open_whether_workers_keep_up() -> None:
    """Wilson's intervals of 95 %: 0.711 to 0.867 of 80 among 100, 0.784 to 0.814 of 2,240 among 2,800."""
    found = input_rule(replace(WAITS, makers_at_work=0.8, n_stacks=100), LIMITS)
    assert found is not None
    assert (found.verdict, found.gain) == (INCONCLUSIVE, None)
    assert found.why == "its workers may keep up, at work for 80% of their time in 100 samples: record longer"
    many = input_rule(replace(WAITS, makers_at_work=0.8, n_stacks=2_800), LIMITS)
    assert many is not None
    assert many.verdict == NAMED


def test_a_loop_of_the_loaders_saves_what_steps_wait_for() -> None:
    found = loop_rule(LOOP, WAITS, STEP, LIMITS)
    assert found is not None
    assert (found.cause, found.verdict, found.explains) == (SCALAR, NAMED, (INPUT,))
    assert found.gain is not None
    # A batch takes the loaders the whole step, 90 % of it in the loop: more than the 40 ms that steps wait.
    assert found.gain.saved_s == pytest.approx(0.04)
    assert found.gain.naive_s == pytest.approx(0.5 * 0.1 * 15 / 16)


def test_a_loop_that_nobody_waits_for_saves_nothing() -> None:
    assert loop_rule(LOOP, replace(WAITS, load_s=np.zeros(20)), STEP, LIMITS) is None
    assert loop_rule(LOOP, None, STEP, LIMITS) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"used_bits": 256},
        {"scalar_share": 0.05},
        {"file": "/usr/lib/libpython3.11.so.1.0"},
        {"file": "/lib/libc.so.6"},
        {"file": "[kernel.kallsyms]"},
    ],
)
def test_loops_that_are_nobodys_fault(changes: dict) -> None:
    assert loop_rule(replace(LOOP, **changes), WAITS, STEP, LIMITS) is None


def test_an_unknown_processor_is_inconclusive() -> None:
    found = loop_rule(replace(LOOP, offered_bits=0), WAITS, STEP, LIMITS)
    assert found is not None
    assert found.verdict == INCONCLUSIVE


def test_nothing_to_look_at_is_no_finding() -> None:
    assert rank_rule(None, LIMITS) is None
    assert ring_rule(None, LIMITS) is None
    assert input_rule(None, LIMITS) is None


def test_code_that_cannot_be_looked_at_is_said_unless_it_is_not_theirs() -> None:
    closed = replace(LOOP, scalar_share=0.0, element_bits=0, why="reading it needs capstone", is_extra_missing=True)
    found = loop_rule(closed, WAITS, STEP, LIMITS)
    assert found is not None
    assert (found.cause, found.verdict) == (SCALAR, INCONCLUSIVE)
    assert "needs capstone" in found.why
    assert seen(found) == "decode takes 50% of the CPU time"
    assert loop_rule(replace(closed, is_extra_missing=False), WAITS, STEP, LIMITS) is None
    for changes in ({"function": "[perf-7.map]"}, {"file": "[kernel.kallsyms]"}, {"file": "/usr/bin/python3.11"}):
        assert loop_rule(replace(closed, **changes), WAITS, STEP, LIMITS) is None


def test_counted_traffic_that_fills_the_memory_is_said_without_a_gain() -> None:
    full = MemoryFacts("update", STEP, np.full(20, 0.03), 0.0, 2e10, 1e10, 1.5e10)
    found = memory_rule(full, LIMITS)
    assert found is not None
    assert (found.cause, found.verdict, found.gain) == (MEMORY, INCONCLUSIVE, None)
    assert "15 GB/s" in seen(found)
    assert "data_sheet_bytes_per_s" not in found.evidence
    known = memory_rule(replace(full, data_sheet_bytes_per_s=2e11), LIMITS)
    assert known is not None
    assert known.evidence["data_sheet_bytes_per_s"] == 2e11
    assert memory_rule(replace(full, counted_bytes_per_s=1e10), LIMITS) is None
    assert memory_rule(replace(full, peak_bytes_per_s=np.nan), LIMITS) is None


def test_what_was_counted_stands_beside_what_marks_say() -> None:
    """64 times the bytes that the update has to move."""
    found = memory_rule(MemoryFacts("update", STEP, np.full(20, 0.03), 4e6, 2e10, 1e10, 64 * 4e6 / 0.03), LIMITS)
    assert found is not None
    assert found.verdict == NAMED
    assert found.evidence["counted_bytes_per_s"] == pytest.approx(64 * found.evidence["bytes_per_s"])
