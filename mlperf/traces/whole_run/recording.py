"""A recorded run: everything on one clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlperf.traces.events.counters import CounterTable
from mlperf.traces.events.table import EventTable


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recording:
    """What `mlperf record` left in a folder, read back and merged.

    Attributes
    ----------
    folder : Path
    about : mapping
        ``recording.json``: command, exit code, times, host, sources with status, reason, cost.
    events : EventTable
        All events of all sources and ranks by time, on one clock; ``attributes["threads"]`` names threads by ``"pid/tid"``,
        ``attributes["processes"]`` commands by pid, ``attributes["clock_uncertainty_ns"]`` what is known of the clocks.
    counters : CounterTable
        All series on the same clock and origin.
    start_ns, end_ns : int
        When the command began and ended, on that clock, nanoseconds since the origin.
    interrupted_ns : int, optional
        When Ctrl-C ended it, the first of several; None where nobody did, or nobody knows.
    """

    folder: Path
    about: Mapping[str, Any]
    events: EventTable
    counters: CounterTable
    start_ns: int
    end_ns: int
    interrupted_ns: int | None = None
