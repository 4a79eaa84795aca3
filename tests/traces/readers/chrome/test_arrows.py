"""Arrows give what they join one number."""

from __future__ import annotations

from pathlib import Path

from profiles import complete, write

from mlperf.traces.readers.chrome.reader import read_chrome


def test_arrows_join_the_innermost_slices_of_other_programs(tmp_path: Path) -> None:
    events = [
        complete("x", "outer", 0, 100),
        complete("x", "sends", 10, 5),
        complete("x", "gets", 50, 5, tid=12),
        {"ph": "s", "id": 1, "cat": "m", "ts": 12, "pid": 10, "tid": 11},
        {"ph": "f", "bp": "e", "id": 1, "cat": "m", "ts": 51, "pid": 10, "tid": 12},
        {"ph": "s", "id": 2, "cat": "m", "ts": 80, "pid": 10, "tid": 11},
    ]
    table = read_chrome(write(tmp_path / "a.json", events, 0))
    assert table.corr.tolist() == [-1, 0, 0]


def test_numbers_of_two_categories_are_two(tmp_path: Path) -> None:
    events = [complete("x", "a", 0, 2), complete("x", "b", 4, 2), complete("x", "c", 8, 2)]
    ends = [("s", "m", 1), ("f", "m", 5), ("s", "n", 5), ("f", "n", 9)]
    arrows = [{"ph": ph, "id": 1, "cat": cat, "ts": ts, "pid": 10, "tid": 11} for ph, cat, ts in ends]
    table = read_chrome(write(tmp_path / "a.json", [*events, *arrows], 0))
    assert len(set(table.corr.tolist())) == 2
    assert table.corr[1] == table.corr[2] != table.corr[0]
