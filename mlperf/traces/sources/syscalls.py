"""System calls with their times: strace attached to the command."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

from mlperf.traces.readers.system.strace import read_strace
from mlperf.traces.sources.child import Child
from mlperf.traces.sources.source import ABSENT, DEGRADED, OK, Probe, Read

SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
TEXT = "calls.txt"


class SystemCalls:
    """``strace -f``; off by default: every call stops the program twice."""

    name = "strace"
    about = "system calls with their times; slows programs that make many"
    by_default = False

    def __init__(self) -> None:
        self.child = Child()
        self.folder = Path()

    def probe(self) -> Probe:
        """Look for the program, and whether it may attach."""
        if shutil.which("strace") is None:
            return Probe(ABSENT, "there is no strace", "install strace")
        scope = SCOPE.read_text(encoding="ascii").strip() if SCOPE.is_file() else "0"
        if scope != "0" and os.geteuid():
            return Probe(
                ABSENT,
                f"kernel.yama.ptrace_scope is {scope}: it may not attach",
                "start strace yourself, mlperf trace import reads it",
            )
        return Probe(DEGRADED, "every call stops the program twice: times are longer than without") if scope == "0" else Probe(OK)

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Remember the folder."""
        self.folder = folder
        return {}

    def follow(self, pid: int) -> None:
        """Attach, and wait until it has."""
        words = ["strace", "-f", "-ttt", "-T", "-q", "-o", str(self.folder / TEXT), "-p", str(pid)]
        self.child.start(words, self.folder)
        self.child.wait_for(lambda: tracer_of(pid) > 0)

    def stop(self) -> float:
        """Detach."""
        return self.child.stop(signal.SIGINT)

    def read(self, folder: Path) -> Read:
        """SYSCALL rows, since 1970."""
        text = folder / TEXT
        return Read(read_strace(text)) if text.is_file() and text.stat().st_size else Read()


def tracer_of(pid: int) -> int:
    """Process that traces another one; 0 for none."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("TracerPid:")]
    return int(found[0]) if found else 0
