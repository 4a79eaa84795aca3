"""Trace events as columns, before anybody asks what they mean."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.readers.chrome.fields import FIELDS, OWN_KEYS, Found
from mlperf.traces.readers.chrome.numbers import NS_DIGITS, whole_numbers

ABSENT = np.iinfo(np.int64).min
"""A number that an event does not have."""
FIRST_NAMED = 10**9
"""Processes and threads that have names for numbers, or numbers beyond 32 bits, are counted from here."""
TEXTS = (
    *("cat", "name", "args.Input Dims", "args.name", "args.Process Group Name", "args.dtype"),
    *("args.name2", "args.site", "args.kind"),
)
PLACES = ("pid", "tid")
WHOLE = (
    *("args.stream", "args.correlation", "args.device", "args.bytes", "args.External id"),
    *("args.wait_on_stream", "args.wait_on_cuda_event_record_corr_id", "args.Seq", "args.In msg nelems"),
    *(f"args.{key}" for key in OWN_KEYS if key not in ("kind", "name2", "site")),
)
OTHER_SPELLINGS = {"args.external id": "args.External id", "args.Input dims": "args.Input Dims"}


@dataclass(slots=True)
class RawEvents:
    """Columns of events as they come in pieces.

    Attributes
    ----------
    parts : dict of list of arrays
        By field: numbers as int64 (`ABSENT` where there is none), times in nanoseconds, texts as numbers into `texts`.
    texts : dict
        Raw JSON to number.
    """

    parts: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    texts: dict[bytes, int] = field(default_factory=dict)

    def take(self, found: Found) -> None:
        """Add the events of a piece."""
        raw = found.data.tobytes()
        spans = {name: _span(found, name) for name in FIELDS if name not in OTHER_SPELLINGS}
        begin, end = spans["ph"]
        self._add("ph", np.where(end - begin == 3, found.data[np.minimum(begin + 1, len(raw) - 1)], 0).astype(np.uint8))
        for name in ("ts", "dur"):
            self._add(name, _numbers(found, spans[name], NS_DIGITS))
        for name in WHOLE:
            if np.any(spans[name][0] >= 0) or name in self.parts:
                self._add(name, _numbers(found, spans[name]), found)
        for name in TEXTS:
            if np.any(spans[name][0] >= 0) or name in self.parts:
                self._add(name, self._texts(raw, spans[name]), found)
        for name in (*PLACES, "id"):
            self._add(name, self._places(found, raw, spans[name]))

    def _add(self, name: str, values: NDArray[Any], found: Found | None = None) -> None:
        """One column's next part; a field that comes late had nothing so far."""
        parts = self.parts.setdefault(name, [])
        if found is not None and not parts:
            n_before = sum(len(part) for part in self.parts["ph"]) - len(values)
            if n_before:
                parts.append(np.full(n_before, ABSENT if name in WHOLE else -1, dtype=values.dtype))
        parts.append(values)

    def _texts(self, raw: bytes, span: tuple[IntArray, IntArray]) -> NDArray[np.int32]:
        """Numbers of texts, -1 where there is none."""
        known = self.texts
        pairs = zip(span[0].tolist(), span[1].tolist(), strict=True)
        numbers = [known.setdefault(raw[begin:end], len(known)) if begin >= 0 else -1 for begin, end in pairs]
        return np.array(numbers, dtype=np.int32)

    def _places(self, found: Found, raw: bytes, span: tuple[IntArray, IntArray]) -> IntArray:
        """Numbers as they are, names and large numbers as `FIRST_NAMED` plus their number as a text."""
        values, good = whole_numbers(found.data, span)
        named = (span[0] >= 0) & (~good | (np.abs(values) >= FIRST_NAMED))
        values[~good] = ABSENT
        if np.any(named):
            values[named] = FIRST_NAMED + self._texts(raw, (span[0][named], span[1][named]))
        return values

    def __len__(self) -> int:
        """Number of events."""
        return sum(len(part) for part in self.parts.get("ph", []))

    def column(self, name: str) -> NDArray[Any]:
        """One column of all events, shape (n_events,); the parts are let go."""
        if name not in self.parts:
            return np.full(len(self), ABSENT if name in WHOLE or name in PLACES else -1, dtype=np.int64)
        parts = self.parts[name]
        if len(parts) > 1:
            self.parts[name] = parts = [np.concatenate(parts)]
        return parts[0]

    def has(self, name: str) -> bool:
        """Whether any event has the field."""
        return name in self.parts

    def strings(self) -> list[str]:
        """The texts by number."""
        return [_plain_text(raw) for raw in self.texts]


def _span(found: Found, name: str) -> tuple[IntArray, IntArray]:
    """Bytes of a field, in whatever spelling it comes."""
    begin, end = found.of(name)
    for other, usual in OTHER_SPELLINGS.items():
        if usual == name:
            other_begin, other_end = found.of(other)
            begin, end = np.where(begin < 0, other_begin, begin), np.where(begin < 0, other_end, end)
    return np.ascontiguousarray(begin), np.ascontiguousarray(end)


def _numbers(found: Found, span: tuple[IntArray, IntArray], digits: int = 0) -> IntArray:
    """Numbers, `ABSENT` where there is none."""
    values, good = whole_numbers(found.data, span, digits)
    values[~good] = ABSENT
    return values


def _plain_text(raw: bytes) -> str:
    """What a JSON string says; other JSON as it is written."""
    if not raw.startswith(b'"'):
        return raw.decode("utf-8", "replace")
    try:
        return str(json.loads(raw.decode("utf-8", "replace"), strict=False))
    except json.JSONDecodeError:
        return raw[1:-1].decode("utf-8", "replace")


def present(values: NDArray[Any]) -> BoolArray:
    """Which numbers there are."""
    found: BoolArray = values != ABSENT
    return found


def within_32_bits(values: IntArray, default: int) -> NDArray[np.int32]:
    """Numbers as 32 bits; those that are absent or larger (a driver's "none" is 2**32 - 1) become the default."""
    fits = np.abs(values.astype(float)) < 2**31
    return np.where(fits, values, default).astype(np.int32)
