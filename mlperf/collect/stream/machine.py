"""What /proc says of the whole machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mlperf.core.errors import MissingExtraError

CPU_FIELDS = ("cpu_user", "cpu_nice", "cpu_sys", "cpu_idle", "cpu_iowait", "cpu_irq", "cpu_softirq", "cpu_steal")
STAT_LINES = ("intr", "ctxt", "processes", "procs_running")
PAGE_LINES = ("pgfault", "pgalloc_normal", "pgfree")
MEMORY_LINES = ("MemFree", "MemAvailable")


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
        return self._stat() | self._named("vmstat", PAGE_LINES) | self._load() | self._named("meminfo", MEMORY_LINES)

    def _stat(self) -> dict[str, float]:
        lines = words_by_name((self.proc / "stat").read_text(encoding="ascii"))
        found = dict(zip(CPU_FIELDS, map(float, lines["cpu"]), strict=False))
        return found | {name: float(lines[name][0]) for name in STAT_LINES if name in lines}

    def _named(self, file: str, names: tuple[str, ...]) -> dict[str, float]:
        path = self.proc / file
        if not path.is_file():
            return {}
        lines = words_by_name(path.read_text(encoding="ascii"))
        return {name: float(lines[name][0]) for name in names if name in lines}

    def _load(self) -> dict[str, float]:
        path = self.proc / "loadavg"
        return {"load1": float(path.read_text(encoding="ascii").split()[0])} if path.is_file() else {}


def words_by_name(text: str) -> Mapping[str, list[str]]:
    """First word of each line, without a colon, to the words behind it."""
    found = {}
    for line in text.splitlines():
        name, *words = line.split()
        found[name.removesuffix(":")] = words
    return found
