"""Content of a trace's file, gzipped or not, and errors that name a place in it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mlperf.core.durations import number_in
from mlperf.core.errors import DataError

GZIP_MAGIC = b"\x1f\x8b"
PACKED = {b"\x28\xb5\x2f\xfd": ("zstd", "zstd -d"), b"\xfd7zXZ\x00": ("xz", "xz -d"), b"BZh91AY&SY": ("bzip2", "bzip2 -d")}
"""First bytes of files that are packed as none is read, with what packed and what unpacks them."""
BLOCK_BYTES = 65_536
"""More than the tables at the begin of a gzip's first block."""
SHOWN = 60
"""Characters of a wrong line that an error shows."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file to read; DataError: it cannot be."""
    try:
        with path.open("rb") as stream:
            yield stream
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror})", place=str(path), hint="Check the path and its permissions."
        ) from error


def refuse_packed(path: Path, head: bytes) -> None:
    """DataError where a file begins as one that is packed otherwise than by gzip."""
    for magic, (name, command) in PACKED.items():
        if head.startswith(magic):
            raise DataError(f"is packed by {name}, expected plain or gzip", place=str(path), hint=f"{command} {path.name}")


def head_of(path: Path, n_bytes: int) -> bytes:
    """The first bytes of a file, gunzipped where it begins as gzip does; DataError: it is packed otherwise, or cannot be read."""
    with opened(path) as stream:
        head = stream.read(max(n_bytes, BLOCK_BYTES))
    if head.startswith(GZIP_MAGIC):
        # What is damaged is told by the reader of the whole.
        with suppress(zlib.error):
            head = zlib.decompressobj(wbits=31).decompress(head, n_bytes)
    refuse_packed(path, head)
    return head[:n_bytes]


def read_content(path: Path) -> bytes:
    """Bytes of a file; gunzipped where it begins as gzip does, whatever it is called.

    Raises
    ------
    DataError
        It is missing, empty, packed otherwise than by gzip, or gzip that ends early.
    """
    with opened(path) as stream:
        raw = stream.read()
    if raw.startswith(GZIP_MAGIC):
        try:
            raw = gzip.decompress(raw)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"is not a whole gzip file ({error})", place=str(path), hint="It was cut off: copy it again."
            ) from error
    refuse_packed(path, raw)
    if not raw:
        hint = "What wrote it may have stopped early, or not have closed it yet: write it again."
        raise DataError("got an empty file", place=str(path), hint=hint)
    return raw


def read_lines(path: Path) -> list[str]:
    """Lines of a text file without their ends.

    Raises
    ------
    DataError
        As `read_content`, or a byte is no UTF-8.
    """
    raw = read_content(path)
    try:
        return raw.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(f"got byte 0x{raw[error.start]:02x}, expected UTF-8 text", place=f"{path}, line {line}") from None


def whole_lines(path: Path) -> tuple[list[str], tuple[str, ...]]:
    """Lines of a file that one of our own programs wrote, and a note where the last one is cut off, which is left out."""
    *lines, rest = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return lines, (f"{path.name}: the last line is cut off and left out",) if rest else ()


def not_negative(word: str, place: str, most: float = 1e18, expected: str = "a number >= 0") -> float:
    """A number of 0 or more below ``most``; DataError: it is none."""
    value = number_in(word)
    if not 0 <= value < most:
        raise DataError(f"got {word[:40]!r}, expected {expected}", place=place)
    return value


def line_error(path: Path, line: int, text: str, expected: str, hint: str | None = None) -> DataError:
    """The error for a line that is not as it should be; lines count from 1."""
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return DataError(f"got {shown!r}, expected {expected}", place=f"{path}, line {line}", hint=hint)


def whole_number(path: Path, line: int, column: str, text: str, least: int | None = None) -> int:
    """An integer of at most 18 digits from a cell.

    Raises
    ------
    DataError
        It is none, or less than ``least``.
    """
    place = f"{path}, line {line}, column {column}"
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise DataError(f"got {text[:SHOWN]!r}, expected a whole number", place=place)
    number = int(text)
    if least is not None and number < least:
        raise DataError(f"got {number}, expected >= {least}", place=place)
    return number
