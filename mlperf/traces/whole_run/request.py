"""What to run and to record."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.core.places import take_path

DOCUMENT = "recording.json"
MOST_HZ = 10_000


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A command and its recording.

    Attributes
    ----------
    command : tuple of str
        Program and arguments, launchers included.
    out : Path or str
        Folder of the recording; holds none yet.
    sources : tuple of str
        Names of the sources to record; empty: all that are recorded by default.
    more, fewer : tuple of str
        Sources to add and to leave out.
    frequency_hz : int, optional
        Samples of processors a second; stacks are taken a quarter as often.
    memory : bool
        Measure what the machine's memory gives, once the command has ended: some tenths of a second.
    """

    command: tuple[str, ...]
    out: Path
    sources: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    fewer: tuple[str, ...] = ()
    frequency_hz: int | None = None
    memory: bool = True

    def __post_init__(self) -> None:
        take_path(self)
        if not self.command:
            raise UsageError("got no command, expected -- python train.py", place="mlperf record")
        if shutil.which(self.command[0]) is None:
            raise UsageError(f"got {self.command[0]!r}, which is no program on the PATH", place="command")
        if self.frequency_hz is not None and not 1 <= self.frequency_hz <= MOST_HZ:
            raise UsageError(f"got {self.frequency_hz}, expected 1 to {MOST_HZ:,}", place="--frequency")
        if (self.out / DOCUMENT).exists():
            hint = "Name another folder, or remove that one."
            raise UsageError("holds a recording, expected none", place=str(self.out), hint=hint)
