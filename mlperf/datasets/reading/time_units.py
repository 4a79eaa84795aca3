"""Units of time, as names of columns end in them."""

from __future__ import annotations

TIME_SUFFIXES = ("_s", "_ms", "_us", "_ns")
SECONDS = dict(zip(TIME_SUFFIXES, (1.0, 1e-3, 1e-6, 1e-9), strict=True))
"""Length of each unit, seconds."""


def seconds_in(name: str) -> float | None:
    """Seconds in one unit of the time that a column of that name holds; None where the name ends in none."""
    return next((seconds for suffix, seconds in SECONDS.items() if name.endswith(suffix)), None)


def unit_ratio(own: str, other: str) -> float:
    """What brings values of the column ``own`` to the unit of the column ``other``; 1 where either name ends in none."""
    first, second = seconds_in(own), seconds_in(other)
    return 1.0 if first is None or second is None else first / second
