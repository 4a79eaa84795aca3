"""Three workers and one server, event by event."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.arrays import FloatArray
from mlperf.systems.parameter_server import events


def run(work: list[float], service: float, bound: int, n_services: int, n_servers: int = 1) -> tuple[FloatArray, FloatArray]:
    """Ends of services and sums."""
    done, sums = np.zeros(n_services), np.zeros((len(work), events.N_SUMS))
    counts = np.zeros(64, dtype=np.int64)
    drawn = np.array(work)[:, None] * np.ones((1, 3))
    events.run_servers(drawn, np.full(n_services, service), np.zeros(n_servers), bound, 0, done, sums, counts)
    return done, sums


def test_first_come_first_served() -> None:
    """Workers arrive at 1, 1.5 and 4; the second waits for the first; then 3 (first again), 4.5 (second), 4 (third)."""
    done, sums = run([1.0, 1.5, 4.0], 1.0, events.UNBOUNDED, 5)
    assert done.tolist() == [2.0, 3.0, 4.0, 5.0, 6.0]
    assert sums[:, events.SERVED].tolist() == [2.0, 2.0, 1.0]
    assert sums[:, events.WAIT_S].tolist() == [0.0, 0.5 + 0.5, 0.0]
    assert sums[:, events.STALENESS].tolist() == [0.0 + 1.0, 1.0 + 2.0, 3.0]


def test_two_servers_take_from_one_queue() -> None:
    done, _ = run([1.0, 1.5, 1.75], 1.0, events.UNBOUNDED, 3, n_servers=2)
    assert done.tolist() == [2.0, 2.5, 3.0]


def test_a_barrier_lets_all_begin_when_the_last_is_done() -> None:
    """Clocks end at 4 and 8: the third worker's."""
    done, sums = run([1.0, 2.0, 4.0], 0.0, 0, 6)
    assert done.tolist() == [1.0, 2.0, 4.0, 5.0, 6.0, 8.0]
    assert sums[:, events.BLOCKED_S].tolist() == pytest.approx([6.0, 4.0, 0.0])


def test_a_bound_of_one_lets_a_worker_be_one_clock_ahead() -> None:
    """The first does clocks 1 and 2 at 1 and 2, then waits until the third has done clock 1 at 4."""
    done, _ = run([1.0, 2.0, 4.0], 0.0, 1, 6)
    assert done.tolist() == [1.0, 2.0, 2.0, 4.0, 4.0, 5.0]
