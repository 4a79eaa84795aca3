"""Output of perf stat, from a text with known numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.counters import perf_stat
from mlperf.collect.counters.perf_stat import command_line, read_output
from mlperf.collect.counters.perf_stat import counters_from as perf_counters
from mlperf.core.errors import DataError

PERF = """\
# started on Sat Nov 21 2026

1234567;;instructions:u;2000000;50.00;;
<not supported>;;cycles:u;0;100.00;;
<not counted>;;L1-dcache-loads:u;0;0.00;;
0;;context-switches:u;12500000;100.00;;
12,50;msec;task-clock:u;12500000;100.00;0.9;CPUs utilized
"""


def test_perf_stat_lines_by_event_and_missing_ones_are_missing() -> None:
    names = ("perf_instructions", "perf_cycles", "perf_l1d_loads", "perf_task_clock_s", "perf_page_faults", "perf_context_switches")
    lines = read_output(PERF, names)
    assert lines["perf_cycles"].words == "not supported"
    assert "perf_page_faults" not in lines
    assert "perf_context_switches" not in lines
    counted = perf_counters(PERF, names)
    assert counted.values == {"perf_instructions": 1234567.0, "perf_task_clock_s": 0.0125, "perf_running_share": 0.5}
    assert counted.scaled == ["perf_instructions"]


def test_every_column_of_perf_stat_has_an_event(tmp_path: Path) -> None:
    from mlperf.datasets.dictionary.counters import counters_of

    names = [counter.name for counter in counters_of("perf-stat")]
    assert list(perf_stat.NAMES) == names
    assert command_line(["x", "-y"], names[:2], tmp_path)[-3:] == ["--", "x", "-y"]


@pytest.mark.parametrize(("old", "new"), [("1234567;", "-1;"), (";50.00;", ";-1.00;"), (";50.00;", ";173.00;")])
def test_negative_counts_and_shares_of_no_time_are_refused(old: str, new: str) -> None:
    with pytest.raises(DataError, match="expected a count >= 0 and a share of 0 to 100 %") as caught:
        perf_counters(PERF.replace(old, new, 1), ("perf_instructions",))
    assert caught.value.place == "perf stat, instructions:u"


def test_a_number_that_is_none_counts_as_not_counted() -> None:
    assert perf_counters(PERF.replace("1234567;", "nan;", 1), ("perf_instructions",)).values == {}


HYBRID = """\
6720143357;;cpu_atom/{event};16548968;2.00;;
20875198260;;cpu_core/{event};622042486;97.00;;
"""
"""A run on two kinds of cores as the tool printed it; the same work on one kind took 20.5 to 23.3 thousand million."""


@pytest.mark.parametrize("event", ["instructions/", "instructions:u/", "instructions/u"])
def test_two_kinds_of_cores_are_one_event_of_what_each_counted(event: str) -> None:
    found = perf_counters(HYBRID.format(event=event), ("perf_instructions", "perf_cycles"))
    assert found.values["perf_instructions"] == pytest.approx((6720143357 * 0.02 + 20875198260 * 0.97) / 0.99)
    assert 20.5e9 < found.values["perf_instructions"] < 23.3e9
    assert found.values["perf_running_share"] == pytest.approx(0.99)
    assert found.scaled == ["perf_instructions"]
    assert "perf_cycles" not in found.values


def test_a_kind_of_cores_without_a_turn_adds_nothing() -> None:
    text = "<not counted>;;cpu_atom/cycles/u;0;0.00;;\n162541;;cpu_core/cycles/u;641704207;100.00;;\n"
    assert perf_counters(text, ("perf_cycles",)).values == {"perf_cycles": 162541.0, "perf_running_share": 1.0}
    assert read_output(text.replace("162541", "<not supported>"), ("perf_cycles",))["perf_cycles"].words == "not counted"
