"""Documents around events, whole and cut, in pieces of any size."""

from __future__ import annotations

import json
from collections.abc import Generator

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.readers.chrome.document import Document, read_document
from mlperf.traces.readers.chrome.fields import Found

EVENTS = [{"ph": "X", "name": f"e{number}", "ts": number, "dur": 1} for number in range(40)]
WHOLE = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0}],
    "traceEvents": EVENTS,
    "distributedInfo": {"rank": 3},
    "odd": [1, "]"],
}


def in_pieces(text: str, size: int) -> Generator[bytes, None, str]:
    raw = text.encode()
    for at in range(0, len(raw), size):
        yield raw[at : at + size]
    return ""


def read(text: str, size: int = 7) -> tuple[Document, int]:
    counts: list[int] = []

    def take(found: Found) -> None:
        counts.append(len(found.begin))

    document = read_document(in_pieces(text, size), take, "x.json")
    return document, sum(counts)


@pytest.mark.parametrize("size", [1, 7, 64, 10**6])
def test_members_before_and_behind_the_events(size: int) -> None:
    document, n_events = read(json.dumps(WHOLE), size)
    assert n_events == document.n_events == 40
    assert document.members["distributedInfo"] == {"rank": 3}
    assert document.others == ("odd",)
    assert document.fault == ""


def test_a_list_alone_is_a_document() -> None:
    assert read(json.dumps(EVENTS))[1] == 40
    assert read("\ufeff" + json.dumps(EVENTS))[1] == 40


@pytest.mark.parametrize("size", [3, 1000])
def test_a_document_that_breaks_off_keeps_its_whole_events(size: int) -> None:
    text = json.dumps(WHOLE)
    document, n_events = read(text[: text.index("e25") + 1], size)
    assert n_events == 25
    assert document.fault


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "got an empty file"), ("hello", "got 'hello', expected trace events"), ('{"a": 1}', "has no traceEvents; it has a")],
)
def test_what_has_no_events_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(text)
