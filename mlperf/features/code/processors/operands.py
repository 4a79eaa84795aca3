"""Operands of an instruction's text."""

from __future__ import annotations

_OPENING, _CLOSING = "([{", ")]}"


def split_operands(text: str) -> list[str]:
    """Operands between the commas that no bracket encloses, without blanks around them."""
    if not text:
        return []
    if not any(bracket in text for bracket in _OPENING):
        return [part.strip() for part in text.split(",")]
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return [*parts, text[begin:].strip()]
