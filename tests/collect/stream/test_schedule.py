"""The grid of sampling times."""

from __future__ import annotations

import os
import signal

import pytest

from mlperf.collect.stream.schedule import Interrupts, ticks


def test_ticks_keep_the_grid_and_pass_over_what_was_missed() -> None:
    now = [100.0]

    def sleep(seconds: float) -> bool:
        now[0] += seconds
        return now[0] > 103.9

    found = []
    for number, t_s in enumerate(ticks(0.5, clock=lambda: now[0], sleep=sleep)):
        found.append(round(t_s, 6))
        now[0] += 1.2 if number == 2 else 0.1
    assert found == [0.0, 0.5, 1.0, 2.5, 3.0, 3.5]


def test_the_first_signal_is_noted_and_the_second_interrupts() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:  # noqa: PT012 - the second signal is the one
        assert not interrupts.came
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.came
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == before
