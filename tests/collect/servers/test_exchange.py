"""What a worker gives each server and where the answers go, with the two ends of a message in one list."""

from __future__ import annotations

import time

import numpy as np
import pytest

from mlperf.collect.servers.exchange import PUSH, Exchange
from mlperf.collect.servers.wire import Link, Message
from mlperf.collect.trainer.waits import Sleeper


class Post:
    """Keeps what is sent; answers with the same values times ten and version 5."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, int, int, list[float]]] = []

    def send(self, values: np.ndarray, to: int, tag: int, version: int = 0, sent_s: float | None = None) -> None:  # noqa: ARG002
        self.sent.append((to, tag, version, values.tolist()))

    def receive(self, source: int, tag: int, n_values: int) -> Message:  # noqa: ARG002
        values = next(values for to, sent_tag, _, values in reversed(self.sent) if (to, sent_tag) == (source, PUSH))
        return Message(time.perf_counter(), 5, source, np.array(values[:n_values], dtype=np.float32) * 10)


def exchange(link: Link | None = None) -> tuple[Exchange, Post]:
    """Places 2 to 6 and 8 to 11 of twelve, held by three servers of four each."""
    post = Post()
    found = Exchange(post, [(2, 6), (8, 11)], [(0, 4), (4, 8), (8, 12)], 7, link, Sleeper(0.0))  # type: ignore[arg-type]
    return found, post


def test_slices_go_to_the_servers_that_hold_them_and_come_back_in_place() -> None:
    own, post = exchange()
    gradient = np.array([2, 3, 4, 5, 8, 9, 10], dtype=np.float32)
    own.push(gradient)
    assert post.sent == [(7, PUSH, 0, [2, 3]), (8, PUSH, 0, [4, 5]), (9, PUSH, 0, [8, 9, 10])]
    weights = np.zeros(7, dtype=np.float32)
    own.pull(weights)
    assert weights.tolist() == (10 * gradient).tolist()
    assert (own.n_bytes, own.n_pushed, own.is_open) == (28, 3, False)


def test_a_gradient_tells_the_version_it_was_computed_from() -> None:
    own, post = exchange()
    own.push(np.zeros(7, dtype=np.float32))
    own.pull(np.zeros(7, dtype=np.float32))
    own.push(np.zeros(7, dtype=np.float32))
    own.hold()
    own.push(np.zeros(7, dtype=np.float32))
    assert [version for _, _, version, _ in post.sent] == [0] * 6 + [5] * 3


def test_an_emulated_link_takes_two_latencies_and_both_ways_of_all_bytes() -> None:
    own, _ = exchange(Link(0.01, 0.0, 1e-3))
    begun_s = time.perf_counter()
    own.push(np.zeros(7, dtype=np.float32))
    own.pull(np.zeros(7, dtype=np.float32))
    assert 0.95 < (time.perf_counter() - begun_s) / (2 * (0.01 + 28e-3)) < 3.0


def test_a_place_that_is_not_owned_is_an_error() -> None:
    with pytest.raises(IndexError):
        exchange()[0].at(7)
