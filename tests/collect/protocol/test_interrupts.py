"""Requests to end that come while something is done as a whole."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from mlperf.collect.protocol.interrupts import interrupts_held


def test_ctrl_c_waits_for_the_end_of_the_block() -> None:
    done: list[str] = []

    def write() -> None:
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("whole")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert done == ["whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_whoever_handles_a_signal_gets_it_once() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    try:
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            assert came == []
        assert came == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_ctrl_c_is_not_lost_where_the_block_fails() -> None:
    def write() -> None:
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGINT)
            raise OSError("the disk is full")

    with pytest.raises(KeyboardInterrupt) as caught:
        write()
    assert isinstance(caught.value.__context__, OSError)


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts_held():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_changes_no_handler() -> None:
    found: list[object] = []

    def ask() -> None:
        with interrupts_held():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
