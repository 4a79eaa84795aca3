"""Where each event's values stand: one walk over the marks of many events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import IntArray
from mlperf.core.jit import jit
from mlperf.traces.readers.chrome.tape import CLOSE, CLOSE_LIST, COLON, COMMA, OPEN, OPEN_LIST, QUOTE, tape

EVENT_KEYS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "id")
ARGUMENT_KEYS = (
    *("stream", "correlation", "device", "bytes", "External id", "external id", "Input Dims", "Input dims"),
    *("name", "wait_on_stream", "wait_on_cuda_event_record_corr_id", "Process Group Name", "Seq", "In msg nelems", "dtype"),
)
OWN_KEYS = (
    *("row", "kind", "rank", "host", "cpu", "pid", "tid", "name2", "site", "size_bytes"),
    *("weight_ns", "peer", "tag", "comm", "step", "iteration", "match", "corr", "flags"),
)
"""Arguments that our own writer adds, so that nothing of a table is lost."""
FIELDS = (*EVENT_KEYS, *(f"args.{key}" for key in (*ARGUMENT_KEYS, *OWN_KEYS)))
"""What of an event is looked at, in the order of the columns of `Found`; everything else is skipped."""

MORE, ENDED, BROKEN = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Events of a piece.

    Attributes
    ----------
    data : array of uint8
        The piece.
    begin, end : array of int64, shape (n_events, n_fields)
        Bytes of each value, strings with their quotes; begin -1: the event has no such value.
    used : int
        Bytes of the piece that are done with: what follows belongs to an event that goes on.
    state : int
        `MORE` to come, the list has `ENDED`, or is `BROKEN` at `used`.
    """

    data: NDArray[np.uint8]
    begin: IntArray
    end: IntArray
    used: int
    state: int

    def of(self, field: str) -> tuple[IntArray, IntArray]:
        """Bytes of one field's values, shape (n_events,) each."""
        number = FIELDS.index(field)
        return self.begin[:, number], self.end[:, number]


def find_fields(piece: bytes) -> Found:
    """Find the values of all whole events of a piece of the list ``traceEvents``, which begins inside the list."""
    data = np.frombuffer(piece, dtype=np.uint8)
    at, kind = tape(data)
    n_most = int(np.count_nonzero(kind == OPEN))
    begin = np.full((n_most, len(FIELDS)), -1, dtype=np.int64)
    end = np.full((n_most, len(FIELDS)), -1, dtype=np.int64)
    n_events, used, state = _walk(data, at, kind, *_KEYS, begin, end)
    return Found(data, begin[:n_events], end[:n_events], int(used), int(state))


def _key_table(*groups: Sequence[str]) -> tuple[NDArray[np.uint8], IntArray, IntArray]:
    """Bytes of all keys, where each begins, and where each group of keys begins."""
    keys = [key.encode() for group in groups for key in group]
    starts = np.cumsum([0, *(len(key) for key in keys)]).astype(np.int64)
    return np.frombuffer(b"".join(keys), dtype=np.uint8).copy(), starts, np.cumsum([0, *map(len, groups)]).astype(np.int64)


_KEYS = _key_table(EVENT_KEYS, (*ARGUMENT_KEYS, *OWN_KEYS))


@jit
def _key_number(
    data: NDArray[np.uint8], begin: int, end: int, keys: NDArray[np.uint8], starts: IntArray, first: int, last: int
) -> int:
    """Number of the key that these bytes are, -1 for none."""
    for number in range(first, last):
        start = starts[number]
        if starts[number + 1] - start == end - begin and keys[start] == data[begin]:
            same = True
            for index in range(1, end - begin):
                if keys[start + index] != data[begin + index]:
                    same = False
                    break
            if same:
                return number
    return -1


@jit
def _is_args(data: NDArray[np.uint8], begin: int, end: int) -> bool:
    """Whether a key is ``args``."""
    return end - begin == 4 and data[begin] == 97 and data[begin + 1] == 114 and data[begin + 2] == 103 and data[begin + 3] == 115


