"""The command that is watched: started with its environment, interrupted with us, its own exit code handed on."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import IO, Any

from mlperf.collect.stream.guardian import Guardian
from mlperf.core.errors import UsageError

OWN_END_S, PATIENCE_S = 1.0, 5.0
SIGNALLED = 128


class WatchedCommand(AbstractContextManager["WatchedCommand"]):
    """A running command; leaving the block ends it where it has not ended. It does not outlive this process, killed or not.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    environment : mapping
        Added to ours.
    handles : sequence of int
        Open files that the command inherits.
    stdout : file, optional
        Where its standard output goes instead of ours.

    Raises
    ------
    UsageError
        Nothing was named, or the system cannot run it.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], handles: Sequence[int], stdout: int | IO[Any] | None = None
    ) -> None:
        if not command:
            raise UsageError("got no command, expected -- COMMAND [ARGUMENT ...]", hint="For example -- ./program 1000.")
        self._guardian = Guardian()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                list(command), env={**os.environ, **environment}, pass_fds=tuple(handles), stdout=stdout
            )
        except OSError as error:
            self._guardian.dismiss()
            raise UsageError(
                f"got {command[0]!r}, which cannot be run: {error.strerror}",
                place="command",
                hint="Name a program on the PATH, or ./NAME for one in this folder.",
            ) from error
        self.pid = self._process.pid
        self._guardian.guard(self.pid)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; whether the command has ended."""
        try:
            self._process.wait(max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self, others: Sequence[int] = ()) -> None:
        """Ask a command that still runs to stop, as Ctrl-C does, then by SIGTERM, then end it.

        Parameters
        ----------
        others : sequence of int
            Processes that it started: they get the same signals, and SIGTERM where they outlive it.
        """
        for number, patience_s in ((signal.SIGINT, OWN_END_S), (signal.SIGTERM, PATIENCE_S), (signal.SIGKILL, PATIENCE_S)):
            if self.wait(patience_s):
                break
            self._process.send_signal(number)
            send(others, number)
        self._process.wait()
        self._guardian.dismiss()
        send(others, signal.SIGTERM)

    @property
    def exit_code(self) -> int:
        """The command's own; 128 + number where a signal ended it."""
        code = self._process.returncode
        if code is None:
            raise UsageError("the command still runs", place="command")
        return SIGNALLED - code if code < 0 else code


def send(processes: Sequence[int], number: signal.Signals) -> None:
    """Signal those of the processes that are still there and ours."""
    for pid in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
