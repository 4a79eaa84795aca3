"""The bytes of a table: read once, decompressed, checked for encoding and for growing meanwhile."""

from __future__ import annotations

import gzip
import os
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import DataError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
FRESH_S = 1.0
SETTLE_S = 0.05
NEWLINE = b"\n"


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was when it was read.

    Attributes
    ----------
    path : Path
        Where it lies; as the caller wrote it.
    data : bytes
        Decompressed content in UTF-8, without a byte order mark.
    size_bytes : int
        Size of the file on disk.
    modified_ns : int
        Time of its last change.
    """

    path: Path
    data: bytes
    size_bytes: int
    modified_ns: int

    @property
    def text(self) -> str:
        """The content decoded."""
        return self.data.decode("utf-8")


def read_source(path: Path) -> Source:
    """Read a CSV file, gzipped where its name ends in ``.gz``.

    Raises
    ------
    DataError
        The file is missing, empty, no gzip or cut off, not UTF-8, or grew while it was read.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            before = os.fstat(stream.fileno())
            raw = stream.read()
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror})", place=str(path), hint="Check the path and its permissions."
        ) from error
    if not raw:
        raise DataError("got an empty file, expected a header and rows", place=f"{path}, line 1", hint="See mlperf data template.")
    data = decompressed(path, raw).removeprefix(BYTE_ORDER_MARK)
    source = Source(path, data, before.st_size, before.st_mtime_ns)
    if len(raw) != before.st_size:
        raise changed(source)
    _check_encoding(source)
    return source


def decompressed(path: Path, raw: bytes) -> bytes:
    """Content of the file: gunzipped for ``.gz``.

    Raises
    ------
    DataError
        A ``.gz`` that is none or ends early, or a gzip without that suffix.
    """
    zipped = raw.startswith(GZIP_MAGIC)
    if path.suffix != ".gz":
        if zipped:
            raise DataError(
                "got gzip data, expected plain text", place=str(path), hint="Give the file a name that ends in .csv.gz."
            )
        return raw
    try:
        return gzip.decompress(raw)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"is not a whole gzip file ({error})", place=str(path), hint="It was cut off or never gzipped: copy it again."
        ) from error


def _check_encoding(source: Source) -> None:
    """Check that the content is UTF-8 text; DataError: names line, column and byte of the first wrong one."""
    try:
        source.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise encoding_error(source, error.start) from None
    nul = source.data.find(b"\0")
    if nul >= 0:
        raise encoding_error(source, nul)


def encoding_error(source: Source, position: int) -> DataError:
    """The error for a byte that no UTF-8 text has at ``position``."""
    data = source.data
    start = data.rfind(NEWLINE, 0, position) + 1
    header = data.split(NEWLINE, 1)[0].decode("utf-8", "replace").strip().split(",")
    index = data.count(b",", start, position)
    column = header[index] if index < len(header) else f"number {index + 1}"
    return DataError(
        f"got byte 0x{data[position]:02x}, expected UTF-8 text",
        place=f"{source.path}, line {data.count(NEWLINE, 0, position) + 1}, column {column}, byte {position}",
        hint="Save the file as UTF-8 (a spreadsheet calls it 'CSV UTF-8').",
    )


def changed(source: Source) -> DataError:
    """The error for a file that is not what it was when reading began."""
    return DataError(
        f"changed while it was read: got {source.size_bytes} bytes at first",
        place=f"{source.path}, line {source.data.count(NEWLINE) + 1}",
        hint="Something still writes to it: wait for the measurement to end, then read again.",
    )


def check_unchanged(source: Source) -> None:
    """Compare the file with what it was when it was read.

    Raises
    ------
    DataError
        Size or time of change differ, or the file is gone.
    """
    try:
        now = source.path.stat()
    except OSError:
        raise changed(source) from None
    if (now.st_size, now.st_mtime_ns) != (source.size_bytes, source.modified_ns):
        raise changed(source)


def check_settled(sources: Iterable[Source]) -> None:
    """Check that nobody is writing to any of the files.

    A file that was changed less than ``FRESH_S`` ago may be between two appends, so it is looked at again after ``SETTLE_S``.

    Raises
    ------
    DataError
        Names the first file that changed.
    """
    sources = tuple(sources)
    if any(abs(time.time() - source.modified_ns / 1e9) < FRESH_S for source in sources):
        time.sleep(SETTLE_S)
    for source in sources:
        check_unchanged(source)
