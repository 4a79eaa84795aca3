"""Messages that arrive before they leave."""

from __future__ import annotations

from mlperf.traces.events.causality import causality_violations, completed_ns
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table


def test_a_receive_that_ends_before_its_send_starts_is_counted() -> None:
    """Three messages: one in order, one 40 ns early, one posted whose WAIT ends 10 ns before the send."""
    table = event_table(
        7,
        start_ns=[0, 5, 100, 20, 500, 90, 400],
        duration_ns=[10, 20, 10, 40, 5, 0, 90],
        rank=[0, 1, 0, 1, 0, 1, 1],
        kind=[Kind.SEND, Kind.RECV, Kind.SEND, Kind.RECV, Kind.SEND, Kind.IRECV, Kind.WAIT],
        match=[1, 0, 3, 2, 5, 4, -1],
        corr=[-1, -1, -1, -1, -1, 3, 3],
    )
    found = causality_violations(table)
    assert (found.n_messages, found.n_violations) == (3, 2)
    assert found.row.tolist() == [3, 5]
    assert found.early_ns.tolist() == [40, 10]
    assert causality_violations(table, least_ns=26).n_violations == 3


def test_a_posted_receive_that_nothing_waits_for_says_nothing() -> None:
    table = event_table(2, start_ns=[100, 0], rank=[0, 1], kind=[Kind.SEND, Kind.IRECV], match=[1, 0])
    assert causality_violations(table).n_messages == 0


def test_the_same_number_on_another_rank_is_another_wait() -> None:
    table = event_table(3, start_ns=[0, 10, 20], duration_ns=[0, 5, 5], rank=[0, 1, 0], kind=[4, 5, 5], corr=[2, 2, 2])
    done, known = completed_ns(table, table.start_ns[:1])
    assert done.tolist() == [25]
    assert known.tolist() == [True]
