"""What is timed has the process to itself: spinning threads are waited for, working ones are refused."""

from __future__ import annotations

from threading import Event, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from mlperf.collect.protocol import clocks
from mlperf.collect.protocol.clocks import (
    THREAD_SHARE,
    Reference,
    await_one_thread,
    load_average,
    one_computing_thread,
    require_clocks,
    thread_share,
)
from mlperf.core.errors import MissingExtraError, UsageError


@pytest.mark.slow
def test_threads_that_spin_after_their_product_are_waited_for() -> None:
    """A product with every thread just before: they look for more work for a while, whatever the limit says.

    On a busy machine a thread may look once more when it gets its turn, so one quiet product of three is enough.
    """
    a = np.ones((1500, 1500))
    for _ in range(5):
        with threadpool_limits(2, user_api="blas"):
            a @ a
            with one_computing_thread():
                assert min(thread_share() for _ in range(3)) < THREAD_SHARE


def test_a_thread_that_works_beside_is_seen() -> None:
    """Seen at least once: on a busy machine the other thread may have no turn during a single product."""
    started, end = Event(), Event()

    def work() -> None:
        a = np.ones((1000, 1000))
        while not end.is_set():
            a @ a
            started.set()

    other = Thread(target=work)
    with threadpool_limits(1):
        other.start()
        try:
            started.wait()
            assert any(thread_share() > THREAD_SHARE for _ in range(200))
        finally:
            end.set()
            other.join()


def test_a_thread_that_works_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "thread_share", lambda: 2.0)
    with pytest.raises(UsageError, match=r"took 2\.0 times the CPU time of its thread, expected one BLAS thread") as caught:
        await_one_thread(patience_s=0.01)
    assert "OMP_NUM_THREADS=1" in (caught.value.hint or "")


def test_other_systems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    require_clocks()
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(MissingExtraError, match="measuring needs Linux, got darwin"):
        require_clocks()


def test_circumstances_are_positive() -> None:
    assert load_average() >= 0.0
    assert 0.0 < Reference().time_s() < 10.0
