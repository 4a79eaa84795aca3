"""Numbers as text that a page unpacks without parsing: little-endian arrays in base 64."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def packed(values: NDArray[Any], form: str) -> str:
    """An array as base 64 of its bytes.

    Parameters
    ----------
    values : array
        Clipped to what the form holds.
    form : str
        ``"u1"``, ``"u2"``, ``"u4"``, ``"i4"``, ``"f4"``.
    """
    kind = np.dtype(f"<{form}")
    if kind.kind in "ui":
        bounds = np.iinfo(kind)
        values = np.clip(values, bounds.min, bounds.max)
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def unpacked(text: str, form: str) -> NDArray[Any]:
    """The array that `packed` gave."""
    return np.frombuffer(base64.b64decode(text), dtype=f"<{form}")


def script_json(document: Any) -> str:
    """JSON that can stand inside a ``<script>`` element: no text in it ends the element or begins another."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\u2028", "\\u2028")
