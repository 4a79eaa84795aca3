"""A command started by the launcher: it runs on a signal, and its files in /proc stay until its usage is read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from mlperf.core.errors import InterruptedRun, UsageError

LAUNCHER = Path(__file__).with_name("launcher.py")
USAGE_FIELDS = (
    *("user_s", "system_s", "max_rss_kib", "shared_text", "unshared_data", "unshared_stack"),
    *("minor_faults", "major_faults", "swaps", "input_blocks", "output_blocks"),
    *("messages_sent", "messages_received", "signals", "voluntary_switches", "involuntary_switches"),
)
END_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class End:
    """How a command ended, and what it used.

    Attributes
    ----------
    exit_code : int
        The command's own; 128 + number where a signal ended it.
    wall_s : float
        From exec to its end, monotonic clock, seconds.
    """

    exit_code: int
    wall_s: float


@dataclass(slots=True)
class Child:
    """A command that waits for its release.

    Attributes
    ----------
    pid : int
        Its process; the number stays the command's over exec.
    """

    pid: int
    command: Sequence[str]
    orders: int
    reports: IO[bytes]
    _usage: dict[str, float] = field(default_factory=dict)

    def release(self) -> None:
        """Let the command run.

        Raises
        ------
        UsageError
            The system cannot run it.
        """
        os.write(self.orders, b"g")

    def wait(self) -> End:
        """Wait for the end; /proc/PID can still be read afterwards.

        Raises
        ------
        UsageError
            The system could not run the command.
        """
        start_ns = int(self._heard("start"))
        end_ns, code = self._heard("ended").split()
        return End(int(code), (int(end_ns) - start_ns) * 1e-9)

    def usage(self) -> Mapping[str, float]:
        """Resources of the command and of the children it waited for (``wait4``); /proc/PID is gone from now on."""
        if not self._usage:
            os.write(self.orders, b"r")
            numbers = map(float, self._heard("usage").split())
            self._usage = dict(zip(USAGE_FIELDS, numbers, strict=True))
        return self._usage

    def _heard(self, word: str) -> str:
        """The rest of the next report, which begins with ``word``."""
        said, _, rest = self.reports.readline().decode().strip().partition(" ")
        if said == "failed":
            raise UsageError(
                f"got {self.command[0]!r}, which the system cannot run: {os.strerror(int(rest))}",
                place="command",
                hint="Name a program for this machine, or a script whose first line is #! and its interpreter.",
            )
        if said != word:
            raise InterruptedRun("the process that started the command was ended from outside", place="command")
        return rest


@contextmanager
def launched(command: Sequence[str], *, stdout: int | IO[Any] | None = None) -> Iterator[Child]:
    """Start ``command`` and hold it before its first instruction.

    Its standard streams are ours. When the block is left early, by Ctrl-C or an error, the command and everything it started
    are ended: asked first, killed two seconds later.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    stdout : file, optional
        Where its standard output goes instead of ours.

    Raises
    ------
    UsageError
        There is no such program.
    """
    check_program(command)
    orders_read, orders = os.pipe()
    reports, reports_write = os.pipe()
    launcher = subprocess.Popen(  # noqa: S603 - our own file, and the command that the user named
        [sys.executable, "-I", "-S", str(LAUNCHER), str(orders_read), str(reports_write), *command],
        stdout=stdout,
        pass_fds=(orders_read, reports_write),
    )
    os.close(orders_read)
    os.close(reports_write)
    try:
        with os.fdopen(reports, "rb") as lines:
            child = Child(0, command, orders, lines)
            child.pid = int(child._heard("pid"))
            yield child
    finally:
        os.close(orders)
        end_launcher(launcher)


def end_launcher(launcher: subprocess.Popen[bytes]) -> None:
    """Wait until the launcher has ended what is left; a second Ctrl-C does not cut that short."""
    for _ in range(3):
        with suppress(KeyboardInterrupt):
            try:
                launcher.wait(END_PATIENCE_S)
            except subprocess.TimeoutExpired:
                launcher.kill()
                launcher.wait()
            return


def check_program(command: Sequence[str]) -> None:
    """Accept a command whose program can be found.

    Raises
    ------
    UsageError
        Nothing was named, or what was named is no program.
    """
    if not command:
        raise UsageError(
            "got no command, expected -- COMMAND [ARGUMENT ...]",
            hint="For example -- ./program 1000; --probe alone says what can be counted.",
        )
    if shutil.which(command[0]) is None:
        there = Path(command[0]).exists()
        raise UsageError(
            f"got {command[0]!r}, which is {'no program that may be run' if there else 'no program on the PATH'}",
            place="command",
            hint="chmod +x makes a file one that may be run." if there else "A program in this folder is ./NAME.",
        )
