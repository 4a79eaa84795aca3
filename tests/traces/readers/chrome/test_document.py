"""Documents around events: members before and after, pieces of any size, faults told."""

from __future__ import annotations

import json
from collections.abc import Generator

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.readers.chrome.document import Document, read_document

EVENTS = [{"ph": "X", "name": f"é{place}", "ts": place, "dur": 1} for place in range(50)]


def read(text: str | bytes, size: int = 7) -> tuple[Document, int]:
    raw = text.encode() if isinstance(text, str) else text

    def parts() -> Generator[bytes, None, str]:
        for place in range(0, len(raw), size):
            yield raw[place : place + size]
        return ""

    seen: list[int] = []
    document = read_document(parts(), lambda found: seen.append(len(found.begin)), "a.json")
    return document, sum(seen)


@pytest.mark.parametrize("size", [1, 2, 7, 100, 10_000])
def test_pieces_of_any_size_give_the_same(size: int) -> None:
    text = json.dumps({"baseTimeNanoseconds": 12345, "a": [1, {"b": "]"}], "traceEvents": EVENTS, "distributedInfo": {"rank": 3}})
    document, n_events = read(text, size)
    assert (n_events, document.n_events, document.fault) == (50, 50, "")
    assert document.members == {"baseTimeNanoseconds": 12345, "distributedInfo": {"rank": 3}}
    assert document.others == ("a",)


def test_a_list_is_a_document_too() -> None:
    assert read(json.dumps(EVENTS))[1] == 50


@pytest.mark.parametrize(("cut", "n_events"), [(-1, 50), (-40, 49)])
def test_a_cut_list_keeps_what_is_whole(cut: int, n_events: int) -> None:
    document, found = read(json.dumps(EVENTS, ensure_ascii=False)[:cut])
    assert (found, document.fault) == (n_events, "the list of events has no end")


@pytest.mark.parametrize("text", ["", "   ", "hello", '{"nodes": []}', '{"traceEvents": 3}', '{"a": ', "{", '{"a" 1}'])
def test_what_has_no_events_is_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"a\.json"):
        read(text)


def test_an_execution_trace_is_told_from_a_profile() -> None:
    with pytest.raises(DataError, match="--format chakra"):
        read('{"schema": "1", "nodes": [{"id": 1}]}')
