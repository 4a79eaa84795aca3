"""Bytes as other programs write them: decoded where they say how, or where there is one reading; refused elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.reading.encoding import utf8_text

TEXT = "name,Größe\nnaïve façade,µ²\n"
PATH = Path("times.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marked_text_is_decoded_without_a_note(encoding: str) -> None:
    decoded = utf8_text(PATH, TEXT.encode(encoding))
    assert (decoded.data.decode(), decoded.note) == (TEXT, "")


def test_big_endian_marks() -> None:
    assert utf8_text(PATH, b"\xfe\xff" + TEXT.encode("utf-16-be")).data.decode() == TEXT
    assert utf8_text(PATH, b"\x00\x00\xfe\xff" + TEXT.encode("utf-32-be")).data.decode() == TEXT


def test_western_europe_is_read_and_named() -> None:
    decoded = utf8_text(PATH, TEXT.encode("cp1252"))
    assert decoded.data.decode() == TEXT
    assert decoded.note == "times.csv, line 1: read as Windows-1252 (Latin-1), for example 'Größe'"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("размер", "cp1251"), ("размер", "koi8-r"), ("時間", "shift-jis"), ("時間", "euc-jp"), ("μέγεθος", "cp1253")],
)
def test_other_code_pages_are_refused(text: str, encoding: str) -> None:
    with pytest.raises(DataError, match="neither UTF-8 nor Windows-1252 behind 'm,'") as caught:
        utf8_text(PATH, f"a,b\n1,2\nm,{text}\n".encode(encoding))
    assert caught.value.place == "times.csv, line 3"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (TEXT.encode("utf-16-le"), "two bytes"),
        (b"PK\x03\x04rest", "Excel workbook"),
        (b"\xd0\xcf\x11\xe0rest", "Excel workbook"),
        (TEXT.encode("utf-16")[:-1], "line 2: is no whole UTF-16-LE text"),
        (b"\xef\xbb\xbfa\xff", "line 1: is no whole UTF-8 text"),
        ("a\0b".encode("utf-16"), "character zero"),
    ],
    ids=["no mark", "zip", "xls", "cut off", "two encodings", "zero"],
)
def test_what_is_no_text_is_named(raw: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        utf8_text(PATH, raw)
    assert "CSV UTF-8" in str(caught.value.hint)
