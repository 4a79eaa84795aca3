"""The document around the events: its members are read as they come, the events handed on piece by piece."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from mlperf.core.errors import DataError
from mlperf.traces.readers.chrome.fields import BROKEN, ENDED, Found, find_fields

EVENTS = "traceEvents"
KEPT = ("baseTimeNanoseconds", "distributedInfo", "displayTimeUnit", "deviceProperties", "traceName", "schemaVersion", "mlperf")
"""Members that are kept; of others only the names."""
BLANKS = b" \t\r\n"
HINT = "Chrome trace events are a list, or an object with the list traceEvents."
REMEDIES = {
    "nodes": "--format chakra reads execution traces.",
    "rocprofiler-sdk-tool": "Of rocprofv3 tables are read: rocprofv3 --kernel-trace --memory-copy-trace --output-format csv.",
}
"""Members of other documents, and what reads these."""
SHOWN = 40
DECODER = json.JSONDecoder(strict=False)


@dataclass(slots=True)
class Document:
    """What stands beside the events.

    Attributes
    ----------
    members : dict
        Those of `KEPT`.
    others : tuple of str
        Names of all other members.
    n_events : int
        Whole events.
    fault : str
        Why the document is not whole; empty where it is.
    """

    members: dict[str, Any] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    n_events: int = 0
    fault: str = ""


class Text:
    """Bytes that are there, and more on demand."""

    __slots__ = ("_fault", "_more", "buffer")

    def __init__(self, more: Generator[bytes, None, str]) -> None:
        self.buffer = b""
        self._more = more
        self._fault: str | None = None

    def grow(self) -> bool:
        """Add as much as there is, at least a piece; false at the end."""
        wanted = max(1, len(self.buffer))
        parts, size = [self.buffer], 0
        while size < wanted and self._fault is None:
            try:
                parts.append(next(self._more))
                size += len(parts[-1])
            except StopIteration as end:
                self._fault = end.value or ""
        self.buffer = b"".join(parts)
        return size > 0

    @property
    def fault(self) -> str:
        """What is wrong with the end of the file."""
        return self._fault or ""

    def skip(self, used: int) -> None:
        """Let go of bytes that are done with."""
        self.buffer = self.buffer[used:]

    def first(self) -> bytes:
        """The next byte that is no blank, which stays; empty at the end."""
        while True:
            self.buffer = self.buffer.lstrip(BLANKS)
            if self.buffer or not self.grow():
                return self.buffer[:1]


def read_document(more: Generator[bytes, None, str], take: Callable[[Found], None], place: str) -> Document:
    """Read a document from its pieces.

    Parameters
    ----------
    more : generator of bytes
        Returns what is wrong with the file's end.
    take : callable
        Gets the events as they come.
    place : str
        The file, for errors.

    Raises
    ------
    DataError
        There are no trace events. A document that breaks off among them is none: `Document.fault` says so.
    """
    text, document = Text(more), Document()
    first = text.first()
    if first == b"\xef":
        text.skip(3)
        first = text.first()
    if first not in (b"[", b"{"):
        shown = text.buffer[:SHOWN].decode("utf-8", "replace")
        raise DataError(f"got {shown!r}, expected trace events in JSON" if shown else "got an empty file", place=place, hint=HINT)
    text.skip(1)
    if first == b"[":
        _events(text, document, take)
        return document
    others: list[str] = []
    seen = _members(text, document, take, others, place)
    document.others = tuple(others)
    if not seen:
        named = f"; it has {', '.join(others[:6])}" if others else ""
        hint = next((remedy for name, remedy in REMEDIES.items() if name in others), document.fault or HINT)
        raise DataError(f"has no {EVENTS}{named}", place=place, hint=hint)
    return document


def _members(text: Text, document: Document, take: Callable[[Found], None], others: list[str], place: str) -> bool:
    """Read the members of the outer object; whether the events are among them."""
    seen = False
    while True:
        first = text.first()
        if first == b"}":
            return seen
        if first == b",":
            text.skip(1)
            continue
        name = _value(text) if first == b'"' else None
        if name is None or text.first() != b":":
            document.fault = text.fault or (
                "it ends early" if not text.first() else f"no member of an object begins with {first!r}"
            )
            return seen
        text.skip(1)
        if name == EVENTS and text.first() == b"[":
            text.skip(1)
            seen = True
            if not _events(text, document, take):
                return seen
        else:
            value = _value(text)
            if value is None:
                document.fault = text.fault or f"its member {name} is broken"
                return seen
            if name == EVENTS:
                raise DataError(f"got {EVENTS} that are no list", place=place, hint=HINT)
            if name in KEPT:
                document.members[name] = value
            else:
                others.append(str(name))


def _value(text: Text) -> Any:
    """The JSON value that comes next; None where it breaks off (and for null, which tells as little)."""
    text.first()
    while True:
        decoded = text.buffer.decode("utf-8", "surrogateescape")
        try:
            value, used = DECODER.raw_decode(decoded)
        except (json.JSONDecodeError, RecursionError):
            used = len(decoded)
        # A number may go on in the next piece.
        if used < len(decoded):
            text.skip(len(decoded[:used].encode("utf-8", "surrogateescape")))
            return "" if value is None else value
        if not text.grow():
            return None


def _events(text: Text, document: Document, take: Callable[[Found], None]) -> bool:
    """Hand on the events; whether their list has an end."""
    while True:
        found = find_fields(text.buffer)
        if len(found.begin):
            document.n_events += len(found.begin)
            take(found)
        text.skip(found.used)
        if found.state == ENDED:
            return True
        if found.state == BROKEN:
            document.fault = f"after {document.n_events} events comes {text.buffer[:SHOWN].decode('utf-8', 'replace')!r}"
            return False
        if not text.grow():
            document.fault = text.fault or "the list of events has no end"
            return False
