"""A source: something that can be recorded while a command runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from mlperf.core.proc import words_of
from mlperf.traces.events.counters import CounterTable
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.system.task_looks import TaskLooks

OK, DEGRADED, ABSENT = "ok", "degraded", "absent"


@dataclass(frozen=True, slots=True)
class Probe:
    """What a source offers on this machine.

    Attributes
    ----------
    status : str
        ``"ok"``, ``"degraded"`` or ``"absent"``.
    reason : str
        Why it is not ok, or what exactly is recorded.
    hint : str
        What would give more; never done by itself.
    """

    status: str
    reason: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """What a source recorded, on the clock ``CLOCK_MONOTONIC`` of its host, origin 0.

    Attributes
    ----------
    events : EventTable or None
    counters : CounterTable or None
    looks : TaskLooks or None
        Processor time of threads as the scheduler counts it.
    """

    events: EventTable | None = None
    counters: CounterTable | None = None
    looks: TaskLooks | None = None


class InFolder:
    """What writes into a folder of its own while the command runs."""

    def __init__(self) -> None:
        self.folder = Path()

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Remember the folder."""
        self.folder = folder
        return {}


class WritingThread(threading.Thread):
    """A thread of ours that writes while the command runs.

    Parameters
    ----------
    write : callable
        What it does.
    name : str
        What it writes.
    """

    def __init__(self, write: Callable[[], None], name: str) -> None:
        super().__init__(name=f"mlperf {name}", daemon=True)
        self._write = write
        self._refused: OSError | None = None

    def run(self) -> None:
        """Write; keep what the system has against it for `finish`."""
        try:
            self._write()
        except OSError as error:
            self._refused = error

    def finish(self) -> None:
        """Wait until it is done; OSError: it ended before, because the disk is full, say."""
        self.join()
        if self._refused is not None:
            raise self._refused


def filled(path: Path) -> Path | None:
    """A file that is there and holds something."""
    return path if path.is_file() and path.stat().st_size else None


def status_word(pid: str, name: str) -> str:
    """The word behind a name in ``/proc/PID/status``; empty where there is none."""
    return next(iter(words_of(Path(f"/proc/{pid}/status")).get(name, [])), "")


class Source(Protocol):
    """One thing to record; a class a file, named in `mlperf.traces.sources.registry`.

    Attributes
    ----------
    name : str
        Word for ``--sources``, and the folder of its files.
    about : str
        One line for the table of sources.
    by_default : bool
        Whether it is recorded without being asked for.

    Examples
    --------
    A whole source; `follow` may start a child, whose process the caller then watches.

    >>> class LoadAverage:
    ...     name, about, by_default = "load", "processes that want to run", False
    ...
    ...     def probe(self):
    ...         return Probe(OK if Path("/proc/loadavg").exists() else ABSENT)
    ...
    ...     def prepare(self, folder):
    ...         self.file = folder / "load.txt"
    ...         return {}
    ...
    ...     def follow(self, pid):
    ...         self.file.write_text(Path("/proc/loadavg").read_text())
    ...
    ...     def stop(self):
    ...         return 0.0
    ...
    ...     def read(self, folder):
    ...         return Read()
    """

    name: str
    about: str
    by_default: bool

    def probe(self) -> Probe:
        """Say what this machine offers; changes nothing and takes less than a second."""
        ...

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Get ready to write into a folder that exists; returns variables that the command gets."""
        ...

    def follow(self, pid: int) -> None:
        """Begin. The command's process is there and waits until all sources have begun."""
        ...

    def stop(self) -> float:
        """End, also after a crash or an interrupt; returns CPU seconds that recording took outside the command."""
        ...

    def read(self, folder: Path) -> Read:
        """Read what was recorded, also on another machine and later; what is cut off in the middle is kept up to there."""
        ...


@runtime_checkable
class Sampler(Protocol):
    """A source that looks so often."""

    def sample(self, frequency_hz: int) -> None:
        """Look as often as fits so many samples of processors a second."""
        ...
