"""Program that starts a command, holds it until it may run, and keeps it after its end until its files in /proc are read.

It runs as a process of its own, with the standard library only: the resident memory and the page faults of a command that a large
process starts are those of the large process. It is told ``go`` and ``reap`` on one pipe and reports on another:
``pid N``, ``start NS``, ``failed ERRNO``, ``ended NS CODE``, ``usage NUMBERS``. When the first pipe closes early it ends the
command with all of its descendants.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

GRACE_S = 2.0
POLL_S = 0.02
PR_SET_CHILD_SUBREAPER = 36
NOT_RUN = 127


def main(arguments: list[str]) -> None:
    """Run the command behind the numbers of the two pipes."""
    orders, reports, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    for pipe in (orders, reports):
        os.set_inheritable(pipe, False)
    pid = os.fork()
    if pid == 0:
        become(command, orders, reports)
    adopt_orphans()
    say(reports, f"pid {pid}")
    if not wait_for_end(pid, orders):
        end_all()
        return
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    now_ns = time.monotonic_ns()
    if ended is not None:
        code = ended.si_status if ended.si_code == os.CLD_EXITED else 128 + ended.si_status
        say(reports, f"ended {now_ns} {code}")
    os.read(orders, 1)
    say(reports, "usage " + " ".join(str(value) for value in os.wait4(pid, 0)[2]))


def become(command: list[str], orders: int, reports: int) -> None:
    """In the forked child: wait for ``go``, then turn into the command. Never returns."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Python ignores these, and what is ignored stays so over exec.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    if not os.read(orders, 1):
        os._exit(NOT_RUN)
    say(reports, f"start {time.monotonic_ns()}")
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command that the user named
    except OSError as error:
        say(reports, f"failed {error.errno}")
    os._exit(NOT_RUN)


def say(reports: int, line: str) -> None:
    """Report one line; a reader that is gone needs none."""
    with contextlib.suppress(BrokenPipeError):
        os.write(reports, f"{line}\n".encode())


def adopt_orphans() -> None:
    """Become the parent of descendants that lose theirs, so that they can be found, and survive what the terminal sends."""
    import ctypes  # after the fork: the command does not inherit its memory

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_end(pid: int, orders: int) -> bool:
    """Whether the command ended by itself: False when the pipe closed before."""
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(woken, select.POLLIN)
    poll.register(orders, 0)
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        events = dict(poll.poll())
        if orders in events:
            return False
        if woken in events:
            os.read(woken, 512)
    return True


def end_all() -> None:
    """Ask every descendant to end, and make it after a while."""
    deadline_s = time.monotonic() + GRACE_S
    for pid in descendants(os.getpid()):
        send(pid, signal.SIGTERM)
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = list(descendants(os.getpid()))
        if not left:
            return
        if time.monotonic() > deadline_s:
            for pid in left:
                send(pid, signal.SIGKILL)
        time.sleep(POLL_S)


def descendants(root: int) -> Iterator[int]:
    """Processes that ``root`` started, theirs, and so on."""
    from pathlib import Path

    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(folder.name))
    waiting = [root]
    while waiting:
        found = children.get(waiting.pop(), [])
        yield from found
        waiting += found


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


if __name__ == "__main__":
    main(sys.argv[1:])
