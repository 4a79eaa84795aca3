"""Packets on all interfaces: tcpdump where it is allowed."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

from mlperf.traces.readers.system.pcap import read_pcap
from mlperf.traces.sources.child import Child
from mlperf.traces.sources.source import ABSENT, OK, Probe, Read

FILE = "packets.pcap"
HEAD_BYTES = 128
"""Of each packet: addresses and ports, not what is said."""
CAPTURES = 1 << 13
"""CAP_NET_RAW."""


class Packets:
    """``tcpdump -i any``, heads of packets only; without it the machine's source counts bytes by interface."""

    name = "packets"
    about = "heads of packets on all interfaces, and between whom"
    by_default = False

    def __init__(self) -> None:
        self.child = Child()
        self.folder = Path()

    def probe(self) -> Probe:
        """Look for the program and the right to capture."""
        if shutil.which("tcpdump") is None:
            return Probe(ABSENT, "there is no tcpdump; bytes by interface are in the source machine", "install tcpdump")
        if os.geteuid() and not effective_capabilities() & CAPTURES:
            return Probe(
                ABSENT, "capturing is not allowed; bytes by interface are in the source machine", "setcap cap_net_raw+ep tcpdump"
            )
        return Probe(OK, f"the first {HEAD_BYTES} bytes of each packet")

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Remember the folder."""
        self.folder = folder
        return {}

    def follow(self, pid: int) -> None:
        """Begin on all interfaces; which packets are the command's, addresses tell."""
        del pid
        file = self.folder / FILE
        # Started by root it would become another user, who may not write here.
        stay = [] if os.geteuid() else ["-Z", "root"]
        words = ["tcpdump", "-i", "any", "-s", str(HEAD_BYTES), "-U", "-n", *stay, "-w", str(file)]
        self.child.start(words, self.folder, ready=file)

    def stop(self) -> float:
        """End."""
        return self.child.stop(signal.SIGINT)

    def read(self, folder: Path) -> Read:
        """PACKET rows, since 1970."""
        file = folder / FILE
        return Read(read_pcap(file)) if file.is_file() and file.stat().st_size else Read()


def effective_capabilities() -> int:
    """What this process may do beyond its user."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")]
    return int(found[0], 16) if found else 0
