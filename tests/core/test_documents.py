"""Files of JSON, TOML and text that are none: every error is a DataError with the file's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlperf.core.documents import bounded_depth, file_text, read_json, read_toml
from mlperf.core.errors import DataError


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": ', "line 1, column 7: is no JSON"),
        (b'{"a": 1}\n{}', "line 2, column 1: is no JSON"),
        (b"[1]", "got a list, expected an object"),
        (b"null", "got null, expected an object"),
        (b"\xff{}", "is not UTF-8: got byte 0xff at offset 0"),
        (b'{"a": ' + b"9" * 400 + b"}", "larger than 1.8e308"),
        (b'{"a": ' + b"9" * 9000 + b"}", "holds a number that cannot be read"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_object_is_refused_with_its_place(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"host\.json") as caught:
        read_json(path, dict)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a = ", "not valid TOML"),
        (b"a = " + b"[" * 3000, "nested too deeply"),
        (b"a = " + b"9" * 9000, "holds a number that cannot be read"),
        (b"b = [{ a = 9223372036854775808 }]", "got a whole number of 64 bits"),
        (b"a = 0x" + b"f" * 300, "got a whole number of 1200 bits"),
        (b"a = \xff", "is not UTF-8"),
        (b"a = 1\na = 2", "hint: The key, or its table, is there twice"),
        (b"a = 1\nprice = 1,10  # EUR", "hint: A number has a decimal point and no unit: price = 1.10"),
        (b"a = b", "hint: Strings need quotes"),
    ],
)
def test_what_is_no_toml_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"job\.toml") as caught:
        read_toml(path)
    assert words in str(caught.value)


def test_whole_numbers_of_64_bits_are_read(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text("least = -9223372036854775808\nmost = 9223372036854775807\n", encoding="utf-8")
    assert read_toml(path) == {"least": -(2**63), "most": 2**63 - 1}


@pytest.mark.parametrize("read", [file_text, read_toml, lambda path: read_json(path, list)])
def test_a_missing_file_and_a_folder_are_named(read: Callable[[Path], Any], tmp_path: Path) -> None:
    for path in (tmp_path / "gone", tmp_path):
        with pytest.raises(DataError, match="cannot be read") as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_the_end_of_the_stack_is_an_error_of_the_text() -> None:
    def down(depth: int) -> int:
        return down(depth + 1) + 1

    with pytest.raises(DataError, match="nested too deeply"), bounded_depth("kernel.c"):
        down(0)
