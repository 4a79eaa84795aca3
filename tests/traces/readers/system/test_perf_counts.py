"""Counts of perf, as its version 6.1 printed them for four ranks that share two processors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.readers.system.perf_counts import PerfCounts, read_perf_counts, weighed_by_counts

REPORT = """\
# Samples: 456  of event 'cpu-clock'
#
# Overhead  Command
# ........  .......
#
    96.93%  python
     3.07%  cc1


#
# (Tip: For hierarchical output, try: perf report --hierarchy)
#
#   PID    TID  cpu-clock
  18868  18898  214202657
  18869  18895  215003559
  18868  18868  277141779
  18887  18887    1245410
"""
TOTAL = """\
# started on Mon Nov 23 14:52:33 2026

2427.85,msec,task-clock,2427851429,100.00,0.485,CPUs utilized
"""


def written(folder: Path, report: str = REPORT, total: str = TOTAL) -> tuple[Path, Path]:
    (folder / "threads.txt").write_text(report)
    (folder / "total.csv").write_text(total)
    return folder / "threads.txt", folder / "total.csv"


def samples(threads: list[int], weight_ns: int = 5_025_125) -> EventTable:
    number = len(threads)
    return event_table(
        number, kind=int(Kind.SAMPLE), start_ns=np.arange(number), pid=7, tid=threads, weight_ns=[weight_ns] * number
    )


def test_counts_of_threads_and_of_the_run(tmp_path: Path) -> None:
    found = read_perf_counts(*written(tmp_path))
    assert found.by_thread[18868, 18898] == 214_202_657
    assert len(found.by_thread) == 4
    assert found.total_ns == 2_427_850_000


@pytest.mark.parametrize("total", ["<not counted>,msec,task-clock,0,0.00,,\n", "# started\n"])
def test_a_total_that_was_not_counted_is_unknown(tmp_path: Path, total: str) -> None:
    assert read_perf_counts(*written(tmp_path, total=total)).total_ns is None


def test_a_report_without_counts_has_none(tmp_path: Path) -> None:
    assert read_perf_counts(*written(tmp_path, report="# PID  TID\n")).by_thread == {}
    assert read_perf_counts(*written(tmp_path, report="    96.93%  python\n")).by_thread == {}


@pytest.mark.parametrize(
    ("report", "total", "line"),
    [(REPORT + "  1  2  x\n", TOTAL, 18), (REPORT + f"  1  2  {2**62}\n", TOTAL, 18), (REPORT, "many,msec,task-clock,1\n", 1)],
)
def test_what_is_no_count_is_refused(tmp_path: Path, report: str, total: str, line: int) -> None:
    with pytest.raises(DataError, match=f"line {line}"):
        read_perf_counts(*written(tmp_path, report, total))


def test_each_thread_gets_its_own_count() -> None:
    found = weighed_by_counts(samples([1, 1, 2]), PerfCounts({(7, 1): 14_000_000, (7, 2): 3_000_000, (7, 3): 500_000}))
    assert found.weight_ns.tolist() == [7_000_000, 7_000_000, 3_000_000]
    assert found.notes == ("1 threads were too short for a sample: 0.5 ms in all",)


def test_the_total_is_reached_in_proportion() -> None:
    """Thread 2 has no count: it is the one that perf was attached to."""
    found = weighed_by_counts(samples([1, 1, 2], 5_000_000), PerfCounts({(7, 1): 12_000_000, (7, 3): 1_000_000}, 36_000_000))
    assert found.weight_ns.tolist() == [12_000_000, 12_000_000, 10_000_000]


def test_without_counts_weights_stay() -> None:
    table = samples([1, 2])
    assert weighed_by_counts(table, PerfCounts({})) is table
