"""Bytes that marks carry, over their time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.planning.advice.facts.memory import LINE_BYTES, MISSES, memory_facts
from mlperf.traces.events.counters import Series, counter_table
from mlperf.traces.whole_run.steps import find_steps


def test_bytes_a_second(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(6):
        at = maker.marks(at, {"allreduce": 10 * MS, "update": 20 * MS}, sizes={"update": 10**8, "allreduce": 10**9})
    recording = maker.recording(memory_bytes_per_s=2e10, memory_one_core_bytes_per_s=1e10)
    (found,) = memory_facts(recording, find_steps(recording))
    # What goes over a network is no matter of memory.
    assert found.phase == "update"
    assert found.bytes_per_step == 10**8
    assert found.bytes_per_s == pytest.approx(5e9)
    assert (found.peak_bytes_per_s, found.peak_one_core_bytes_per_s) == (2e10, 1e10)


def test_the_data_sheet_of_a_known_processor(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(3):
        at = maker.marks(at, {"update": 20 * MS}, sizes={"update": 10**8})
    unknown = maker.recording(processor="another")
    milan = maker.recording(processor="AMD EPYC 7763", cpu_vendor="AuthenticAMD", cpu_family=25, cpu_model=1)
    (nothing,) = memory_facts(unknown, find_steps(unknown))
    (sheet,) = memory_facts(milan, find_steps(milan))
    assert np.isnan(nothing.data_sheet_bytes_per_s)
    assert sheet.data_sheet_bytes_per_s == pytest.approx(204.8e9)


def test_marks_without_bytes_tell_nothing(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(3):
        at = maker.marks(at, {"update": 20 * MS})
    assert memory_facts(maker.recording(), find_steps(maker.recording())) == ()


def test_cache_misses_belong_to_the_phase_in_which_they_were_counted(made: Callable[[], Made]) -> None:
    """A sample of 10,000 misses in the middle of each update, one of 1,000 in each forward: rates since the sample before."""
    maker, at, told = made(), 0, []
    for _ in range(6):
        told += [(at + 5 * MS, 1_000), (at + 20 * MS, 10_000)]
        at = maker.marks(at, {"forward": 10 * MS, "update": 20 * MS})
    moments = [0, *(moment for moment, _ in told)]
    rates = [0.0, *(count / (now - before) * 1e9 for (now, count), before in zip(told, moments, strict=False))]
    counters = counter_table([(Series(MISSES, "1/s"), moments, rates)])
    recording = replace(maker.recording(memory_bytes_per_s=2e10), counters=counters)
    found = {each.phase: each for each in memory_facts(recording, find_steps(recording))}
    assert found["update"].counted_bytes_per_s == pytest.approx(10_000 * LINE_BYTES / 0.020)
    assert found["forward"].counted_bytes_per_s == pytest.approx(1_000 * LINE_BYTES / 0.010)
    assert found["update"].bytes_per_step == 0
