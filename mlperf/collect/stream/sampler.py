"""One sample of everything: the machine, the command with its children, its progress, its instructions."""

from __future__ import annotations

from collections.abc import Sequence

from mlperf.collect.stream.instructions import Absent, InstructionCounter, open_counter
from mlperf.collect.stream.machine import Machine
from mlperf.collect.stream.processes import ProcessTree
from mlperf.collect.stream.progress import Progress


class Sampler:
    """Samples a process again and again, always the same columns.

    Parameters
    ----------
    pid : int
        The command's process.
    progress : Progress
        What the command reports.

    Attributes
    ----------
    columns : tuple of str
        Names of a sample's numbers; fixed by the first sample.
    instructions : InstructionCounter or Absent
        The processor's counter, or why there is none.
    """

    def __init__(self, pid: int, progress: Progress) -> None:
        self.machine = Machine()
        self.tree = ProcessTree(pid)
        self.progress = progress
        self.instructions: InstructionCounter | Absent = open_counter(pid)
        self._last = self._now()
        self.columns: Sequence[str] = tuple(self._last)

    def sample(self) -> list[float]:
        """Numbers of now in the order of ``columns``; one that the system no longer reports keeps its last value."""
        now = self._now()
        self._last = {name: now.get(name, self._last[name]) for name in self.columns}
        return list(self._last.values())

    def close(self) -> None:
        """Give the counter back."""
        if isinstance(self.instructions, InstructionCounter):
            self.instructions.close()

    def _now(self) -> dict[str, float]:
        found = {"units": self.progress.poll()}
        if isinstance(self.instructions, InstructionCounter):
            found["instructions"] = self.instructions.read()
        return found | self.tree.sample() | self.machine.sample()
