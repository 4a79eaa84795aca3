"""A server adds every gradient once, answers at once or when all are there, and takes as long as its link says."""

from __future__ import annotations

import time

import numpy as np

from mlperf.collect.servers.exchange import PULL
from mlperf.collect.servers.server import Server
from mlperf.collect.servers.wire import Link, Message
from mlperf.collect.trainer.waits import Sleeper


class Post:
    """Keeps the answers."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, int, list[float]]] = []

    def send(self, values: np.ndarray, to: int, tag: int, version: int = 0, sent_s: float | None = None) -> None:  # noqa: ARG002
        assert tag == PULL
        self.sent.append((to, version, values.tolist()))


def server(*, synchronous: bool, link: Link | None = None) -> tuple[Server, Post]:
    """Places 10 to 14; worker 0 owns the first two, worker 1 the others; two replicas of two workers."""
    post, parts = Post(), {0: [(10, 12)], 1: [(12, 14)]}
    found = Server(post, (10, 14), np.zeros(4, dtype=np.float32), parts, 2, 2, synchronous, 0.5, link, Sleeper(0.0), None, 1.0)  # type: ignore[arg-type]
    return found, post


def message(sender: int, version: int, *values: float) -> Message:
    return Message(time.perf_counter(), version, sender, np.array(values, dtype=np.float32))


def test_asynchronous_answers_hold_what_was_there_and_staleness_counts_the_others() -> None:
    own, post = server(synchronous=False)
    for each in (message(0, 0, 2, 4), message(2, 0, 2, 2), message(1, 0, 8, 8), message(0, 1, 2, 2)):
        own.serve(each)
    assert own.weights.tolist() == [3.0, 4.0, 4.0, 4.0]
    assert post.sent == [(0, 1, [1, 2]), (2, 2, [2, 3]), (1, 1, [4, 4]), (0, 3, [3, 4])]
    assert own.staleness == [0, 1, 0, 1]
    assert own.n_applied == 4


def test_synchronous_answers_wait_for_every_worker_of_every_replica() -> None:
    own, post = server(synchronous=True)
    for each in (message(0, 0, 2, 4), message(1, 0, 6, 8), message(3, 0, 2, 2)):
        own.serve(each)
        assert not post.sent
    own.serve(message(2, 0, 4, 4))
    assert [(to, values) for to, _, values in post.sent] == [(0, [3, 4]), (1, [4, 5]), (3, [4, 5]), (2, [3, 4])]
    assert own.staleness == []


def test_a_message_takes_its_bytes_in_and_out() -> None:
    own, _ = server(synchronous=False, link=Link(0.0, 0.0, 2.5e-3))
    begun_s = time.perf_counter()
    for _ in range(2):
        own.serve(message(0, 0, 1, 1))
    assert 0.95 < (time.perf_counter() - begun_s) / (2 * 2 * 8 * 2.5e-3) < 3.0
