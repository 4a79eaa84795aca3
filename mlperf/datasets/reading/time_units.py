"""Units of time, as names of columns end in them."""

from __future__ import annotations

import re

TIME_SUFFIXES = ("_s", "_ms", "_us", "_ns")
SECONDS = dict(zip(TIME_SUFFIXES, (1.0, 1e-3, 1e-6, 1e-9), strict=True))
"""Length of each unit, seconds."""
SPELLED = {
    "_s": "_(sec|secs|second|seconds)$",
    "_ms": "_(msec|milliseconds?)$",
    "_us": "_(µs|μs|usec|microseconds?)$",
    "_ns": "_(nsec|nanoseconds?)$",
}
RATE = "_per_"


def plain_name(name: str) -> str:
    """A header as names of columns are written: ``"Step time [msec]"`` is ``"step_time_ms"``, ``"images/s"`` ``"images_per_s"``."""
    words = re.sub(r"\W+", "_", name.strip().lower().replace("/", " per ")).strip("_")
    for suffix, spelled in SPELLED.items():
        words = re.sub(spelled, suffix, words)
    return words


def seconds_in(name: str) -> float | None:
    """Seconds in one unit of the time that a column of that name holds; None where the name ends in none, or is that of a rate."""
    plain = plain_name(name)
    return None if RATE in plain else next((seconds for suffix, seconds in SECONDS.items() if plain.endswith(suffix)), None)


def unit_ratio(own: str, other: str) -> float:
    """What brings values of the column ``own`` to the unit of the column ``other``; 1 where either name ends in none."""
    first, second = seconds_in(own), seconds_in(other)
    return 1.0 if first is None or second is None else first / second
