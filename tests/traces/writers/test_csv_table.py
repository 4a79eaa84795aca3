"""The header of a trace's CSV."""

from __future__ import annotations

from pathlib import Path

from mlperf.traces.events.table import event_table
from mlperf.traces.writers.csv_table import write_csv


def test_kinds_and_names_are_words(tmp_path: Path) -> None:
    write_csv(event_table(1, start_ns=[4], rank=[2], kind=[2], name=[0], strings=("solve, then send",)), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines() == ["start_ns,rank,kind,name", '4,2,RECV,"solve, then send"']
