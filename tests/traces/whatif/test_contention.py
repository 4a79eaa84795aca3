"""Turns on a link against a queue that is walked, runs against a walk of message after message, and counts by hand."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from message_programs import Edits, MadeProgram, Message, Place, Run, protocol_timing, random_program, recorded

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.replay import replay
from mlperf.traces.whatif.contention import most_at_once, most_rounds, shared_link, turns
from mlperf.traces.whatif.load import load_run


@pytest.mark.parametrize("seed", range(20))
def test_messages_are_served_in_the_order_of_their_sends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    link, sent, busy = rng.integers(0, 3, 30), rng.integers(0, 200, 30), rng.integers(0, 20, 30)
    found = turns(link, sent, busy)
    for one in range(3):
        now = 0
        for message in sorted(np.flatnonzero(link == one).tolist(), key=lambda each: (sent[each], each)):
            now = max(now, int(sent[message]))
            assert found[message] == now - sent[message]
            now += int(busy[message])


class TakingTurns(Run):
    """A walk in which each message leaves when its link is free; calls stand still until its turn is known."""

    def __init__(self, program: MadeProgram, bytes_per_ns: float) -> None:
        self.leaves: dict[int, int] = {}
        messages = [message for place in program.places() for message in program.call(place).sends]
        free: dict[tuple[int, int], int] = defaultdict(int)
        for _ in range(len(messages) + 1):
            try:
                super().__init__(program, Edits())
                return
            except RuntimeError:
                called = [each for each in messages if each.sender in self.start and id(each) not in self.leaves]
                first = min(called, key=lambda each: self.start[each.sender])
                link = first.sender[0], first.receiver[0]
                self.leaves[id(first)] = max(free[link], self.start[first.sender])
                free[link] = self.leaves[id(first)] + round(first.size / bytes_per_ns)

    def ready(self, place: Place) -> list[int | None]:
        call = self.program.call(place)
        if call.posted:
            return [self.start[place]]
        gone = [self.leaves.get(id(message)) for message in call.sends if not message.eager]
        here = [None if (at := self.leaves.get(id(message))) is None else at + message.off for message in call.receives]
        return [*(super().ready(place)), *gone, *here]

    def both_ready(self, message: Message, side: str) -> int | None:
        left = self.leaves.get(id(message))
        if side == "send" and message.eager:
            return self.start.get(message.sender)
        times = [super().both_ready(message, side), None if left is None else left + (message.off if side == "recv" else 0)]
        return None if None in times else max(times)


@pytest.mark.parametrize("seed", range(24))
def test_a_run_is_that_of_messages_that_take_turns(seed: int) -> None:
    """A synchronous send that waits for its link ends later, not sooner."""
    program = random_program(seed, n_steps=30)
    table, _ = recorded(program, Run(program))
    found = shared_link(replay(table, protocol_timing()), (0.01, 0.1, 0.3)[seed % 3] * 1e9)
    assert found.converged
    assert round(found.shared_s * 1e9) == TakingTurns(program, (0.01, 0.1, 0.3)[seed % 3]).total


def test_hundreds_of_messages_in_one_queue_settle() -> None:
    """Each round may settle one message only; fifty rounds told this run as 8 ms."""
    program = random_program(2, posts=False, collectives=False, n_steps=250)
    table, _ = recorded(program, Run(program))
    found = shared_link(replay(table, protocol_timing()), 1e7)
    assert found.converged
    assert round(found.shared_s * 1e9) == 13_097_681


def test_rounds_are_limited_where_each_takes_long() -> None:
    assert [most_rounds(n) for n in (0, 49, 1000, 10_000, 1_000_000)] == [50, 50, 1001, 2000, 50]


def test_intervals_that_hold_one_moment() -> None:
    assert most_at_once(np.array([0, 10, 5]), np.array([10, 5, 3])) == 2
    assert most_at_once(np.array([0, 10]), np.array([10, 5])) == 1
    assert most_at_once(np.array([3, 3]), np.array([0, 0])) == 0


def two_senders(hosts: tuple[int, ...]) -> object:
    """Ranks 0 and 1 each send 1000 bytes at 0 to ranks 2 and 3, which wait for them."""
    return event_table(
        4,
        start_ns=[0, 0, 0, 0],
        duration_ns=[10, 10, 100, 100],
        rank=[0, 1, 2, 3],
        host=hosts,
        kind=[Kind.SEND, Kind.SEND, Kind.RECV, Kind.RECV],
        peer=[2, 3, 0, 1],
        size_bytes=1000,
        match=[2, 3, 0, 1],
    )


def test_a_link_between_two_hosts_makes_the_second_message_late() -> None:
    """1000 bytes at 1e9 B/s take a microsecond; the second waits for it."""
    found = shared_link(load_run(two_senders((0, 0, 1, 1)), eager_limit_bytes=1e6), 1e9)
    assert found.converged
    assert found.contention_possible
    assert found.links["most_at_once"].tolist() == [2]
    assert found.links["link"].tolist() == ["host 0 -> 1"]
    assert round((found.shared_s - found.time_s) * 1e9) == 1000


def test_links_of_their_own_cost_nothing() -> None:
    found = shared_link(load_run(two_senders((-1, -1, -1, -1)), eager_limit_bytes=1e6), 1e9)
    assert not found.contention_possible
    assert found.shared_s == found.time_s
    assert sorted(found.links["link"]) == ["rank 0 -> 2", "rank 1 -> 3"]
