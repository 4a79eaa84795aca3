"""Child processes that end with their parent, however that ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def ended_with_parent(number: signal.Signals = signal.SIGKILL) -> Callable[[], None] | None:
    """For ``preexec_fn``: the system sends the child a signal when the thread that started it ends, killed or not.

    Parameters
    ----------
    number : Signals
        SIGTERM for a program that has children of its own to end.

    Returns
    -------
    callable or None
        None where the system has no such service (it is Linux's).
    """
    if sys.platform != "linux":
        return None
    import ctypes

    # Looked up before the fork: the child may only call what is there already.
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(128 + number)

    return ask
