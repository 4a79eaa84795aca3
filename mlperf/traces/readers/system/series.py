"""Formats that hold series over time and no events."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from mlperf.core.errors import UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.traces.events.counters import CounterTable

HERE = "mlperf.traces.readers.system"
COUNTER_READERS = MappingProxyType(
    {
        "vmstat": f"{HERE}.sysstat:read_vmstat",
        "mpstat": f"{HERE}.sysstat:read_mpstat",
        "nvidia-smi": f"{HERE}.nvidia_smi:read_nvidia_smi",
    }
)
"""``"module:function"`` of ``(path) -> CounterTable`` by the tool that writes it."""


def read_counters(path: Path, tool: str) -> CounterTable:
    """Read what a tool wrote.

    Raises
    ------
    UsageError
        No such tool is known; names the nearest.
    """
    if tool not in COUNTER_READERS:
        raise UsageError(f"no tool {tool!r}. {did_you_mean(tool, COUNTER_READERS)}")
    module, _, name = COUNTER_READERS[tool].partition(":")
    function: Callable[[Path], CounterTable] = getattr(import_module(module), name)
    return function(path)
