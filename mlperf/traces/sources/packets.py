"""Packets on all interfaces: tcpdump where it is allowed."""

from __future__ import annotations

import os
import shutil

from mlperf.traces.readers.system.pcap import read_pcap
from mlperf.traces.sources.bases import OneProgram
from mlperf.traces.sources.source import ABSENT, OK, Probe, status_word

FILE = "packets.pcap"
HEAD_BYTES = 128
"""Of each packet: addresses and ports, not what is said."""
CAPTURES = 1 << 13
"""CAP_NET_RAW."""


class Packets(OneProgram):
    """``tcpdump -i any``, heads of packets only; without it the machine's source counts bytes by interface."""

    name = "packets"
    about = "heads of packets on all interfaces, and between whom"
    by_default = False
    file, reader = FILE, staticmethod(read_pcap)

    def probe(self) -> Probe:
        """Look for the program and the right to capture."""
        if shutil.which("tcpdump") is None:
            return Probe(ABSENT, "there is no tcpdump; bytes by interface are in the source machine", "install tcpdump")
        if os.geteuid() and not int(status_word("self", "CapEff") or "0", 16) & CAPTURES:
            return Probe(
                ABSENT, "capturing is not allowed; bytes by interface are in the source machine", "setcap cap_net_raw+ep tcpdump"
            )
        return Probe(OK, f"the first {HEAD_BYTES} bytes of each packet")

    def follow(self, pid: int) -> None:
        """Begin on all interfaces; which packets are the command's, addresses tell."""
        del pid
        file = self.folder / FILE
        # Started by root it would become another user, who may not write here.
        stay = [] if os.geteuid() else ["-Z", "root"]
        words = ["tcpdump", "-i", "any", "-s", str(HEAD_BYTES), "-U", "-n", *stay, "-w", str(file)]
        self.child.start(words, self.folder, ready=file)
