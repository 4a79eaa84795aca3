"""A process that ends a command and everything it started, should the one that watches it be killed: `Guardian`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from mlperf.collect.stream.processes import ProcessTree

GRACE_S = 2.0
POLL_S = 0.05
SPARE = b"spare\n"


class Guardian:
    """The guardian of one command, a process that sleeps until the pipe to it is closed.

    It is started before the command, so that there is hardly a moment at which the command runs unguarded.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this module
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def guard(self, pid: int) -> None:
        """Name the command's process."""
        self._tell(f"{pid}\n".encode())

    def dismiss(self) -> None:
        """The command has ended, or was never started."""
        self._tell(SPARE)
        stdin = self._process.stdin
        if stdin is not None and not stdin.closed:
            with suppress(BrokenPipeError):
                stdin.close()
        self._process.wait()

    def _tell(self, line: bytes) -> None:
        stdin = self._process.stdin
        if stdin is not None and not stdin.closed:
            # Somebody ended the guardian: the command is none the worse for it.
            with suppress(BrokenPipeError):
                stdin.write(line)
                stdin.flush()


def main() -> None:
    """Wait until standard input ends; without a word that all is well, end the command and what it started."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    lines = sys.stdin.buffer.read().split(b"\n")
    if lines[0].isdigit() and SPARE.strip() not in lines:
        end_tree(int(lines[0]))


def end_tree(root: int) -> None:
    """Ask a process and everything it started to end, and make them after a while."""
    tree, deadline_s = ProcessTree(root), time.monotonic() + GRACE_S
    number = signal.SIGTERM
    asked: set[int] = set()
    while tree.sample()["w_processes"]:
        for pid in {root, *tree.descendants} - asked:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
            asked.add(pid)
        if number is signal.SIGTERM and time.monotonic() > deadline_s:
            number, asked = signal.SIGKILL, set()
        time.sleep(POLL_S)


if __name__ == "__main__":
    main()
