"""The one JSON document of a command, and its JSON Schema, made from the fields of the result class."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown, plain

FORMAT = "mlperf-record"
HEAD = ("format", "version", "command", "provenance")
VERSION = 1


def record(command: str, provenance: Mapping[str, Any], result: Any, answer: str = "") -> dict[str, Any]:
    """Wrap the result of a command.

    Parameters
    ----------
    command : str
        The command's name, ``"predict"`` or ``"data check"``.
    provenance : mapping
        As made by ``mlperf.core.provenance.provenance``.
    result : Shown or JSON types
        What the public function returned; times in seconds, NaN and infinities as ``"NaN"``, ``"Inf"``, ``"-Inf"``.
    answer : str
        The answer in one sentence; empty for none.

    Returns
    -------
    dict
        JSON types only.
    """
    head = {"format": FORMAT, "version": VERSION, "command": command, "provenance": plain(provenance)}
    return {**head, **({"answer": answer} if answer else {}), "result": plain(result)}


def record_text(document: Mapping[str, Any]) -> str:
    """The document as indented JSON, keys in the order given, one newline at the end."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


SECTIONS = ("Attributes", "Parameters")
ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: : .*)?$")


def field_notes(cls: Any) -> dict[str, str]:
    """Field name to its description, one line each.

    Parameters
    ----------
    cls : type
        Class with a numpydoc docstring; ``a, b : type`` describes both fields.
    """
    notes: dict[str, list[str]] = {}
    names: list[str] = []
    for line in section_lines(inspect.getdoc(cls) or ""):
        entry = ENTRY.match(line)
        if entry:
            names = entry[1].split(", ")
        elif line.startswith(" "):
            for name in names:
                notes.setdefault(name, []).append(line.strip())
    return {name: " ".join(lines) for name, lines in notes.items()}


def section_lines(text: str) -> list[str]:
    """Lines of the sections that describe fields."""
    found: list[str] = []
    inside = False
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and set(following) == {"-"}:
            inside = line in SECTIONS
        elif inside and set(line) != {"-"}:
            found.append(line)
    return found


DRAFT = "https://json-schema.org/draft/2020-12/schema"
DEFINITIONS: Mapping[str, Any] = types.MappingProxyType(
    {
        "number": {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Inf", "-Inf"]}]},
        "array": {
            "description": "numbers, flags or words, nested to the array's number of dimensions",
            "anyOf": [
                {"type": "array", "items": {"$ref": "#/$defs/array"}},
                {"$ref": "#/$defs/number"},
                {"type": ["boolean", "string", "null"]},
            ],
        },
        "frame": {
            "type": "object",
            "properties": {
                "columns": {"type": "array", "items": {"type": "string"}},
                "rows": {"type": "array", "items": {"type": "array"}},
            },
            "required": ["columns", "rows"],
            "additionalProperties": False,
        },
        "provenance": {
            "type": "object",
            "properties": {
                "created_utc": {"type": "string"},
                "command_line": {"type": "array", "items": {"type": "string"}},
                "seed": {"type": ["integer", "null"]},
                "data_sha256": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
                "versions": {"type": "object", "additionalProperties": {"type": "string"}},
                "host": {"type": "object", "additionalProperties": {"type": ["string", "integer"]}},
            },
            "required": ["created_utc", "command_line", "seed", "data_sha256", "versions", "host"],
            "additionalProperties": False,
        },
    }
)

PLAIN: Mapping[Any, Mapping[str, Any]] = types.MappingProxyType(
    {
        bool: {"type": "boolean"},
        int: {"type": "integer"},
        float: {"$ref": "#/$defs/number"},
        str: {"type": "string"},
        Path: {"type": "string"},
        type(None): {"type": "null"},
        np.ndarray: {"$ref": "#/$defs/array"},
        pd.DataFrame: {"$ref": "#/$defs/frame"},
        Any: {},
    }
)


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """How a class's JSON differs from its fields: keys left out, and keys put in."""

    without: tuple[str, ...] = ()
    put_in: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)


