"""Links between devices: as ``nvidia-smi topo -m`` names them, or as a table of bandwidths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.traces.links.matrix_file import read_matrix
from mlperf.traces.readers.content import read_content

NVLINK_BYTES_PER_S = 20e9
"""One link of the first generation each way; later ones are faster, and their order among themselves is the same."""
WORDS = MappingProxyType({"PIX": 13e9, "PXB": 12e9, "PHB": 11e9, "NODE": 10e9, "SYS": 8e9})
"""Through one bridge, several, the processor's, across its parts, across sockets: PCIe 3 with 16 lanes, ever longer ways."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LINK = re.compile(r"NV(\d+)|PIX|PXB|PHB|NODE|SYS|X")


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Bandwidth between devices.

    Attributes
    ----------
    places : tuple of str
    bytes_per_s : array, shape (n_places, n_places)
        From each to each; 0: no link of its own.
    words : tuple of tuple of str
        What the file calls each link; empty where it gives numbers.
    """

    places: tuple[str, ...]
    bytes_per_s: FloatArray
    words: tuple[tuple[str, ...], ...] = ()


def read_links(path: Path) -> Links:
    """Read links from the text of ``nvidia-smi topo -m``, or a matrix with bytes a second.

    Raises
    ------
    DataError
        It is neither; names file, line and word.
    """
    text = _COLOUR.sub("", read_content(path).decode("utf-8", "replace"))
    head = next((line for line in text.splitlines() if re.search(r"\bGPU0\b", line)), "")
    if not re.search(r"^\s*GPU\d+\s.*\b(?:X|NV\d+|SYS|PHB|PIX)\b", text, re.MULTILINE):
        found = read_matrix(path)
        return Links(found.places, found.comm_matrix_bytes)
    names = [word for word in head.split() if re.fullmatch(r"GPU\d+", word)]
    if not names:
        raise DataError("got rows of devices without a header that names them", place=str(path))
    rows: list[tuple[str, ...]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        is_row = words[:1] == names[len(rows) : len(rows) + 1] and words[1:2] != names[1:2]
        if len(rows) < len(names) and is_row and len(words) > len(names):
            links = words[1 : len(names) + 1]
            for name, word in zip(names, links, strict=True):
                if not _LINK.fullmatch(word):
                    raise DataError(f"got {word!r}, expected NV1, PIX, PHB, ...", place=f"{path}, line {number}, column {name}")
            rows.append(tuple(links))
    if len(rows) < len(names):
        raise DataError(f"got rows of {len(rows)} of {len(names)} devices", place=str(path))
    return Links(tuple(names), np.array([[_bandwidth(word) for word in row] for row in rows]), tuple(rows))


def _bandwidth(word: str) -> float:
    """What a link of this name gives, bytes a second."""
    if word.startswith("NV"):
        return int(word[2:]) * NVLINK_BYTES_PER_S
    return WORDS.get(word, 0.0)
