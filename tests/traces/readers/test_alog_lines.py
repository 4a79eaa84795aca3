"""The two ways to read lines agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlperf.traces.readers.alog_lines import read_alog_lines

LINES = "-15 0 0 0 0 0 a\n-101 0 1 1 2 5 7 8 ns=9\n3 1 0 0 0 12\n4 1 0 0 0 12 5 6 ns=20\n"


def test_line_by_line_gives_what_columns_give(tmp_path: Path) -> None:
    """A definition among the events makes the quick way impossible."""
    (tmp_path / "a").write_text(LINES, encoding="utf-8")
    (tmp_path / "b").write_text(f"{LINES}-15 1 0 0 0 0 b\n", encoding="utf-8")
    quick, slow = read_alog_lines(tmp_path / "a")[1], read_alog_lines(tmp_path / "b")[1]
    for name in quick.__slots__:
        assert np.array_equal(getattr(quick, name), getattr(slow, name)), name
    assert quick.time_ns.tolist() == [5009, 12000, 12020]
    assert quick.line.tolist() == [2, 3, 4]
