"""The parameters of LogGPS, and which of them a cost can depend on."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from mlperf.core.errors import UsageError

BASIS = ("latency_s", "overhead_s", "gap_s_per_byte", "recv_overhead_s", "send_s_per_byte", "recv_s_per_byte")
"""Parameters in which every cost of a message is linear."""


@dataclass(frozen=True, slots=True)
class LogGPS:
    """Network and library of one machine, in seconds and bytes.

    Attributes
    ----------
    latency_s : float
        L, from the sender's network to the receiver's.
    overhead_s : float
        o, processor time of a message; of the sender where `recv_overhead_s` is used too.
    gap_s : float
        g, least time between two sends, or two receives, of one rank.
    gap_s_per_byte : float
        G, seconds a byte on the wire.
    eager_limit_bytes : float
        S, the largest message that is sent without asking (preset ``smpi``: the first that is not).
    recv_overhead_s, send_s_per_byte, recv_s_per_byte : float
        The receiver's overhead, and what a byte adds to both: only presets that tell them apart use these.
    packet_bytes : float
        s, the largest message of one packet.

    References
    ----------
    Ino, Fujimoto, Hagihara: LogGPS, a parallel computational model for synchronization analysis (PPoPP 2001).
    """

    latency_s: float
    overhead_s: float
    gap_s: float = 0.0
    gap_s_per_byte: float = 0.0
    eager_limit_bytes: float = 0.0
    recv_overhead_s: float = 0.0
    send_s_per_byte: float = 0.0
    recv_s_per_byte: float = 0.0
    packet_bytes: float = math.inf

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not value >= 0.0 or (math.isinf(value) and not field.name.endswith("_bytes")):
                raise UsageError(f"got {field.name} {value!r}, expected a number of 0 or more")

    def replace(self, **changes: float) -> LogGPS:
        """A copy with some parameters changed."""
        return dataclasses.replace(self, **changes)
