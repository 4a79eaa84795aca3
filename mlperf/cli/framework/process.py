"""How the process meets the system: its streams, closed or unable to show a letter, its memory, and requests to end."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from mlperf.collect.protocol.interrupts import ENDING

COLLECT_AFTER = (20_000, 10, 10)
"""Thresholds of `gc.set_threshold`."""

AGAIN_AFTER_S = 0.01
"""A callback that lost a request to end has returned by then."""


@dataclass(slots=True)
class EndRequests:
    """Whether Ctrl-C, or another request to end, has come.

    Compiled code may take the KeyboardInterrupt for an error of its own and raise another one: then only this tells.
    """

    came: bool = False
    _again: threading.Timer | None = field(default=None, repr=False)

    def interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler's signature
        """Handle a signal: note that it came, and interrupt what runs."""
        self.came = True
        raise KeyboardInterrupt

    def heed_lost(self, show: Callable[[sys.UnraisableHookArgs], Any]) -> Callable[[sys.UnraisableHookArgs], None]:
        """`sys.unraisablehook`: a request that came within a callback, where exceptions get lost, comes once more after it.

        Once a request has come, other faults of callbacks are taken for what was interrupted; before, ``show`` shows them.
        """

        def heed(lost: sys.UnraisableHookArgs) -> None:
            if not self.came:
                show(lost)
            elif issubclass(lost.exc_type, KeyboardInterrupt):
                self._again = threading.Timer(AGAIN_AFTER_S, interrupt_main)
                self._again.daemon = True
                self._again.start()

        return heed

    def forget_lost(self) -> None:
        """Let no request come that has not come yet: what it would end is over."""
        if self._again is not None:
            self._again.cancel()
            self._again.join()


def interrupt_main() -> None:
    """Send Ctrl-C to the main thread, which wakes it where the system can tell one thread from another."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def collect_rarely() -> None:
    """Look for garbage less often: what a command makes mostly stays (modules, models); walking it takes a tenth of its time."""
    gc.set_threshold(*COLLECT_AFTER)


def open_streams() -> None:
    """Put the null device where a standard stream is closed: else the next file to be opened would take its place.

    Letters that a stream's encoding lacks are shown as escapes.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - until the process ends
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def ended_like_ctrl_c() -> Iterator[EndRequests]:
    """Within the block a request to end (SIGTERM, a closed terminal) is a KeyboardInterrupt, so that everything is tidied up.

    What the caller has decided about a signal stays so: nohup ignores that of a closed terminal.
    """
    requests = EndRequests()
    before: dict[int, Any] = {}
    show = sys.unraisablehook
    try:
        sys.unraisablehook = requests.heed_lost(show)
        for number in ENDING:
            handler = signal.getsignal(number)
            if handler in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = handler
                signal.signal(number, requests.interrupt)
        yield requests
    finally:
        requests.forget_lost()
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = show


def mute_stdout() -> None:
    """Let what is still to be written to stdout go nowhere: Python writes it once more at the end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        # A stdout without a number needs none.
        return
