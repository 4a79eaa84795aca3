"""Output files that are either complete or absent."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_bytes_whole(path: Path, content: bytes) -> None:
    """Write ``content`` to a temporary name next to ``path``, then rename: readers never see half a file."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        # mkstemp makes files private; an output file gets the permissions any new file would get.
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text_whole(path: Path, text: str) -> None:
    """Write UTF-8 ``text`` whole or not at all."""
    write_bytes_whole(path, text.encode("utf-8"))
