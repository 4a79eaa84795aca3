"""The bytes of a table: read once, decompressed, checked for encoding and for growing meanwhile."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from mlperf.core.errors import DataError
from mlperf.datasets.reading.encoding import utf8_text

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
FRESH_S = 1.0
SETTLE_S = 0.05
NEWLINE = b"\n"
PARQUET_MAGIC = b"PAR1"
STANDARD_INPUT = Path("<stdin>")
OBJECT_STARTS = re.compile(rb'\s*(\[\s*)?\{\s*"')
"""How JSON documents of rows begin, and no table does."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was when it was read.

    Attributes
    ----------
    path : Path
        Where it lies; as the caller wrote it.
    data : bytes
        Decompressed content in UTF-8, without a byte order mark; of a Parquet file the bytes as they are.
    size_bytes : int
        Size of the file on disk.
    modified_ns : int
        Time of its last change.
    notes : tuple of str
        What a user should know about how the bytes were read.
    """

    path: Path
    data: bytes
    size_bytes: int
    modified_ns: int
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The content decoded."""
        return self.data.decode("utf-8")

    @property
    def sha256(self) -> str:
        """SHA-256 of the content, 64 hexadecimal digits."""
        return sha256(self.data).hexdigest()

    @property
    def is_parquet(self) -> bool:
        """Whether the content is Parquet, not text."""
        return self.data.startswith(PARQUET_MAGIC)

    def lines(self) -> io.TextIOWrapper:
        """The content decoded piece by piece, line ends as they are."""
        return io.TextIOWrapper(io.BytesIO(self.data), encoding="utf-8", newline="")


def is_standard_input(path: Path | str) -> bool:
    """Whether a path means what is piped into the program: ``-``."""
    return str(path) in ("-", str(STANDARD_INPUT))


def read_source(path: Path) -> Source:
    """Read a CSV file, gzipped where its name ends in ``.gz``.

    Raises
    ------
    DataError
        The file is missing, empty, no gzip or cut off, not UTF-8, JSON, or grew while it was read.
    """
    source = read_bytes(Path(path))
    data = decompressed(source.path, source.data).removeprefix(BYTE_ORDER_MARK)
    source = replace(source, data=data)
    _check_encoding(source)
    _refuse_json(source.path, source.data)
    return source


def read_foreign(path: Path | str) -> Source:
    """Read a table that another program wrote, in the encoding that it chose; ``-`` is the standard input.

    Raises
    ------
    DataError
        As `read_source`, but for UTF-16 and UTF-32 with a byte order mark and Windows-1252, which are read.
    """
    source = read_standard_input() if is_standard_input(path) else read_bytes(Path(path))
    if source.is_parquet:
        return source
    decoded = utf8_text(source.path, decompressed(source.path, source.data))
    _refuse_json(source.path, decoded.data)
    return replace(source, data=decoded.data, notes=(decoded.note,) if decoded.note else ())


def _refuse_json(path: Path, data: bytes) -> None:
    """Refuse what is no table but a JSON document, such as a model, before marks between its cells are looked for."""
    if data.lstrip()[:1] not in (b"{", b"["):
        return
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        _refuse_json_in_part(path, data, error)
        return
    of_ours = str(document.get("format", "")).startswith("mlperf") if isinstance(document, dict) else False
    hint = "mlperf wrote it; a model is asked by mlperf predict MODEL --rows TABLE." if of_ours else "Save it as CSV."
    raise DataError("got a JSON document, expected a table", place=str(path), hint=hint)


def _refuse_json_in_part(path: Path, data: bytes, error: Exception) -> None:
    """Refuse what begins as JSON objects do and is no whole document: objects a line, or a document that was cut off."""
    if not OBJECT_STARTS.match(data):
        return
    try:
        json.loads(data.lstrip().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        got, hint = f"got a JSON document that is not whole ({error}), expected a table", "Save its rows as CSV."
    else:
        got, hint = (
            "got JSON lines, expected a table",
            "Save them as CSV: pandas.read_json(FILE, lines=True).to_csv(OTHER, index=False).",
        )
    raise DataError(got, place=str(path), hint=hint)


def read_standard_input() -> Source:
    """Everything that is piped into the program; it can be read once.

    Raises
    ------
    DataError
        Nothing came.
    """
    raw = sys.stdin.buffer.read()
    if not raw:
        raise empty(STANDARD_INPUT)
    return Source(STANDARD_INPUT, raw, len(raw), 0)


def read_bytes(path: Path) -> Source:
    """A file as it is on disk.

    Raises
    ------
    DataError
        The file is missing or empty, or grew while it was read.
    """
    try:
        with path.open("rb") as stream:
            before = os.fstat(stream.fileno())
            raw = stream.read()
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror})", place=str(path), hint="Check the path and its permissions."
        ) from error
    if not raw:
        raise empty(path)
    source = Source(path, raw, before.st_size, before.st_mtime_ns)
    if len(raw) != before.st_size:
        raise changed(source)
    return source


def empty(path: Path) -> DataError:
    """The error for a file without content."""
    hint = (
        "What wrote it may have stopped early: write it again, names of columns in its first line. "
        "Tables of a campaign begin as mlperf data template has them."
    )
    return DataError("got an empty file, expected a header and rows", place=f"{path}, line 1", hint=hint)


def decompressed(path: Path, raw: bytes) -> bytes:
    """Content of the file: gunzipped for ``.gz``, and where gzip comes from the standard input.

    Raises
    ------
    DataError
        A ``.gz`` that is none or ends early, or a gzip without that suffix.
    """
    zipped = raw.startswith(GZIP_MAGIC)
    if path.suffix != ".gz" and not (zipped and path == STANDARD_INPUT):
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
    header = data.split(NEWLINE, 1)[0].decode("utf-8", "ignore").strip().split(",")
    index = data.count(b",", start, position)
    # Names of a file that is no text would show its bytes.
    column = header[index] if index < len(header) and header[index].isprintable() else f"number {index + 1}"
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
    """Compare the file with what it was when it was read; the standard input is past.

    Raises
    ------
    DataError
        Size or time of change differ, or the file is gone.
    """
    if source.path == STANDARD_INPUT:
        return
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
