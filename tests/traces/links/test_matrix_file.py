from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from figure_8 import FIGURE_8, MEGABYTES, NAMES, SECONDS

from mlperf.core.errors import DataError
from mlperf.traces.links.matrix_file import is_table, read_matrix


def read(text: str, folder: Path):  # type: ignore[no-untyped-def]
    path = folder / "traffic.txt"
    path.write_text(text)
    return read_matrix(path)


@pytest.mark.parametrize("separator", ["\t", "  ", ","])
def test_both_matrices_of_figure_8_are_read(separator: str, tmp_path: Path) -> None:
    found = read(FIGURE_8.replace("\t", separator), tmp_path)
    assert found.places == NAMES
    for one, sender in enumerate(NAMES):
        for other, receiver in enumerate(NAMES):
            assert found.comm_matrix_bytes[one, other] == MEGABYTES.get((sender, receiver), 0) * 1e6
            assert found.seconds[one, other] == SECONDS.get((sender, receiver), 0.0)


def test_numbers_without_a_title_are_bytes_and_times_unknown(tmp_path: Path) -> None:
    found = read("# made\n  a b\na 0 5\nb 7 0\n", tmp_path)
    assert found.comm_matrix_bytes.tolist() == [[0, 5], [7, 0]]
    assert np.isnan(found.seconds).all()
    assert np.isnan(found.bytes_per_s).all()


@pytest.mark.parametrize(("unit", "factor"), [("GB", 1e9), ("KiB", 1024.0), ("B", 1.0)])
def test_units(unit: str, factor: float, tmp_path: Path) -> None:
    found = read(f"Traffic ({unit})\n a b\na 0 1.5\nb 0 0\n", tmp_path)
    assert found.comm_matrix_bytes[0, 1] == 1.5 * factor


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty file"),
        ("# nothing\n", "holds no matrix of bytes"),
        (" a b\na 0 1\n", "line 3: got '', expected 'b'"),
        (" a b\na 0 1\nb 0\n", "line 3"),
        (" a b\na 0 -1\nb 0 0\n", "line 2, column b: got '-1'"),
        (" a b\na 0 x\nb 0 0\n", "line 2, column b: got 'x'"),
        (" a b\na 0 nan\nb 0 0\n", "line 2, column b: got 'nan'"),
        (" a a\na 0 1\na 0 0\n", "line 1"),
        (" a b\nb 0 1\na 0 0\n", "line 2"),
        ("Traffic (furlongs)\n a b\na 0 1\nb 0 0\n", "got unit 'furlongs'"),
        ("Time (s)\n a b\na 0 1\nb 0 0\n", "holds no matrix of bytes"),
        ("(B)\n a b\na 0 1\nb 0 0\n(s)\n a c\na 0 1\nc 0 0\n", "different names"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(text, tmp_path)
    assert told in str(caught.value)
    assert "traffic.txt" in str(caught.value)


def test_tables_are_told_from_traces_as_csv(tmp_path: Path) -> None:
    for name, text, expected in (("a.csv", ",a,b\na,0,1\nb,0,0\n", True), ("b.csv", "start_ns,duration_ns,rank,kind\n", False)):
        (tmp_path / name).write_text(text)
        assert is_table(tmp_path / name) is expected
    (tmp_path / "c.json").write_text("{}")
    assert not is_table(tmp_path / "c.json")
    assert not is_table(tmp_path / "missing.csv")
    assert not is_table(tmp_path)
