"""How the process meets the system: its streams, closed or unable to show a letter, its memory, and requests to end."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from mlperf.collect.protocol.interrupts import ENDING

COLLECT_AFTER = (20_000, 10, 10)
"""Thresholds of `gc.set_threshold`."""


@dataclass(slots=True)
class EndRequests:
    """Whether Ctrl-C, or another request to end, has come.

    Compiled code may take the KeyboardInterrupt for an error of its own and raise another one: then only this tells.
    """

    came: bool = False

    def interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler's signature
        """Handle a signal: note that it came, and interrupt what runs."""
        self.came = True
        raise KeyboardInterrupt


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
    try:
        for number in ENDING:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, requests.interrupt)
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def mute_stdout() -> None:
    """Let what is still to be written to stdout go nowhere: Python writes it once more at the end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        # A stdout without a number needs none.
        return
