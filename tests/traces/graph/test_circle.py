"""A deadlock is told rank by rank, with its calls."""

from __future__ import annotations

import numpy as np
import pytest
from message_programs import protocol_timing

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.replay import replay


def head_to_head(size: int) -> EventTable:
    """Two ranks that both send first and receive then: it goes well as long as the sends do not wait."""
    kinds = [Kind.SEND, Kind.RECV, Kind.SEND, Kind.RECV]
    starts, match, sites = [0, 5000, 0, 5000], [3, 2, 1, 0], [0, 1, 0, 1]
    return event_table(
        4,
        start_ns=starts,
        duration_ns=3000,
        rank=[0, 0, 1, 1],
        peer=[1, 1, 0, 0],
        kind=kinds,
        size_bytes=size,
        match=match,
        site=sites,
        strings=["swap.c:12", "swap.c:13"],
    )


def test_two_synchronous_sends_head_to_head_are_named() -> None:
    with pytest.raises(DataError) as caught:
        replay(head_to_head(5000), protocol_timing())
    said = str(caught.value)
    assert "circle, rank 0 -> " in said or "circle, rank 1 -> " in said
    for part in ("rank 0 send with 1 of 5000 bytes at swap.c:12 (row 0)", "rank 1 send with 0 of 5000 bytes at swap.c:12 (row 2)"):
        assert part in said
    assert "synchronous" in caught.value.hint


def test_eager_ones_are_none() -> None:
    assert replay(head_to_head(100), protocol_timing()).total_ns == 8000


def test_calls_of_several_threads_are_told() -> None:
    """Both calls of each rank last 6 us and begin 5 us apart."""
    with pytest.raises(DataError) as caught:
        replay(head_to_head(5000).replace(duration_ns=np.full(4, 6000)), protocol_timing())
    assert caught.value.hint.startswith("2 calls start before the one before on their rank has ended: several threads")