@jit
def _after_value(kind: NDArray[np.uint8], mark: int) -> int:
    """Number of the mark after a value that begins with this mark; -1: the value goes on beyond the piece."""
    n_marks = len(kind)
    if kind[mark] == QUOTE:
        return mark + 2 if mark + 2 < n_marks else -1
    if kind[mark] != OPEN and kind[mark] != OPEN_LIST:
        return mark
    depth = 0
    while mark < n_marks:
        if kind[mark] == OPEN or kind[mark] == OPEN_LIST:
            depth += 1
        elif kind[mark] == CLOSE or kind[mark] == CLOSE_LIST:
            depth -= 1
            if depth == 0:
                return mark + 1 if mark + 1 < n_marks else -1
        mark += 1
    return -1


@jit
def _members(
    data: NDArray[np.uint8],
    at: IntArray,
    kind: NDArray[np.uint8],
    keys: NDArray[np.uint8],
    starts: IntArray,
    first: int,
    last: int,
    mark: int,
    begin: IntArray,
    end: IntArray,
    args_mark: IntArray,
) -> int:
    """Note the values of one object from the mark after its brace; the mark of its closing brace, -1: more to come, -2: broken."""
    n_marks = len(kind)
    args_mark[0] = -1
    if mark < n_marks and kind[mark] == CLOSE:
        return mark
    while True:
        if mark + 3 >= n_marks:
            return -1
        if kind[mark] != QUOTE or kind[mark + 1] != QUOTE or kind[mark + 2] != COLON:
            return -2
        key_begin, key_end, colon = at[mark] + 1, at[mark + 1], mark + 2
        following = _after_value(kind, colon + 1)
        if following < 0:
            return -1
        if kind[following] != COMMA and kind[following] != CLOSE:
            return -2
        if first == 0 and _is_args(data, key_begin, key_end) and kind[colon + 1] == OPEN:
            args_mark[0] = colon + 2
        elif key_end > key_begin:
            number = _key_number(data, key_begin, key_end, keys, starts, first, last)
            if number >= 0:
                low, high = at[colon] + 1, at[following]
                while low < high and data[low] <= 32:
                    low += 1
                while low < high and data[high - 1] <= 32:
                    high -= 1
                begin[number], end[number] = low, high
        if kind[following] == CLOSE:
            return following
        mark = following + 1


@jit
def _walk(
    data: NDArray[np.uint8],
    at: IntArray,
    kind: NDArray[np.uint8],
    keys: NDArray[np.uint8],
    starts: IntArray,
    groups: IntArray,
    begin: IntArray,
    end: IntArray,
) -> tuple[int, int, int]:
    """Note the values of all events; their number, the bytes done with, and how it ended."""
    n_marks = len(kind)
    nested = np.empty(1, dtype=np.int64)
    none = np.empty(1, dtype=np.int64)
    n_events, mark, used = 0, 0, 0
    checked = 0
    while mark < n_marks:
        # Between events there are commas and blanks; anything else would be passed over without a word.
        while checked < at[mark]:
            if data[checked] > 32:
                return n_events, checked, BROKEN
            checked += 1
        checked = at[mark] + 1
        if kind[mark] == CLOSE_LIST:
            return n_events, at[mark] + 1, ENDED
        if kind[mark] == COMMA:
            mark += 1
            continue
        if kind[mark] != OPEN:
            return n_events, at[mark], BROKEN
        closing = _members(data, at, kind, keys, starts, groups[0], groups[1], mark + 1, begin[n_events], end[n_events], nested)
        if closing >= 0 and nested[0] >= 0:
            inner = _members(data, at, kind, keys, starts, groups[1], groups[2], nested[0], begin[n_events], end[n_events], none)
            if inner == -2:
                closing = -2
        if closing == -2:
            return n_events, at[mark], BROKEN
        if closing == -1:
            break
        n_events += 1
        used = checked = at[closing] + 1
        mark = closing + 1
    return n_events, used, MORE
