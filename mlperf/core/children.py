"""Child processes that end with their parent, however that ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

Result = TypeVar("Result")
POLL_S = 0.5
_WORKER = "joblib.externals.loky"
_owners: set[int] = set()

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


def tied(function: Callable[..., Result]) -> Callable[..., Result]:
    """A function that does the same, and in a worker process of joblib ends that process when ours is killed.

    Workers live on for minutes otherwise. Threads, and workers that a cluster's scheduler started, are left alone.
    """
    return partial(_call_tied, os.getpid(), function)


def _call_tied(owner: int, function: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
    # A worker whose own loop calls this does the work itself: it is tied to its owner, not to itself.
    if owner not in (*_owners, os.getpid()) and any(_WORKER in word for word in sys.orig_argv):
        _owners.add(owner)
        threading.Thread(target=_end_after, args=(owner,), daemon=True).start()
    return function(*args, **kwargs)


def _end_after(owner: int) -> None:
    while os.getppid() == owner:
        time.sleep(POLL_S)
    os._exit(1)
