"""One sample of everything: the machine, the command with its children, its progress, its instructions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlperf.collect.stream.instructions import Absent, InstructionCounter, open_counter
from mlperf.collect.stream.processes import ProcessTree
from mlperf.collect.stream.progress import Progress
from mlperf.core.errors import MissingExtraError
from mlperf.core.proc import numbers_of, text_of, words_of

CPU_FIELDS = ("cpu_user", "cpu_nice", "cpu_sys", "cpu_idle", "cpu_iowait", "cpu_irq", "cpu_softirq", "cpu_steal")
STAT_LINES = ("intr", "ctxt", "processes", "procs_running")
PAGE_LINES = {name: name for name in ("pgfault", "pgalloc_normal", "pgfree")}
MEMORY_LINES = {name: name for name in ("MemFree", "MemAvailable")}


class Machine:
    """Counters of the whole machine, read from /proc.

    Parameters
    ----------
    proc : path
        Where the process file system is mounted.

    Raises
    ------
    MissingExtraError
        This system has none.
    """

    def __init__(self, proc: Path | str = "/proc") -> None:
        self.proc = Path(proc)
        if not (self.proc / "stat").is_file():
            raise MissingExtraError(
                f"this needs {self.proc}/stat, which is not there", place="watch", hint="Watch the program on a Linux system."
            )

    def sample(self) -> dict[str, float]:
        """Counters and gauges of now; what this kernel does not say is left out."""
        pages, memory = numbers_of(self.proc / "vmstat", PAGE_LINES), numbers_of(self.proc / "meminfo", MEMORY_LINES)
        return self._stat() | pages | self._load() | memory

    def _stat(self) -> dict[str, float]:
        lines = words_of(self.proc / "stat")
        found = dict(zip(CPU_FIELDS, map(float, lines["cpu"]), strict=False))
        return found | {name: float(lines[name][0]) for name in STAT_LINES if name in lines}

    def _load(self) -> dict[str, float]:
        words = text_of(self.proc / "loadavg").split()
        return {"load1": float(words[0])} if words else {}


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
