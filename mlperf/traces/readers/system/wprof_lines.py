"""Lines of wprof's JSON: values by name, checked, with the place that each stands at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET

HINT = "wprof -J FILE writes such lines."
LIMIT = 2**31 - 1
LONGEST_S = 1e9
NS = 1e9


@dataclass(frozen=True, slots=True)
class Line:
    """One record.

    Attributes
    ----------
    values : mapping
    place : str
        File and line.
    """

    values: Mapping[str, Any]
    place: str

    def nanoseconds(self, key: str) -> int:
        """A time in seconds as whole nanoseconds; what began before the session counts from below 0."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LONGEST_S:
            raise self._wrong(key, "seconds")
        return round(value * NS)

    def length_ns(self, key: str) -> int:
        """A duration."""
        found = self.nanoseconds(key)
        if found < 0:
            raise self._wrong(key, "seconds >= 0")
        return found

    def number(self, key: str, default: int = UNSET, limit: int = LIMIT) -> int:
        """A whole number from 0 on, or the default where it is left out."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not UNSET <= value <= limit:
            raise self._wrong(key, "a whole number >= 0")
        return value

    def text(self, key: str, default: str = "") -> str:
        """A text, or the default where it is left out."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "a text")
        return value

    def task(self, key: str = "task") -> tuple[int, int, str]:
        """Process, thread and name; idle threads are of process 0 and have no number."""
        found = self.values.get(key)
        if not isinstance(found, Mapping):
            raise self._wrong(key, "a task")
        task = Line(found, f"{self.place}, {key}")
        return task.number("pid"), task.number("tid"), task.text("comm")

    def _wrong(self, key: str, expected: str) -> DataError:
        return DataError(f"got {self.values.get(key)!r:.60}, expected {expected}", place=f"{self.place}, key {key}", hint=HINT)


def parsed_line(text: str, place: str) -> Line:
    """A line's record.

    Raises
    ------
    DataError
        It is no JSON object.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON ({error})", place=place, hint=HINT) from None
    if not isinstance(found, dict):
        raise DataError(f"got {text[:40]!r}, expected a JSON object", place=place, hint=HINT)
    return Line(found, place)
