"""Files of text, JSON and TOML that others wrote: whatever is wrong with their bytes becomes an error with file, place and hint."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mlperf.core.errors import DataError

KINDS = {"dict": "an object", "list": "a list", "str": "a text", "NoneType": "null"}
TOML_LIMIT = 2**63
MAX_BYTES = 256 * 2**20
UTF8_HINT = "Save the file as UTF-8."
DECIMAL_COMMA = re.compile(r"([\w-]+)\s*=\s*(\d+),(\d+)\s*(?:#.*)?")
TOML_HINT = "Strings need quotes, every key its own line: key = value."
PATH_HINT = "Check the path and its permissions."
DEPTH_HINT = "Nothing that is meant has brackets a thousand deep: look for a bracket that was repeated."

Kind = TypeVar("Kind")


@contextmanager
def bounded_depth(place: str, hint: str = DEPTH_HINT) -> Iterator[None]:
    """Turn the end of Python's stack, in a parser that follows brackets inside brackets, into an error of the text.

    Raises
    ------
    DataError
        The block nests too deeply.
    """
    try:
        yield
    except RecursionError:
        raise DataError("is nested too deeply to be read", place=place, hint=hint) from None


def file_text(path: Path | str, hint: str = UTF8_HINT) -> str:
    """Read a whole file of UTF-8 text.

    Raises
    ------
    DataError
        It is missing, cannot be opened, is larger than `MAX_BYTES`, or not UTF-8.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"got {path.stat().st_size} bytes, expected at most {MAX_BYTES}", place=str(path), hint=hint)
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        got = f"is not UTF-8: got byte {error.object[error.start]:#04x} at offset {error.start}"
        raise DataError(got, place=str(path), hint=hint) from error
    except (OSError, ValueError) as error:  # a ValueError: a name with a character zero
        raise DataError(f"cannot be read: {getattr(error, 'strerror', error)}", place=str(path), hint=PATH_HINT) from error


def read_json(path: Path | str, kind: type[Kind], hint: str = "") -> Kind:
    """Read a JSON file that holds one ``kind``: ``dict`` or ``list``.

    Raises
    ------
    DataError
        It cannot be read, is no JSON (names line and column), or holds something else.
    """
    text = file_text(path, hint or UTF8_HINT)
    found = parsed(partial(json.loads, parse_int=whole_number), text, str(path), hint)
    if not isinstance(found, kind):
        got, expected = (KINDS.get(each.__name__, each.__name__) for each in (type(found), kind))
        raise DataError(f"got {got}, expected {expected}", place=f"{path}, line 1", hint=hint or None)
    return found


def read_toml(path: Path | str) -> dict[str, Any]:
    """Read the table in a TOML file.

    Raises
    ------
    DataError
        No such file, not UTF-8, or not TOML; names the file and the line.
    """
    table = dict(parsed(tomllib.loads, file_text(path), str(path), TOML_HINT))
    large = [value for value in values_in(table) if isinstance(value, int) and not -TOML_LIMIT <= value < TOML_LIMIT]
    if large:
        got = f"got a whole number of {large[0].bit_length()} bits, expected at most 64"
        raise DataError(got, place=str(path), hint="Larger numbers have a point or an exponent: 1e20.")
    return table


def values_in(document: Any) -> Iterator[Any]:
    """Every value inside lists and objects, in no order."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        else:
            yield value


def whole_number(text: str) -> int:
    """The number that digits of JSON stand for; ValueError: one that no float can hold."""
    number = int(text)
    if abs(number) > sys.float_info.max:
        raise ValueError(f"{text[:20]}... is larger than 1.8e308")
    return number


def toml_hint(error: str, text: str) -> str:
    """What most likely led to an error of the parser, by its words and the line that it names; empty: nothing is known."""
    if "overwrite" in error or "more than once" in error or "Duplicate" in error:
        return "The key, or its table, is there twice: leave one of them out."
    found = re.search(r"at line (\d+)", error)
    line = text.splitlines()[int(found[1]) - 1 :][:1] if found else []
    decimal = DECIMAL_COMMA.fullmatch(line[0].strip()) if line else None
    return f"A number has a decimal point and no unit: {decimal[1]} = {decimal[2]}.{decimal[3]}" if decimal else ""


def parsed(parse: Callable[[str], Any], text: str, place: str, hint: str = "") -> Any:
    """What a parser of JSON or TOML makes of a text.

    Raises
    ------
    DataError
        It is none, holds a number with thousands of digits, or nests too deeply.
    """
    try:
        with bounded_depth(place):
            return parse(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not valid TOML: {error}", place=place, hint=toml_hint(str(error), text) or hint) from error
    except json.JSONDecodeError as error:
        where = f"{place}, line {error.lineno}, column {error.colno}"
        raise DataError(f"is no JSON ({error.msg})", place=where, hint=hint or None) from error
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"holds a number that cannot be read ({str(error)[:80]})", place=place, hint=hint or None) from error
