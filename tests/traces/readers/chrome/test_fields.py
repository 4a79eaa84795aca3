"""Values of events against Python's own JSON."""

from __future__ import annotations

import json

from mlperf.traces.readers.chrome.fields import BROKEN, ENDED, MORE, find_fields

EVENTS = [
    {
        "ph": "X",
        "name": 'a "quoted" {name}',
        "ts": 1.5,
        "dur": 2,
        "pid": 0,
        "tid": "main",
        "args": {"stream": 7, "other": {"name": 1}},
    },
    {"args": {"correlation": 9, "Input Dims": [[1, 2], []]}, "cat": "kernel", "ph": "X", "extra": [{"ts": 5}], "ts": 3},
    {"ph": "i", "id": "0x1f", "s": "g", "ts": 4.25},
]


def values(piece: bytes, field: str) -> list[object]:
    found = find_fields(piece)
    spans = zip(*(each.tolist() for each in found.of(field)), strict=True)
    return [json.loads(piece[begin:end]) if begin >= 0 else None for begin, end in spans]


def test_values_are_found_at_their_depth_only() -> None:
    """An argument called name or an inner ts is no field of the event."""
    piece = (", ".join(json.dumps(event) for event in EVENTS) + "]").encode()
    assert find_fields(piece).state == ENDED
    for field in ("ph", "name", "ts", "dur", "pid", "tid", "cat", "id"):
        assert values(piece, field) == [event.get(field) for event in EVENTS], field
    for field in ("stream", "correlation", "Input Dims"):
        assert values(piece, f"args.{field}") == [event.get("args", {}).get(field) for event in EVENTS], field


def test_an_event_that_goes_on_is_left() -> None:
    whole = json.dumps(EVENTS[0])
    found = find_fields((whole + ", " + whole[:30]).encode())
    assert (len(found.begin), found.state) == (1, MORE)
    assert len(whole) <= found.used <= len(whole) + 2


def test_what_is_no_event_breaks_the_list() -> None:
    found = find_fields((json.dumps(EVENTS[0]) + ", 17 }").encode())
    assert found.state == BROKEN
    assert len(found.begin) == 1
