"""System calls with their times: strace attached to the command."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from mlperf.traces.readers.system.strace import read_strace
from mlperf.traces.sources.bases import OneProgram
from mlperf.traces.sources.source import ABSENT, DEGRADED, OK, Probe, status_word

SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
TEXT = "calls.txt"


class SystemCalls(OneProgram):
    """``strace -f``; off by default: every call stops the program twice."""

    name = "strace"
    about = "system calls with their times; slows programs that make many"
    by_default = False
    file, reader = TEXT, staticmethod(read_strace)

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

    def follow(self, pid: int) -> None:
        """Attach, and wait until it has."""
        words = ["strace", "-f", "-ttt", "-T", "-q", "-o", str(self.folder / TEXT), "-p", str(pid)]
        self.child.start(words, self.folder)
        self.child.wait_for(lambda: tracer_of(pid) > 0)


def tracer_of(pid: int) -> int:
    """Process that traces another one; 0 for none."""
    return int(status_word(str(pid), "TracerPid") or "0")
