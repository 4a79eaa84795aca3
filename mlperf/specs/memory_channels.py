"""What a socket's memory gives at most by the processor's data sheet: all its channels at the fastest speed that it supports."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

CHANNEL_BYTES = 8
"""Bytes of a transfer over one channel, of DDR4 and of DDR5 with both of its halves."""
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class SocketMemory:
    """The memory of one generation of processors.

    Attributes
    ----------
    vendor : str
        As processors call themselves: ``GenuineIntel``.
    family, model : int
        Decimal, as /proc/cpuinfo has them.
    steppings : range or None
        Where several generations share a model; None: all.
    named : str
        What the name of the processor holds: models for workstations have fewer channels.
    generation : str
    n_channels : int
    mega_transfers_per_s : int
    """

    vendor: str
    family: int
    model: int
    steppings: range | None
    named: str
    generation: str
    n_channels: int
    mega_transfers_per_s: int

    @property
    def bytes_per_s(self) -> float:
        """Of all channels together."""
        return self.n_channels * CHANNEL_BYTES * self.mega_transfers_per_s * 1e6

    def fits(self, host: Mapping[str, Any]) -> bool:
        """Whether a host's processor is of this generation."""
        return (
            host.get("cpu_vendor") == self.vendor
            and (host.get("cpu_family"), host.get("cpu_model")) == (self.family, self.model)
            and (self.steppings is None or host.get("cpu_stepping") in self.steppings)
            and self.named in str(host.get("processor", ""))
        )


@cache
def socket_memories() -> tuple[SocketMemory, ...]:
    """All generations that are known."""
    table = (resources.files("mlperf.specs") / "data" / "memory_channels.csv").read_text(encoding="utf-8")
    return tuple(_memory(row) for row in csv.DictReader(table.splitlines()))


def _memory(row: Mapping[str, str]) -> SocketMemory:
    lowest, _, highest = row["steppings"].partition("-")
    return SocketMemory(
        row["vendor"],
        int(row["family"]),
        int(row["model"]),
        range(int(lowest), int(highest) + 1) if highest else None,
        row["named"],
        row["generation"],
        int(row["n_channels"]),
        int(row["mega_transfers_per_s"]),
    )


def data_sheet_bytes_per_s(host: Mapping[str, Any]) -> float:
    """Bytes a second of a socket's memory by the data sheet of a host's processor.

    Parameters
    ----------
    host : mapping
        ``processor`` (its name), ``cpu_vendor``, ``cpu_family``, ``cpu_model``, ``cpu_stepping``, as a recording has them.

    Returns
    -------
    float
        At most; NaN where the processor is none that is known. A virtual machine shares a socket with others.
    """
    return next((each.bytes_per_s for each in socket_memories() if each.fits(host)), NAN)
