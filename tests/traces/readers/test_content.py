"""Bytes, lines and cells, and their errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.readers.content import line_error, read_content, read_lines, whole_number


def test_files_that_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(DataError, match="got an empty file"):
        read_content(tmp_path / "x")
    with pytest.raises(DataError, match="cannot be read"):
        read_content(tmp_path / "none")


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
