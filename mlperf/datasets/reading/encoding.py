"""The bytes of a table from elsewhere as UTF-8: byte order marks obeyed, Windows-1252 recognised and named, the rest refused."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import DataError

# The marks of UTF-32 come first: that of its little-endian form begins as that of UTF-16 does.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
WESTERN = "cp1252"
# Letters of western Europe and what units and typography need. Text in another code page has other characters among these bytes.
WESTERN_TEXT = re.compile("[\x00-\x7f\xa0°±²³µ·¹º¼½¾×÷À-ÖØ-öø-ÿŠšŽžŸŒœ€–—‘’“”„…•]*")
# No word of western Europe has three such letters in a row; most words of Cyrillic, Greek or Japanese have.
FOREIGN_WORD = re.compile("[À-ÖØ-öø-ÿŠšŽžŸŒœ]{3}")
WORD = re.compile(r"[^\W\d_]*[^\x00-\x7f]+\w*")
UTF8_HINT = "Save the file as UTF-8 (a spreadsheet calls it 'CSV UTF-8')."
ARCHIVES = {b"PK\x03\x04": "a zip archive or an Excel workbook", b"\xd0\xcf\x11\xe0": "an Excel workbook", b"SQLite": "a database"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text as UTF-8 without a byte order mark, and what a user should know about how it was read (empty: nothing)."""

    data: bytes
    note: str = ""


def utf8_text(path: Path, raw: bytes) -> Decoded:
    """Turn the bytes of a text file into UTF-8.

    Parameters
    ----------
    path : Path
        For messages.
    raw : bytes
        Decompressed content.

    Raises
    ------
    DataError
        No text, or text in an encoding that only its author knows; names the line.
    """
    for start, what in ARCHIVES.items():
        if raw.startswith(start):
            hint = "Save the sheet as a file of its own ('CSV UTF-8')."
            raise DataError(f"got {what}, expected a table as text", place=str(path), hint=hint)
    for mark, encoding in MARKS:
        if raw.startswith(mark):
            return Decoded(_marked_text(path, raw, mark, encoding))
    if b"\0" in raw:
        got = "got a text without a byte order mark in which characters take two bytes (UTF-16), or no text at all"
        raise DataError(f"{got}, expected UTF-8 text", place=f"{path}, line 1", hint=UTF8_HINT)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return _western_text(path, raw, error.start)
    return Decoded(raw)


def _marked_text(path: Path, raw: bytes, mark: bytes, encoding: str) -> bytes:
    """Text behind a byte order mark."""
    body = raw[len(mark) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line = body[: error.start].decode(encoding, "ignore").count("\n") + 1
        got = f"is no whole {encoding.upper()} text, which its first bytes promise"
        raise DataError(got, place=f"{path}, line {line}", hint=f"The file was cut off or joined from two. {UTF8_HINT}") from error
    if "\0" in text:
        raise DataError("got a character zero, expected text", place=f"{path}, line 1", hint=UTF8_HINT)
    return body if encoding == "utf-8" else text.encode("utf-8")


def _western_text(path: Path, raw: bytes, position: int) -> Decoded:
    """Text as older programs under Windows write it in western Europe; ``position``: first byte that is no UTF-8."""
    line = raw.count(b"\n", 0, position) + 1
    try:
        text = raw.decode(WESTERN)
    except UnicodeDecodeError:
        text = ""
    if not text or WESTERN_TEXT.fullmatch(text) is None or FOREIGN_WORD.search(text):
        known = raw[:position].splitlines()
        behind = f" behind {known[-1].decode('utf-8')[-20:]!r}" if known and not raw[:position].endswith(b"\n") else ""
        raise DataError(
            f"got text that is neither UTF-8 nor Windows-1252{behind}, expected UTF-8 text",
            place=f"{path}, line {line}",
            hint=UTF8_HINT,
        )
    found = WORD.search(text, max(position - 20, 0))
    shown = repr(found[0]) if found else "other characters than ASCII"
    return Decoded(text.encode("utf-8"), f"{path}, line {line}: read as Windows-1252 (Latin-1), for example {shown}")
