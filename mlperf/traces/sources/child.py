"""A recorder that is a program of its own: started, waited for, stopped by its own number, its words kept."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from mlperf.core.children import ended_with_parent

READY_S, END_S = 5.0, 10.0
POLL_S = 0.01
ERRORS = "stderr.txt"
PLAIN = {"LC_ALL": "C", "TZ": "UTC0", "S_TIME_FORMAT": "ISO"}
"""What recorders find in their environment: times of day in UTC, points in numbers and English words, whatever the user's are."""


class Child:
    """One such program, which may not be running."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.exit_code: int | None = None
        self._program, self._errors = "", Path()
        self._asked = 0

    @property
    def failure(self) -> str:
        """Why it ended badly, with the last line of its errors; empty where it runs, or ended well or because it was asked to."""
        if self.exit_code is None or self.exit_code in (0, -self._asked, 128 + self._asked):
            return ""
        try:
            lines = self._errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return f"{self._program} ended with exit code {self.exit_code}" + (f": {lines[-1].strip()}" if lines else "")

    def start(self, words: Sequence[str], folder: Path, *, ready: Path | None = None, stdout: int | IO[Any] | None = None) -> None:
        """Start it; its errors go to ``stderr.txt`` of the folder.

        Parameters
        ----------
        words : sequence of str
        folder : Path
        ready : Path, optional
            A file that is not empty as soon as it records; waited for, at most five seconds.
        stdout : file, optional
            For what it prints; without one nothing is kept.

        Raises
        ------
        OSError
            It cannot be started, or ended badly before it was ready; with the last line of its errors.
        """
        self._program, self._errors, self._asked = Path(words[0]).name, folder / ERRORS, 0
        with (folder / ERRORS).open("ab") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - a recorder of the registry
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if stdout is None else stdout,
                stderr=errors,
                env={**os.environ, **PLAIN},
                start_new_session=True,
                preexec_fn=ended_with_parent(signal.SIGINT),
            )
        if ready is not None:
            self.wait_for(lambda: ready.exists() and ready.stat().st_size > 0)

    def wait_for(self, is_ready: Callable[[], bool], limit_s: float = READY_S) -> None:
        """Wait until it records, it has ended, or the time is over; raises OSError where it ended badly."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until and self._process is not None and self._process.poll() is None and not is_ready():
            time.sleep(POLL_S)
        if self._process is not None and self._process.returncode is not None:
            self.exit_code = self._process.returncode
            if self.failure:
                raise ChildProcessError(self.failure)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> float:
        """Ask it to end where it still runs; returns its CPU seconds."""
        if self._process is not None and self._process.returncode is None:
            self._asked = int(number)
            self._send(number)
        return self.wait()

    def wait(self, limit_s: float = END_S) -> float:
        """Wait for its end, which is forced after that time; returns its CPU seconds."""
        if self._process is None:
            return 0.0
        if self._process.returncode is not None:
            self.exit_code = self._process.returncode
            return 0.0
        until = time.monotonic() + limit_s
        while True:
            found, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if found:
                self.exit_code = os.waitstatus_to_exitcode(status)
                self._process.returncode = self.exit_code
                return float(usage.ru_utime + usage.ru_stime)
            if time.monotonic() > until:
                self._send(signal.SIGKILL)
            time.sleep(POLL_S)

    def _send(self, number: signal.Signals) -> None:
        try:
            os.kill(self._process.pid, number)  # type: ignore[union-attr]
        except ProcessLookupError:
            return
