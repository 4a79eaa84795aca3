"""Requests to end that wait: what is done as a whole is not left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, a request to end, a closed terminal."""


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Deliver a Ctrl-C, or another request to end, after the block.

    A signal that is ignored stays so. Outside the main thread signals are not ours, and nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before: dict[int, Callable[..., object]] = {}
    try:
        for number in ENDING:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, lambda number, _: caught.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in caught[:1]:
            before[number](number, None)
