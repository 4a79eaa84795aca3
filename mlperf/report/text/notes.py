"""What a class's docstring says of each field, in numpydoc's sections."""

from __future__ import annotations

import inspect
import re
from typing import Any

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
