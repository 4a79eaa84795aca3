"""What is timed, and by whom."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from mlperf.collect.loggps import rank


class Pair:
    """Two ranks as threads; a send waits for its receive where it is larger than 100 bytes."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(2)
        self.sent = (threading.Semaphore(0), threading.Semaphore(0))
        self.received = (threading.Semaphore(0), threading.Semaphore(0))

    def run(self, experiment: Any, size: int) -> list[float]:
        found = [0.0, 0.0]
        buffer = np.zeros(size, dtype=np.uint8)
        threads = [
            threading.Thread(target=lambda own=own: found.__setitem__(own, experiment(End(self, own), buffer))) for own in (0, 1)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        return found


class End:
    """One of them."""

    def __init__(self, pair: Pair, own: int) -> None:
        self.pair, self.own = pair, own

    def Get_rank(self) -> int:
        return self.own

    def Barrier(self) -> None:
        self.pair.barrier.wait(10)

    def Send(self, buffer: Any, to: int) -> None:
        self.pair.sent[to].release()
        if len(buffer) > 100:
            self.pair.received[to].acquire(timeout=10)

    def Recv(self, buffer: Any, _source: int) -> None:
        self.pair.sent[self.own].acquire(timeout=10)
        if len(buffer) > 100:
            self.pair.received[self.own].release()


@pytest.mark.parametrize(("size", "blocks"), [(100, False), (101, True)])
def test_only_large_sends_wait_for_a_receiver_that_stays_away(size: int, blocks: bool) -> None:
    times = [Pair().run(rank.unreceived_send_s, size)[0] for _ in range(5)]
    # A busy machine may hold up either thread: the send seems short if its own comes late, long if it is stopped in between.
    told = max(times) if blocks else min(times)
    assert (told > rank.BLOCKED_S / 2) == blocks


@pytest.mark.parametrize(("name", "timer"), [("round_trip", 0), ("send", 0), ("receive", 1), ("unreceived_send", 0)])
def test_one_rank_times(name: str, timer: int) -> None:
    found = Pair().run(rank.EXPERIMENTS[name], 101)
    assert found[timer] > 0
    assert found[1 - timer] == 0


def test_a_flood_is_of_the_smallest_message() -> None:
    assert all(time_s > 0 for time_s in Pair().run(rank.flood_s, 1))
    assert Pair().run(rank.flood_s, 2) == [0.0, 0.0]


def test_a_busy_wait_lasts() -> None:
    begun_s = time.perf_counter()
    rank._busy(0.002)
    assert time.perf_counter() - begun_s >= 0.002
