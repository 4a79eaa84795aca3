"""Digests that name content: the same numbers give the same digest, however the files are packed or listed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from mlperf.datasets.reading.source import read_foreign


def content_sha256(content: Mapping[str, bytes]) -> str:
    """SHA-256 over named contents.

    Parameters
    ----------
    content : Mapping[str, bytes]
        Decompressed content by name; names are sorted, so their order does not matter.

    Returns
    -------
    str
        64 hexadecimal digits: of the lines ``<sha256 of the content>  <name>``, one a name, as ``sha256sum`` prints them.
    """
    lines = [f"{hashlib.sha256(content[name]).hexdigest()}  {name}\n" for name in sorted(content)]
    return hashlib.sha256("".join(lines).encode("utf-8")).hexdigest()


def table_sha256(path: Path | str) -> str:
    """SHA-256 of one table's decompressed content, as UTF-8 where it is text.

    Raises
    ------
    DataError
        As ``read_foreign``.
    """
    return read_foreign(path).sha256
