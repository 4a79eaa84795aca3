"""Ctrl-C and a polite kill while a program is watched: noted first, so that the sample at hand is finished whole."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

NOTED = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Within the block the first SIGINT or SIGTERM is only noted; the second one interrupts.

    Outside the main thread signals are not ours, and nothing is changed.

    Attributes
    ----------
    came : bool
        Whether one was noted.
    """

    def __init__(self) -> None:
        self.came = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in NOTED}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler's signature
        if self.came:
            raise KeyboardInterrupt
        self.came = True
