"""Strict JSON: canonical text of a document, and text that is parsed with its place in every error."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mlperf.core.documents import MAX_BYTES, bounded_depth
from mlperf.core.errors import DataError

MAX_DEPTH = 64
_HOLDING = frozenset({dict, list})


def document_to_json(document: Mapping[str, Any]) -> str:
    """Any document of JSON types in canonical form (sorted keys, no NaN literals, trailing newline)."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def document_from_json(text: str) -> Any:
    """Parse JSON strictly: no duplicate keys, no NaN literals, bounded size and depth.

    Raises
    ------
    DataError
        Where the text is not such JSON.
    """
    if len(text) > MAX_BYTES:
        raise DataError(f"got {len(text)} characters, expected at most {MAX_BYTES}", place="$")
    try:
        with bounded_depth("$"):
            document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", place=f"line {error.lineno}, column {error.colno}") from None
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"not JSON: {error}", place="$") from None
    if _depth(document) > MAX_DEPTH:
        raise DataError(f"got brackets nested too deeply, expected at most {MAX_DEPTH}", place="$")
    return document


def placed(path: str | Path | None, read: Callable[[], Any]) -> Any:
    """Call ``read()`` and put the file's name before the place of its DataError."""
    try:
        return read()
    except DataError as error:
        if path is None:
            raise
        if (error.place or "").startswith(str(path)):
            raise
        raise DataError(error.message, place=f"{path}: {error.place}" if error.place else str(path), hint=error.hint) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"key {twice!r} appears twice in one object", place="$")
    return document


def _no_constant(text: str) -> Any:
    raise DataError(f'got the literal {text}, expected "NaN", "Inf" or "-Inf" as a string', place="$")


def _depth(document: Any) -> int:
    level, depth = [document], 0
    while level:
        depth += 1
        level = [item for value in level for item in _containers(value)]
    return depth


def _containers(value: Any) -> list[Any]:
    """Objects and lists that are held directly; most of a file are long lists of numbers, which hold none."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [] if _HOLDING.isdisjoint(map(type, held)) else [item for item in held if isinstance(item, (dict, list))]
