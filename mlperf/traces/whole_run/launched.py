"""The command of a recording: held at a gate, then run, then ended with everything it started."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from mlperf.core.children import ended_with_parent
from mlperf.core.proc import stat_words
from mlperf.traces.sources.process_tree import PROC, tree_of

GATE = 'read -r _ 2>/dev/null < "$MLPERF_GATE" || exit 130; unset MLPERF_GATE; exec "$@"'
"""Waits for a line, then becomes the command: sources attach before its first instruction. Interrupted at it, it says nothing."""
MARK = "MLPERF_RECORDED_BY"
"""Variable by which what the command started is known in a group that is not its own."""
END_S, REST_S = 10.0, 2.0
"""Time that each signal gives the command, and what it started where the command itself has ended."""
POLL_S = 0.02
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


class Launched:
    """A command behind its gate.

    Parameters
    ----------
    command : sequence of str
    environment : mapping
    gate : Path
        A pipe that is made here and removed by `close`.
    stdout : file, optional
        Where the command's standard output goes instead of ours.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], gate: Path, stdout: int | IO[Any] | None = None
    ) -> None:
        self._gate, self._mark = gate, f"{os.getpid()}-{time.monotonic_ns()}"
        gate.unlink(missing_ok=True)
        os.mkfifo(gate)
        # At a terminal a group of its own could not read from it; there, the terminal itself interrupts the whole group.
        self._at_terminal = os.isatty(0)
        self._process = subprocess.Popen(  # noqa: S603 - the command that the user named
            ["/bin/sh", "-c", GATE, "sh", *command],
            env={**environment, "MLPERF_GATE": str(gate), MARK: self._mark},
            stdout=stdout,
            # A launcher talks to its ranks over descriptors that they inherit; ours are not inherited anyway.
            close_fds=False,
            preexec_fn=ended_with_parent(signal.SIGTERM),
            process_group=None if self._at_terminal else 0,
        )
        self.pid = self._process.pid
        self._ended: tuple[int, tuple[float, float]] | None = None

    def open_gate(self) -> None:
        """Let it run; where it has ended at the gate nobody is waited for."""
        while not self._has_ended():
            try:
                pipe = os.open(self._gate, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                time.sleep(POLL_S / 10)
                continue
            try:
                os.write(pipe, b"\n")
            except BrokenPipeError:
                pass
            finally:
                os.close(pipe)
            return

    def wait(self) -> tuple[int, tuple[float, float]]:
        """Status of its end, and processor time (user, system) with that of children it waited for, seconds."""
        self._reap(0)
        return self._ended or (0, (0.0, 0.0))

    def end(self) -> tuple[int, tuple[float, float]]:
        """Interrupt it and all that it started, then ask them to end, then end them; a further interrupt goes on to the next."""
        known = set(tree_of(PROC, self.pid))
        for number in SIGNALS:
            try:
                # The terminal has interrupted its whole group already.
                if number != signal.SIGINT or not self._at_terminal:
                    _send(self._members(known), number)
                if self._is_over(known):
                    break
            except KeyboardInterrupt:
                continue
        return self.wait()

    def close(self) -> None:
        """Remove the gate."""
        self._gate.unlink(missing_ok=True)

    def _is_over(self, known: set[int]) -> bool:
        """Whether all of them end in the time that a signal gives."""
        begun = time.monotonic()
        while True:
            self._reap(os.WNOHANG)
            if self._ended is not None and not self._members(known):
                return True
            if time.monotonic() - begun > (END_S if self._ended is None else REST_S):
                return False
            time.sleep(POLL_S)

    def _members(self, known: set[int]) -> list[int]:
        """What still runs of its group, of what it had started when it was interrupted, and of what is marked as its."""
        found = []
        for each in (int(path.name) for path in PROC.iterdir() if path.name.isdigit()):
            state, group = _state_of(each)
            if state not in "ZX" and (each in known or group == self.pid or self._is_marked(each, group)):
                found.append(each)
        return found

    def _is_marked(self, pid: int, group: int) -> bool:
        """Whether it is the command's in our own group; its parent may be gone already."""
        if not self._at_terminal or group != os.getpgrp():
            return False
        try:
            return f"{MARK}={self._mark}".encode() in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
        except OSError:
            return False

    def _has_ended(self) -> bool:
        """Whether it has; its status is left for `wait`."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _reap(self, options: int) -> None:
        if self._ended is not None:
            return
        found, status, usage = os.wait4(self.pid, options)
        if found:
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self._ended = status, (usage.ru_utime, usage.ru_stime)


def _state_of(pid: int) -> tuple[str, int]:
    """Letter of its state and number of its group; ``X`` for one that is gone."""
    words = stat_words(PROC / str(pid))
    return (words[0], int(words[2])) if len(words) > 2 else ("X", 0)


def _send(pids: Sequence[int], number: signal.Signals) -> None:
    """A signal to all that are still there and ours."""
    for each in pids:
        try:
            os.kill(each, number)
        except (ProcessLookupError, PermissionError):
            continue
