from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable, concatenate, event_table
from mlperf.traces.links.matrix import matrix_of_events


def messages(rng: np.random.Generator, n: int = 60, n_ranks: int = 4) -> EventTable:
    """Matched messages between random ranks: rows of sends, then of receipts."""
    sender = rng.integers(0, n_ranks, n)
    receiver = (sender + rng.integers(1, n_ranks, n)) % n_ranks
    start = rng.integers(0, 1000, n)
    size = rng.integers(1, 10_000, n)
    return event_table(
        2 * n,
        kind=np.repeat([int(Kind.SEND), int(Kind.RECV)], n),
        start_ns=np.concatenate((start, start + 5)),
        duration_ns=np.concatenate((rng.integers(1, 50, n), rng.integers(1, 90, n))),
        rank=np.concatenate((sender, receiver)),
        peer=np.concatenate((receiver, sender)),
        size_bytes=np.concatenate((size, size)),
        match=np.concatenate((np.arange(n) + n, np.arange(n))),
        sources=("made",),
    )


@pytest.mark.parametrize("seed", range(5))
def test_rows_and_columns_sum_to_what_was_sent_and_received(seed: int) -> None:
    events = messages(np.random.default_rng(seed))
    found = matrix_of_events(events)
    for place, name in enumerate(found.places):
        rank = int(name.removeprefix("rank "))
        own = events.rank == rank
        assert found.comm_matrix_bytes[place].sum() == events.size_bytes[own & (events.kind == Kind.SEND)].sum()
        assert found.comm_matrix_bytes[:, place].sum() == events.size_bytes[own & (events.kind == Kind.RECV)].sum()
    assert found.messages.sum() == 60


def test_time_of_a_pair_is_that_of_each_nanosecond_once() -> None:
    events = messages(np.random.default_rng(9), n_ranks=2)
    found = matrix_of_events(events)
    for one in (0, 1):
        rows = np.flatnonzero((events.kind == Kind.SEND) & (events.rank == one))
        busy = np.zeros(2000, dtype=bool)
        for row in rows:
            busy[events.start_ns[row] : events.end_ns[events.match[row]]] = True
        assert found.seconds[one, 1 - one] == pytest.approx(busy.sum() * 1e-9)
        assert found.bytes_per_s[one, 1 - one] == pytest.approx(events.size_bytes[rows].sum() / (busy.sum() * 1e-9))


def test_copies_go_between_their_device_and_the_host() -> None:
    strings = ("Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)", "Memcpy PtoP", "Memcpy DtoD")
    events = event_table(
        5,
        kind=int(Kind.MEMCPY),
        start_ns=[0, 5, 20, 40, 60],
        duration_ns=[10, 10, 10, 10, 10],
        name=[0, 0, 1, 2, 3],
        device=[0, 0, 1, 0, 0],
        peer=[UNSET, UNSET, UNSET, 1, UNSET],
        size_bytes=[100, 50, 30, 20, 1000],
        strings=strings,
    )
    found = matrix_of_events(events)
    assert found.places == ("HOST", "GPU0", "GPU1")
    assert found.comm_matrix_bytes.tolist() == [[0, 150, 0], [0, 0, 20], [30, 0, 0]]
    assert found.seconds[0, 1] == pytest.approx(15e-9)


def test_packets_go_between_addresses_whatever_their_ports() -> None:
    events = event_table(
        3,
        kind=int(Kind.PACKET),
        start_ns=[0, 1, 2],
        site=[0, 1, 2],
        name2=[2, 2, 0],
        size_bytes=[10, 20, 5],
        strings=("10.0.0.1:5000", "10.0.0.1:5001", "[fe80::1]:22"),
    )
    found = matrix_of_events(events)
    assert found.places == ("10.0.0.1", "[fe80::1]")
    assert found.comm_matrix_bytes.tolist() == [[0, 30], [5, 0]]
    assert found.messages.tolist() == [[0, 2], [1, 0]]


def allreduce(n_ranks: int = 4, size: int = 1000) -> EventTable:
    return event_table(
        n_ranks,
        kind=int(Kind.COLL),
        start_ns=np.arange(n_ranks),
        duration_ns=100,
        rank=np.arange(n_ranks)[::-1],
        name=0,
        corr=7,
        size_bytes=size,
        strings=("MPI_Allreduce",),
    )


def test_collective_operations_are_left_out_and_counted() -> None:
    found = matrix_of_events(concatenate([messages(np.random.default_rng(0)), allreduce()]))
    assert found.messages.sum() == 60
    assert any("4 collective operations are left out" in note for note in found.notes)


def test_rings_of_collective_operations_where_they_are_said_to_be_rings() -> None:
    found = matrix_of_events(allreduce(), are_rings=True)
    expected = np.zeros((4, 4))
    for rank in range(4):
        expected[rank, (rank + 1) % 4] = 2 * 3 / 4 * 1000
    np.testing.assert_allclose(found.comm_matrix_bytes, expected)
    assert any("rings in the order of ranks" in note for note in found.notes)


def test_nothing_sent_is_an_empty_matrix() -> None:
    found = matrix_of_events(event_table(0))
    assert found.places == ()
    assert found.to_frame().empty


def test_a_receive_that_was_posted_ahead_ends_with_its_wait() -> None:
    events = event_table(
        5,
        kind=[int(kind) for kind in (Kind.IRECV, Kind.ISEND, Kind.WAIT, Kind.IRECV, Kind.WAIT)],
        start_ns=[0, 100, 300, 0, 7000],
        duration_ns=[10, 5, 200, 10, 10],
        rank=[1, 0, 1, 2, 2],
        peer=[0, 1, UNSET, 0, UNSET],
        # Ranks number their calls by themselves.
        corr=[7, UNSET, 7, 7, 7],
        size_bytes=[4000, 4000, 0, 0, 0],
        match=[1, 0, UNSET, UNSET, UNSET],
    )
    found = matrix_of_events(events)
    assert found.places == ("rank 0", "rank 1")
    assert found.seconds[0, 1] == pytest.approx(400e-9)
