"""A round trip between two ends in one process."""

from __future__ import annotations

import threading
from queue import Queue

import numpy as np

from mlperf.collect.canonical.pingpong import round_trip_s


class Ends:
    """Two queues with the calls of a communicator: what one end sends the other receives."""

    def __init__(self) -> None:
        self.queues: dict[int, Queue[np.ndarray]] = {0: Queue(), 1: Queue()}

    def of(self, rank: int) -> Ends:
        """The same queues, seen by one rank."""
        seen = Ends()
        seen.queues, seen.rank = self.queues, rank
        return seen

    def Send(self, values: np.ndarray, to: int) -> None:
        self.queues[to].put(values.copy())

    def Recv(self, values: np.ndarray, source: int) -> None:  # noqa: ARG002 - MPI's name
        values[...] = self.queues[self.rank].get(timeout=5.0)


def test_what_was_sent_comes_back() -> None:
    ends, first, second = Ends(), np.arange(5), np.zeros(5, dtype=int)
    other = threading.Thread(target=round_trip_s, args=(ends.of(1), second, 0), kwargs={"first": False})
    other.start()
    assert round_trip_s(ends.of(0), first, 1, first=True) > 0.0
    other.join()
    assert np.array_equal(first, second)
