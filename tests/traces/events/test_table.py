"""The store of events."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import COLUMNS, Strings, concatenate, event_table, is_held


def small() -> object:
    return event_table(
        3, start_ns=[5, 1, 1], duration_ns=[1, 2, 9], rank=[0, 1, 0], kind=[1, 2, 3], match=[1, 0, -1], name=[1, 0, -1],
        strings=("a", "b"), attributes={"n_ranks": 4},
    )  # fmt: skip


def test_columns_that_nobody_gave_take_no_memory() -> None:
    table = event_table(1000, start_ns=np.arange(1000))
    assert table.peer.strides == (0,)
    assert [name for name in COLUMNS if is_held(getattr(table, name))] == ["start_ns"]
    assert table.peer.tolist() == [-1] * 1000


def test_partners_follow_their_rows() -> None:
    """By time the longer of two equal starts comes first; the match of rows 0 and 1 goes with them."""
    table = small().by_time()
    assert table.start_ns.tolist() == [1, 1, 5]
    assert table.duration_ns.tolist() == [9, 2, 1]
    assert table.match.tolist() == [-1, 2, 1]
    assert small().take(np.array([1])).match.tolist() == [-1]
    assert small().take(np.array([False, True, True])).kind.tolist() == [2, 3]
    assert small().by_rank().rank.tolist() == [0, 0, 1]


def test_more_ranks_than_have_events() -> None:
    assert small().n_ranks == 4
    assert event_table(1, rank=[6]).n_ranks == 7
    assert event_table(0).n_ranks == 0


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(TypeError, match="no column when"):
        event_table(1, when=[1])
    with pytest.raises(ValueError, match=r"column rank has shape \(2,\), expected \(1,\)"):
        event_table(1, rank=[1, 2])


def test_tables_on_one_clock_are_joined() -> None:
    first = event_table(2, start_ns=[0, 5], name=[0, 1], strings=("x", "y"), match=[1, 0], origin_ns=100, sources=("a",))
    second = event_table(1, start_ns=[3], name=[0], strings=("y",), origin_ns=90, sources=("b",), attributes={"n_ranks": 2})
    both = concatenate([first, second])
    assert both.start_ns.tolist() == [10, 15, 3]
    assert both.text(both.name) == ["x", "y", "y"]
    assert both.match.tolist() == [1, 0, -1]
    assert both.source.tolist() == [0, 0, 1]
    assert both.sources == ("a", "b")
    assert both.origin_ns == 90
    assert both.attributes["n_ranks"] == 2
    assert concatenate([second, first]).match.tolist() == [-1, 2, 1]


def test_the_frame_has_words() -> None:
    frame = small().to_frame()
    assert frame["kind"].tolist() == ["SEND", "RECV", "ISEND"]
    assert frame["name"].tolist() == ["b", "a", ""]
    assert "peer" not in frame


def test_of_kind_keeps_order() -> None:
    assert small().of_kind(Kind.ISEND, Kind.SEND).kind.tolist() == [1, 3]


def test_strings_are_numbered_as_they_come() -> None:
    strings = Strings(["a"])
    assert [strings.number(text) for text in ("b", "a", "b")] == [1, 0, 1]
    assert strings.all() == ("a", "b")
