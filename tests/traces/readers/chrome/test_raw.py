"""Columns of events that come in pieces."""

from __future__ import annotations

import json

import numpy as np

from mlperf.traces.readers.chrome.fields import find_fields
from mlperf.traces.readers.chrome.raw import ABSENT, FIRST_NAMED, RawEvents, present, within_32_bits


def taken(*pieces: list[dict[str, object]]) -> RawEvents:
    raw = RawEvents()
    for events in pieces:
        raw.take(find_fields((", ".join(json.dumps(event) for event in events) + "]").encode()))
    return raw


def test_a_field_that_comes_late_had_nothing_before() -> None:
    raw = taken([{"ph": "X", "ts": 1}], [{"ph": "B", "ts": 2.5, "args": {"stream": 7}}])
    assert len(raw) == 2
    assert raw.column("ph").tolist() == [ord("X"), ord("B")]
    assert raw.column("ts").tolist() == [1000, 2500]
    assert raw.column("args.stream").tolist() == [ABSENT, 7]
    assert present(raw.column("args.stream")).tolist() == [False, True]
    assert raw.column("args.device").tolist() == [ABSENT, ABSENT]


def test_texts_are_numbered_once() -> None:
    raw = taken([{"ph": "X", "name": "a\u00e9"}, {"ph": "X", "name": "b"}], [{"ph": "X", "name": "a\u00e9"}])
    numbers = raw.column("name")
    assert numbers[0] == numbers[2] != numbers[1]
    assert raw.strings()[numbers[0]] == "aé"


def test_places_may_have_names_for_numbers() -> None:
    raw = taken([{"ph": "X", "pid": 12, "tid": "stream 7"}, {"ph": "X", "pid": 2**40, "tid": "stream 7"}])
    assert raw.column("pid")[0] == 12
    assert (raw.column("tid") >= FIRST_NAMED).all()
    assert raw.column("tid")[0] == raw.column("tid")[1]
    assert raw.column("pid")[1] >= FIRST_NAMED


def test_other_spellings_are_the_same_field() -> None:
    raw = taken([{"ph": "X", "args": {"external id": 5}}, {"ph": "X", "args": {"External id": 6}}])
    assert raw.column("args.External id").tolist() == [5, 6]


def test_numbers_beyond_32_bits_become_the_default() -> None:
    assert within_32_bits(np.array([3, 2**32 - 1, ABSENT]), -1).tolist() == [3, -1, -1]
