"""Data sheets of devices: the peak of single precision and the bandwidth of a device's own memory, by its name or of a machine."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from mlperf.specs.machine import MachineSpec

NO_NAMES = frozenset({"nvidia", "tesla", "geforce", "quadro", "gpu", "generation"})
"""Words that some name a device with and others do not."""


@dataclass(frozen=True, slots=True)
class DeviceSheet:
    """What a data sheet says of a device.

    Attributes
    ----------
    name : str
        As its driver names it.
    flop_per_s : float
        Single-precision peak outside of tensor cores, with boost.
    bandwidth_bytes_per_s : float
        Of the device's own memory.
    source : str
        Where both are from.
    compute_capability : float or None
        By which NVIDIA tells the generations of its devices apart; None where nobody knows.
    """

    name: str
    flop_per_s: float
    bandwidth_bytes_per_s: float
    source: str
    compute_capability: float | None = None


@cache
def device_sheets() -> tuple[DeviceSheet, ...]:
    """All devices that are known; of those that share a short name the one that is meant by it comes first."""
    table = (resources.files("mlperf.specs") / "data" / "devices.csv").read_text(encoding="utf-8")
    return tuple(
        DeviceSheet(
            row["name"],
            float(row["flop_per_s"]),
            float(row["bandwidth_bytes_per_s"]),
            row["source"],
            float(row["compute_capability"]),
        )
        for row in csv.DictReader(table.splitlines())
    )


def device_sheet(name: str) -> DeviceSheet | None:
    """The sheet of a device of that name, else of the first one whose name has all its words; None where there is neither.

    ``"V100"`` is taken for the ``Tesla V100-SXM2-16GB``; ``"RTX 3060 Laptop"`` is none that is known, and for no other one.
    """
    asked = _words(name)
    same = next((sheet for sheet in device_sheets() if asked and _words(sheet.name) == asked), None)
    # "RTX" alone is the name of a hundred devices.
    if same is not None or not re.search(r"\d", " ".join(asked)):
        return same
    return next((sheet for sheet in device_sheets() if _words(sheet.name) >= asked), None)


def sheet_of(machine: MachineSpec) -> DeviceSheet | None:
    """What is known of a machine's device: its own figures, and the data sheet of its processor for those that it lacks.

    Returns
    -------
    DeviceSheet or None
        None for a machine without a device (`MachineSpec.processor` is a CPU, or not told), or where a figure is missing.
    """
    if machine.processor is None:
        return None
    known = device_sheet(machine.processor)
    if known is None and machine.device_memory_bytes is None:
        return None
    flop_per_s = machine.flop_per_s or (known.flop_per_s if known else None)
    bandwidth = machine.device_bandwidth_bytes_per_s or (known.bandwidth_bytes_per_s if known else None)
    if flop_per_s is None or bandwidth is None:
        return None
    if known is None:
        return DeviceSheet(machine.processor, flop_per_s, bandwidth, f"machine {machine.name}")
    return replace(known, flop_per_s=flop_per_s, bandwidth_bytes_per_s=bandwidth)


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", name.casefold())) - NO_NAMES
