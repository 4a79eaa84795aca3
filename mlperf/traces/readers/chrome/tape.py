"""Where the marks of JSON stand in bytes, those inside strings left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import IntArray

QUOTE, BACKSLASH, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST, COLON, COMMA = range(1, 9)
MARKS = b'"\\{}[]:,'

_CLASS = np.zeros(256, dtype=np.uint8)
for _number, _byte in enumerate(MARKS, start=1):
    _CLASS[_byte] = _number


def tape(data: NDArray[np.uint8]) -> tuple[IntArray, NDArray[np.uint8]]:
    """Positions and classes of all quotes that begin or end a string, and of all other marks outside of strings.

    Parameters
    ----------
    data : array of uint8
        JSON that begins outside of a string. Control characters do no harm.

    References
    ----------
    Langdale and Lemire, "Parsing gigabytes of JSON per second" (2019), stage 1: marks first, values after.
    """
    classes = _CLASS[data]
    at = np.flatnonzero(classes)
    kind = classes[at]
    at, kind = _without_escaped(at, kind)
    quotes = kind == QUOTE
    inside = np.cumsum(quotes) & 1
    kept = quotes | (inside == 0)
    return at[kept], kind[kept]


def _without_escaped(at: IntArray, kind: NDArray[np.uint8]) -> tuple[IntArray, NDArray[np.uint8]]:
    """Leave out backslashes, and what follows an odd one of a run of them."""
    slashes = np.flatnonzero(kind == BACKSLASH)
    if not len(slashes):
        return at, kind
    places = at[slashes]
    starts = np.concatenate(([True], np.diff(places) != 1))
    first = places[starts][np.cumsum(starts) - 1]
    escaped = places[(places - first) % 2 == 0] + 1
    kept = kind != BACKSLASH
    found = np.searchsorted(at, escaped)
    found = found[found < len(at)]
    kept[found[np.isin(at[found], escaped)]] = False
    return at[kept], kind[kept]
