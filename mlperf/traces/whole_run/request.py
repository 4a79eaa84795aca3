"""What to run and to record."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import UsageError

DOCUMENT = "recording.json"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A command and its recording.

    Attributes
    ----------
    command : tuple of str
        Program and arguments, launchers included.
    out : Path
        Folder of the recording; holds none yet.
    sources : tuple of str
        Names of the sources to record; empty: all that are recorded by default.
    more, fewer : tuple of str
        Sources to add and to leave out.
    memory : bool
        Measure what the machine's memory gives, once the command has ended: some tenths of a second.
    """

    command: tuple[str, ...]
    out: Path
    sources: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    fewer: tuple[str, ...] = ()
    memory: bool = True

    def __post_init__(self) -> None:
        if not self.command:
            raise UsageError("got no command, expected -- python train.py", place="mlperf record")
        if shutil.which(self.command[0]) is None:
            raise UsageError(f"got {self.command[0]!r}, which is no program on the PATH", place="command")
        if (self.out / DOCUMENT).exists():
            hint = "Name another folder, or remove that one."
            raise UsageError("holds a recording, expected none", place=str(self.out), hint=hint)