DIFFERENCES: Mapping[str, Difference] = types.MappingProxyType(
    {
        "DataCheck": Difference(put_in={"is_valid": {"type": "boolean", "description": "Whether nothing is wrong."}}),
        "Demo": Difference(("model",), {"accuracy": {"$ref": "#/$defs/frame", "description": "Left-out error of each method."}}),
        "SearchResult": Difference(("grid",), {"n_configs": {"type": "integer", "description": "Rows of the grid."}}),
    }
)


def record_schema(command: str, *results: type, n_answers: int = 0) -> dict[str, Any]:
    """JSON Schema of the record that ``mlperf COMMAND --json`` prints.

    Parameters
    ----------
    command : str
        Its name, ``"predict"``.
    *results : type
        Classes its result may be of: dataclasses with ``Shown``.
    n_answers : int
        How many of them give an answer in one sentence.
    """
    schemas = [type_schema(result) for result in results]
    return {
        "$schema": DRAFT,
        "title": f"mlperf {command} --json",
        "type": "object",
        "properties": {
            "format": {"const": FORMAT},
            "version": {"const": VERSION},
            "command": {"const": command},
            "provenance": {"$ref": "#/$defs/provenance"},
            **({"answer": {"type": "string", "description": "The answer in one sentence."}} if n_answers else {}),
            "result": schemas[0] if len(schemas) == 1 else {"anyOf": schemas},
        },
        "required": [*HEAD, *(["answer"] if n_answers == len(results) else []), "result"],
        "additionalProperties": False,
        "$defs": dict(DEFINITIONS),
    }


def type_schema(hint: Any) -> dict[str, Any]:
    """JSON Schema of what ``plain`` makes of a value of this type."""
    hint = behind_name(hint)
    if hint in PLAIN:
        return dict(PLAIN[hint])
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is np.ndarray:
        return dict(PLAIN[np.ndarray])
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [type_schema(argument) for argument in arguments]}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": type_schema(arguments[1])}
    if origin is tuple and arguments[-1] is not Ellipsis:
        return {
            "type": "array",
            "prefixItems": [type_schema(argument) for argument in arguments],
            "items": False,
            "minItems": len(arguments),
        }
    if inspect.isclass(origin) and issubclass(origin, (Sequence, set, frozenset)):
        return {"type": "array", "items": type_schema(arguments[0])}
    if dataclasses.is_dataclass(hint) and writes_its_fields(hint):
        return fields_schema(hint)
    return {"type": "object", "title": getattr(hint, "__name__", str(hint))}


def behind_name(hint: Any) -> Any:
    """The type that a type's name stands for (``type Vector[T] = ...``); NumPy 2.5 names that of arrays so from Python 3.12 on."""
    origin = typing.get_origin(hint)
    if hasattr(origin, "__value__"):
        return origin.__value__[typing.get_args(hint)]
    return getattr(hint, "__value__", hint)


def writes_its_fields(cls: Any) -> bool:
    """Whether the class's JSON is its fields one by one (but for known differences), not a document of its own making."""
    return cls.__name__ in DIFFERENCES or getattr(cls, "to_dict", Shown.to_dict) is Shown.to_dict


def fields_schema(cls: Any) -> dict[str, Any]:
    """An object with one property a field, described by the class's docstring."""
    notes = field_notes(cls)
    difference = DIFFERENCES.get(cls.__name__, Difference())
    properties = {
        name: type_schema(hint) | ({"description": notes[name]} if name in notes else {})
        for name, hint in field_types(cls).items()
        if name not in difference.without
    }
    properties |= {name: dict(schema) for name, schema in difference.put_in.items()}
    return {
        "type": "object",
        "title": cls.__name__,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def field_types(cls: Any) -> dict[str, Any]:
    """Field name to resolved type; ``pd`` is known even where it is imported for type checkers only."""
    hints = typing.get_type_hints(cls, localns={"pd": pd, "np": np})
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}
