"""Bytes, lines and cells, and their errors."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.readers.content import head_of, line_error, read_content, read_lines, whole_number
from mlperf.traces.readers.csv_table import read_csv


def test_files_that_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(DataError, match="got an empty file"):
        read_content(tmp_path / "x")
    with pytest.raises(DataError, match="cannot be read"):
        read_content(tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "content"),
    [("xz", lzma.compress(b"a")), ("bzip2", bz2.compress(b"a")), ("zstd", b"\x28\xb5\x2f\xfd\x24\x01\x09\0\0a")],
)
def test_files_that_are_packed_otherwise_say_how_to_unpack_them(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "run.csv").write_bytes(content)
    with pytest.raises(DataError, match=f"is packed by {name}, expected plain or gzip") as caught:
        read_content(tmp_path / "run.csv")
    assert caught.value.hint == f"{name} -d run.csv"
    with pytest.raises(DataError, match=f"is packed by {name}"):
        head_of(tmp_path / "run.csv", 100)
    with pytest.raises(DataError, match=rf"run\.csv: is packed by {name}"):
        read_csv(tmp_path / "run.csv")


def test_the_head_of_a_packed_file_is_that_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(bytes(range(256)) * 100))
    assert head_of(tmp_path / "x", 50) == bytes(range(50))
    (tmp_path / "x").write_bytes(b"\x1f\x8bjunk")
    assert head_of(tmp_path / "x", 50) == b"\x1f\x8bjunk"


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a\nb\xff")
    with pytest.raises(DataError, match="line 2: got byte 0xff"):
        read_lines(tmp_path / "x")


@pytest.mark.parametrize("text", ["", "1.0", "1e3", "٣", "--1", "9" * 19])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(DataError, match="x, line 3, column tag"):
        whole_number(Path("x"), 3, "tag", text)


def test_numbers_have_a_least_value() -> None:
    assert whole_number(Path("x"), 1, "size", "-5") == -5
    with pytest.raises(DataError, match="got -5, expected >= 0"):
        whole_number(Path("x"), 1, "size", "-5", least=0)


def test_long_lines_are_cut() -> None:
    assert "x" * 60 + "..." in str(line_error(Path("f"), 1, "x" * 500, "less"))
