"""Messages from matches, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.graph.calls import calls_of
from mlperf.traces.graph.messages import Messages, messages_of


def pair(**changes: Any) -> EventTable:
    """Rank 1 receives from rank 0."""
    columns = {"rank": [1, 0], "peer": [0, 1], "kind": [Kind.RECV, Kind.SEND], "match": [1, 0], "size_bytes": [4, 9]}
    return event_table(2, **{**columns, **changes})


def found(table: EventTable) -> Messages:
    return messages_of(table, calls_of(table))


def test_a_message_has_the_size_that_was_sent() -> None:
    messages = found(pair())
    assert (messages.send.tolist(), messages.recv.tolist(), messages.size_bytes.tolist()) == ([0], [1], [9])
    assert messages.recv_done.tolist() == messages.recv_call.tolist() == [1]


def test_ends_without_partners_are_refused_unless_flagged() -> None:
    with pytest.raises(DataError, match=r"2 sends and receives have no partner: rank 0 with 1 \(row 1\)"):
        found(pair(match=-1))
    assert len(found(pair(match=-1, flags=Flag.UNMATCHED))) == 0
    assert len(found(pair(match=-1, peer=-1))) == 0


@pytest.mark.parametrize("changes", [{"match": [1, 1]}, {"kind": [Kind.COMPUTE, Kind.SEND]}, {"kind": Kind.SEND}])
def test_partners_that_do_not_fit_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="no receive matched with it"):
        found(pair(**changes))
