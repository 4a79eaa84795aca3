"""Output files that are either complete or as they were before: every output of the package goes through here."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mlperf.core.places import check_file_place, place_error
from mlperf.core.temporaries import LOCKS, claim_part

STANDARD_STREAMS = (1, 2)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a stream whose content becomes the file ``path`` at the end of the block, whole or not at all.

    A file is replaced in one step and keeps its permissions; of a link, what it leads to. Devices and pipes are written to.

    Parameters
    ----------
    path : Path
        Its folder must be there.

    Raises
    ------
    UsageError
        Nothing can be written there; says why.
    DataError
        The disk is full, or fails.
    """
    path = Path(path)
    before = check_file_place(path)
    own = _own_stream(path, before)
    try:
        if own is None and (before is None or stat.S_ISREG(before.st_mode)):
            with _beside(Path(os.path.realpath(path)), before) as stream:
                yield stream
        else:
            content = io.BytesIO()
            yield content
            _write_to(path, own, content.getvalue())
    except OSError as error:
        # That nobody reads our own output any more is no fault of the place.
        if own is not None and isinstance(error, BrokenPipeError):
            raise
        raise place_error(path, error) from error


@contextmanager
def _beside(path: Path, before: os.stat_result | None) -> Iterator[IO[bytes]]:
    """Open a temporary file next to ``path`` that takes its name at the end."""
    handle, temporary = claim_part(path.parent, 0o666 if before is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            _settle(handle, temporary, before)
            if LOCKS:
                # While it is still open, that is locked: no other process may take it for a dead one's.
                temporary.replace(path)
        if not LOCKS:
            temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _settle(handle: int, temporary: Path, before: os.stat_result | None) -> None:
    """Bring the content to the disk, and give it the permissions and owner of the file that it replaces."""
    if before is not None:
        now = os.fstat(handle)
        if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
            with suppress(PermissionError):
                os.fchown(handle, before.st_uid, before.st_gid)
        temporary.chmod(stat.S_IMODE(before.st_mode))
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems know no such call.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


def _own_stream(path: Path, before: os.stat_result | None) -> int | None:
    """Which of this process's own streams a path leads to, as ``/dev/stdout`` does: what else goes there must not be lost."""
    if before is not None and path.absolute().parts[1] in ("dev", "proc"):
        for number in STANDARD_STREAMS:
            with suppress(OSError):
                if os.path.samestat(os.fstat(number), before):
                    return number
    return None


def _write_to(path: Path, own: int | None, content: bytes) -> None:
    """Write to a device or a pipe, or to one of our own streams behind what stands there."""
    if own is None:
        stream: io.FileIO = path.open("wb", buffering=0)
    else:
        (sys.stdout if own == STANDARD_STREAMS[0] else sys.stderr).flush()
        stream = os.fdopen(os.dup(own), "wb", buffering=0)
    with stream:
        rest = memoryview(content)
        while rest:
            rest = rest[stream.write(rest) :]


@contextmanager
def writing_whole(path: Path) -> Iterator[IO[str]]:
    """Open ``path`` for UTF-8 text that is written piece by piece, whole or not at all; gzipped where its name ends in ``.gz``."""
    with replacing(path) as raw:
        # Without a time of its own the same rows give the same bytes.
        packed: IO[bytes] = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if Path(path).suffix == ".gz" else raw  # type: ignore[assignment]
        text = io.TextIOWrapper(packed, encoding="utf-8", errors="backslashreplace", newline="")
        yield text
        text.flush()
        text.detach()
        if packed is not raw:
            packed.close()


def write_bytes_whole(path: Path, content: bytes) -> None:
    """Write ``content`` whole or not at all: see `replacing`."""
    with replacing(path) as stream:
        stream.write(content)


def write_text_whole(path: Path, text: str) -> None:
    """Write UTF-8 ``text`` whole or not at all; names of files that are no text become escapes, which JSON reads back."""
    write_bytes_whole(path, text.encode("utf-8", "backslashreplace"))
