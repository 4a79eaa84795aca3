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


def test_threads_that_spin_are_waited_for_until_a_product_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = iter([2.0, 1.9, THREAD_SHARE, 5.0])
    monkeypatch.setattr(clocks, "thread_share", lambda: next(shares))
    with one_computing_thread():
        assert next(shares) == 5.0


@pytest.mark.slow
def test_a_product_was_quiet_before_anything_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product with every thread just before: they look for more work for a while, whatever the limit says.

    What a thread does later, when a busy machine gives it a turn, nobody can promise: the last product before is looked at.
    """
    a, shares = np.ones((1500, 1500)), list[float]()
    monkeypatch.setattr(clocks, "thread_share", lambda: shares.append(thread_share()) or shares[-1])  # type: ignore[func-returns-value]
    for _ in range(3):
        with threadpool_limits(2, user_api="blas"):
            a @ a
            shares.clear()
            with one_computing_thread():
                assert shares[-1] <= THREAD_SHARE


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
