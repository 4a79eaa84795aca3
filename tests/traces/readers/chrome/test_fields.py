"""Values of events, against the standard library's parser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlperf.traces.readers.chrome.fields import BROKEN, ENDED, FIELDS, MORE, Found, find_fields

pytestmark = pytest.mark.slow

VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
)
NESTED = st.recursive(
    VALUES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["stream", "bytes", "name", "Input Dims", "other", 'a"b\\']), NESTED, max_size=4)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {}, optional={"ph": VALUES, "name": NESTED, "ts": VALUES, "args": ARGUMENTS, "args ": NESTED, "x": NESTED}
    ),
    max_size=5,
)


def told(found: Found, event: int) -> dict[str, Any]:
    raw = found.data.tobytes()
    spans = {name: (found.begin[event, place], found.end[event, place]) for place, name in enumerate(FIELDS)}
    return {name: json.loads(raw[begin:end]) for name, (begin, end) in spans.items() if begin >= 0}


def expected(event: dict[str, Any]) -> dict[str, Any]:
    flat = {name: value for name, value in event.items() if name in FIELDS}
    arguments = event.get("args", {})
    return {**flat, **{f"args.{name}": value for name, value in arguments.items() if f"args.{name}" in FIELDS}}


@given(EVENTS, st.booleans())
def test_values_are_those_of_a_parser(events: list[dict[str, Any]], spaced: bool) -> None:
    text = json.dumps(events, indent=1 if spaced else None)[1:]
    found = find_fields(text.encode())
    assert (len(found.begin), found.state) == (len(events), ENDED)
    assert [told(found, place) for place in range(len(events))] == [expected(event) for event in events]


@given(EVENTS, st.data())
def test_a_cut_anywhere_leaves_the_events_before_it(events: list[dict[str, Any]], data: st.DataObject) -> None:
    text = json.dumps(events)[1:].encode()
    cut = data.draw(st.integers(0, len(text)))
    found = find_fields(text[:cut])
    assert found.state in (MORE, ENDED)
    rest = find_fields(text[found.used :])
    assert len(found.begin) + (len(rest.begin) if found.state == MORE else 0) == len(events)


def test_control_characters_in_names_do_no_harm() -> None:
    found = find_fields(b'{"name": "a\x01\n{b", "ts": 3}]')
    assert (len(found.begin), found.state) == (1, ENDED)
    assert bytes(found.data[found.begin[0, 2] : found.end[0, 2]]) == b'"a\x01\n{b"'


def test_what_is_no_event_breaks_the_list_off() -> None:
    assert [find_fields(text).state for text in (b'{"a": 1}, 7]', b'{"a" 1}]', b'{"a": 1 "b": 2}]')] == [BROKEN, BROKEN, BROKEN]
