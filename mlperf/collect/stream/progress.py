"""Progress as the program itself reports it: lines with numbers on a pipe, or in a file."""

from __future__ import annotations

import fcntl
import math
import os
from pathlib import Path

from mlperf.core.durations import number_in

PROGRESS_FD = "MLPERF_PROGRESS_FD"
PROGRESS_FILE = "MLPERF_PROGRESS_FILE"
PIPE_BYTES = 2**20
CHUNK_BYTES = 2**16
TAIL_BYTES = 64
"""Of what was read before, to notice that a file was written anew."""


class Progress:
    """Units of work finished, from lines of text.

    A line ``12`` says that 12 units are finished since the start; ``+3`` that three more are, ``+`` that one more is. Units may be
    fractions. The pipe's number is in the environment variable MLPERF_PROGRESS_FD; a file is named by the user, and in
    MLPERF_PROGRESS_FILE; it may grow by lines or be written anew with the latest total.

    Parameters
    ----------
    path : path, optional
        File to read besides the pipe.

    Attributes
    ----------
    units : float
        Finished so far; never falls.
    n_lines, n_unreadable : int
        Lines that were read, and those among them that hold no number.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.units = 0.0
        self.n_lines = self.n_unreadable = 0
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        enlarge(self.writer)
        self._rest = b""
        self._file = ProgressFile(path) if path else None

    def environment(self) -> dict[str, str]:
        """What the program finds in its environment."""
        named = {PROGRESS_FILE: str(self._file.path.absolute())} if self._file else {}
        return {PROGRESS_FD: str(self.writer), **named}

    def close_writer(self) -> None:
        """Leave the writing end to the program."""
        os.close(self.writer)

    def close(self) -> None:
        """Close the reading end."""
        os.close(self.reader)

    def poll(self) -> float:
        """Read what has arrived; returns the units finished so far."""
        self._rest = self._take(self._rest + self._arrived())
        if self._file is not None:
            self._take(self._file.new_lines())
        return self.units

    def _arrived(self) -> bytes:
        chunks = []
        while True:
            try:
                chunk = os.read(self.reader, CHUNK_BYTES)
            except BlockingIOError:
                break
            if not chunk:
                break
            chunks.append(chunk)
        return b"".join(chunks)

    def _take(self, text: bytes) -> bytes:
        """Count whole lines; returns what is behind the last one."""
        *lines, rest = text.split(b"\n")
        for line in lines:
            self._line(line.strip())
        return rest

    def _line(self, line: bytes) -> None:
        if not line:
            return
        self.n_lines += 1
        value = 1.0 if line == b"+" else number(line)
        if math.isnan(value):
            self.n_unreadable += 1
        elif line.startswith(b"+"):
            self.units += max(value, 0.0)
        else:
            self.units = max(self.units, value)


class ProgressFile:
    """A file that a program appends to, or writes anew.

    Parameters
    ----------
    path : path
        May not exist yet. What is in it at the start is not the program's and is passed over.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._place, self._tail = 0, b""
        self._stamp: tuple[int, int, int] | None = None
        self.new_lines()

    def new_lines(self) -> bytes:
        """Whole lines since the last call; all lines where what was read before is no longer there.

        A single line without end is taken as it is, if it is a total: half a total is never more than the whole.
        """
        stamp = self._changed()
        if stamp is None:
            return b""
        try:
            with self.path.open("rb") as stream:
                stream.seek(self._place - len(self._tail))
                before, rest = stream.read(len(self._tail)), stream.read()
                if before != self._tail or (self._stamp is not None and stamp[0] != self._stamp[0]):
                    stream.seek(0)
                    self._place, self._tail, rest = 0, b"", stream.read()
        except OSError:
            return b""
        self._stamp = stamp
        end = rest.rfind(b"\n") + 1
        if not end and not self._place and rest and not rest.startswith(b"+"):
            return rest + b"\n"
        self._place += end
        self._tail = (self._tail + rest[:end])[-TAIL_BYTES:]
        return rest[:end]

    def _changed(self) -> tuple[int, int, int] | None:
        """Number, size and time of the file; None where it is as it was, or is not there."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        return None if stamp == self._stamp else stamp


def number(text: bytes) -> float:
    """The finite number that a line holds; NaN where it holds none."""
    value = number_in(text)
    return value if math.isfinite(value) else math.nan


def enlarge(pipe: int) -> None:
    """Room for many lines between two samples, as far as the system lets us: a program must not wait for its watcher."""
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (OSError, AttributeError):
        return
