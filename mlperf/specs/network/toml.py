"""TOML out: enough of the language for specifications, laid out for people."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mlperf.core.errors import DataError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def toml_text(table: Mapping[str, Any], comment: str = "") -> str:
    """Write ``table`` as TOML.

    Plain values come first, then lists of tables with one row on a line, then nested tables under their header.

    Parameters
    ----------
    table : Mapping
        Strings, booleans, integers, floats, lists, and mappings with string keys; ``None`` is left out.
    comment : str
        Lines put before everything else, each after ``#``.

    Raises
    ------
    DataError
        A value that TOML has no form for.
    """
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines += _table_lines(table, ())
    return "\n".join(lines).lstrip("\n") + "\n"


def _table_lines(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines, nested = [], []
    for name, value in table.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            nested.append((name, value))
        elif _is_rows(value):
            lines += [f"{_key(name)} = [", *(f"    {_value(row, name)}," for row in value), "]"]
        else:
            lines.append(f"{_key(name)} = {_value(value, name)}")
    for name, value in nested:
        inner = (*path, name)
        lines += ["", f"[{'.'.join(_key(part) for part in inner)}]", *_table_lines(value, inner)]
    return lines


def _is_rows(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and len(value) > 0
        and all(isinstance(row, Mapping) for row in value)
    )


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _string(name)


def _value(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item, key)}" for key, item in value.items() if item is not None) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_value(item, name) for item in value) + "]"
    raise DataError(
        f"got {value!r}, expected a string, number, boolean, list or table", place=f"key {name!r}", hint="TOML has no other values."
    )


def _float(value: float) -> str:
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return repr(float(value))


def _string(text: str) -> str:
    escaped = (_ESCAPES.get(letter) or (letter if letter.isprintable() else f"\\U{ord(letter):08x}") for letter in text)
    return '"' + "".join(escaped) + '"'
