"""Tables of kernels and what stands beside them: one wrong cell is named with file, line, column, value and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.kernel_tables import read_kernel_table

pytestmark = pytest.mark.slow

TIMES = """build,N,kernel,pattern,time_mean_s,cpu1_s,cpu2_s,note
gcc,10,k_a,ij-jlk-kil,0.001,0.001,,7
gcc,10,k_b,ij-ikl-jkl,0.002,,0.002,x
"""
COUNTED = "build,N,kernel,cnt_mulps\ngcc,10,k_a,1\ngcc,10,k_b,2\n"
SIMULATED = "build,N,pattern,cg_Ir\ngcc,10,ij-jlk-kil,100\ngcc,10,ij-ikl-jkl,200\n"
FILES = {"times.csv": TIMES, "swc-o.csv": COUNTED, "cachegrind.csv": SIMULATED}


def write(folder: Path, file: str = "", line: int = 0, column: str = "", text: str = "") -> Path:
    """The three tables, one cell of them replaced."""
    for name, content in FILES.items():
        rows = [row.split(",") for row in content.splitlines()]
        if name == file:
            rows[line - 1][rows[0].index(column)] = text
        (folder / name).write_text("\n".join(map(",".join, rows)) + "\n", encoding="utf-8")
    return folder


def test_missing_cells_and_columns_nobody_uses_are_no_mistake(tmp_path: Path) -> None:
    table = read_kernel_table(write(tmp_path))
    assert table.frame["half_a_s"].notna().tolist() == [True, False]
    assert "note" not in table.frame
    assert table.counts is not None
    assert table.simulated is not None
    assert table.counts["cnt_mulps"].tolist() == [1, 2]
    assert table.simulated["cg_Ir"].tolist() == [100, 200]


@pytest.mark.parametrize(
    ("file", "line", "column", "text"),
    [
        ("times.csv", 3, "time_mean_s", "fast"),
        ("times.csv", 3, "time_mean_s", ""),
        ("times.csv", 2, "time_mean_s", "-0.001"),
        ("times.csv", 2, "time_mean_s", "0"),
        ("times.csv", 3, "N", "10.5"),
        ("times.csv", 2, "N", "ten"),
        ("times.csv", 2, "cpu1_s", "-1"),
        ("times.csv", 3, "cpu2_s", "1.5 s"),
        ("times.csv", 3, "pattern", "ij"),
        ("swc-o.csv", 3, "cnt_mulps", "two"),
        ("cachegrind.csv", 2, "cg_Ir", "1e999"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, file: str, line: int, column: str, text: str) -> None:
    with pytest.raises(DataError) as caught:
        read_kernel_table(write(tmp_path, file, line, column, text))
    assert caught.value.place == f"{tmp_path / file}, line {line}, column {column}"
    assert (repr(text) if text else "an empty cell") in caught.value.message
    assert "expected" in caught.value.message
    assert caught.value.hint


def test_the_same_table_plain_and_gzipped_is_refused(tmp_path: Path) -> None:
    (write(tmp_path) / "times.csv.gz").write_bytes(b"")
    with pytest.raises(DataError, match=r"stands beside times\.csv"):
        read_kernel_table(tmp_path)
