"""Signals while a command is watched."""

from __future__ import annotations

import os
import signal

import pytest

from mlperf.collect.stream.interrupts import Interrupts


def test_the_first_signal_is_noted_and_the_second_interrupts() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:  # noqa: PT012 - the second signal is the one
        assert not interrupts.came
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.came
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == before
