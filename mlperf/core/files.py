"""Output files that are either complete or absent."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file next to ``path`` that takes its name once everything is written: readers never see half a file."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        # mkstemp makes files private; an output file gets the permissions any new file would get.
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def writing_whole(path: Path) -> Iterator[IO[str]]:
    """Open ``path`` for UTF-8 text that is written piece by piece, whole or not at all; gzipped where its name ends in ``.gz``."""
    with replacing(path) as raw:
        # Without a time of its own the same rows give the same bytes.
        packed: IO[bytes] = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if Path(path).suffix == ".gz" else raw  # type: ignore[assignment]
        text = io.TextIOWrapper(packed, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()
        if packed is not raw:
            packed.close()


def write_bytes_whole(path: Path, content: bytes) -> None:
    """Write ``content`` to a temporary name next to ``path``, then rename."""
    with replacing(path) as stream:
        stream.write(content)


def write_text_whole(path: Path, text: str) -> None:
    """Write UTF-8 ``text`` whole or not at all."""
    write_bytes_whole(path, text.encode("utf-8"))
