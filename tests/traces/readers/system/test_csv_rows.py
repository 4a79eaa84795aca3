"""Tables with words above them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.readers.system.csv_rows import read_rows


def test_rows_know_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('words, above\n"a", b\n\n1,"x, y"\n==1== news\n2\n')
    names, rows = read_rows(path, ("a", "b"), "hint")
    assert names == ["a", "b"]
    assert [row.place for row in rows] == [f"{path}, line 4", f"{path}, line 6"]
    assert rows[0].text("b") == "x, y"
    assert rows[0].number("none", "a") == 1.0
    assert rows[1].text("b") == ""
    with pytest.raises(DataError, match="no column c or d"):
        rows[0].number("c", "d")
