"""Files of marks: what a program says, where, and what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.system.marks import read_marks


def test_marks_of_several_processes(tmp_path: Path) -> None:
    (tmp_path / "12.marks").write_text("# rank 1\n10\t30\t12\t0\tstep\n12\t20\t13\t4096\tload data\n")
    (tmp_path / "7.marks").write_text("# rank 0\n11\t12\t7\t0\tstep\n5\t6\t7\t0\tcut of")
    found = read_marks(tmp_path)
    assert found.kind.tolist() == [Kind.REGION] * 3
    assert found.text(found.name) == ["step", "load data", "step"]
    assert found.start_ns.tolist() == [10, 12, 11]
    assert found.duration_ns.tolist() == [20, 8, 1]
    assert found.rank.tolist() == [1, 1, 0]
    assert found.pid.tolist() == [12, 12, 7]
    assert found.tid.tolist() == [12, 13, 7]
    assert found.size_bytes.tolist() == [0, 4096, 0]
    assert found.notes == ("7.marks: the last line is cut off and left out",)


def test_no_files_are_no_marks(tmp_path: Path) -> None:
    assert len(read_marks(tmp_path)) == 0


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("1\t2\t3\t0", "got 4 fields"),
        ("x\t2\t3\t0\ta", "column begin"),
        ("1\t-2\t3\t0\ta", "column end"),
        ("3\t2\t3\t0\ta", "column end"),
        ("1\t2\t99999999999\t0\ta", "column thread"),
        ("1\t2\t3\t1.5\ta", "column bytes"),
    ],
)
def test_a_wrong_line_names_its_place(tmp_path: Path, line: str, column: str) -> None:
    (tmp_path / "1.marks").write_text(f"# rank -1\n{line}\n")
    with pytest.raises(DataError) as caught:
        read_marks(tmp_path)
    assert column in str(caught.value)
    assert "1.marks, line 2" in str(caught.value)
