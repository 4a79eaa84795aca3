"""Columns of events that come in pieces."""

from __future__ import annotations

import json

import numpy as np

from mlperf.traces.readers.chrome.fields import find_fields
from mlperf.traces.readers.chrome.raw import ABSENT, FIRST_NAMED, RawEvents, within_32_bits


def taken(*pieces: list[dict[str, object]]) -> RawEvents:
    raw = RawEvents()
    for piece in pieces:
        raw.take(find_fields(json.dumps(piece)[1:].encode()))
    return raw


def test_a_field_that_comes_late_is_absent_before() -> None:
    raw = taken([{"ph": "X", "ts": 1.5}], [{"ph": "i", "ts": 2, "args": {"bytes": 7, "external id": 3, "Input dims": [[2]]}}])
    assert raw.column("args.bytes").tolist() == [ABSENT, 7]
    assert raw.column("args.External id").tolist() == [ABSENT, 3]
    assert raw.column("ts").tolist() == [1500, 2000]
    assert [chr(each) for each in raw.column("ph").tolist()] == ["X", "i"]
    assert raw.strings()[raw.column("args.Input Dims")[1]] == "[[2]]"


def test_names_and_large_numbers_of_threads_are_kept_apart() -> None:
    raw = taken([{"ph": "X", "pid": "Spans", "tid": 140_234_567_890_123}, {"ph": "X", "pid": 5, "tid": "Spans"}])
    pid, tid = raw.column("pid"), raw.column("tid")
    assert pid[0] == tid[1] >= FIRST_NAMED
    assert tid[0] >= FIRST_NAMED
    assert raw.strings()[tid[0] - FIRST_NAMED] == "140234567890123"
    assert pid[1] == 5


def test_escapes_of_names_are_undone() -> None:
    assert taken([{"ph": "X", "name": 'a"\u00e9\n'}]).strings() == ['a"é\n']


def test_a_drivers_none_is_no_stream() -> None:
    assert within_32_bits(np.array([7, 4_294_967_295, ABSENT]), -1).tolist() == [7, -1, -1]
