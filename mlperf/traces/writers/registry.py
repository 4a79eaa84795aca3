"""Every format that traces are written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.core.lazy import imported
from mlperf.core.shown import Shown
from mlperf.core.suggest import nearest_hint
from mlperf.traces.events.table import EventTable

WRITERS: Mapping[str, tuple[str, str]] = {
    #         suffix    "module:function" of (table, path)
    "store": (".npz", "mlperf.traces.writers.store:write_store"),
    "alog": (".alog", "mlperf.traces.writers.alog:write_alog"),
    "goal": (".goal", "mlperf.traces.writers.goal:write_goal"),
    "ti": (".ti", "mlperf.traces.writers.ti:write_ti"),
    "csv": (".csv", "mlperf.traces.writers.csv_table:write_csv"),
    "chrome": (".json", "mlperf.traces.writers.chrome:write_chrome"),
    "perfetto": (".zip", "mlperf.traces.writers.perfetto:write_perfetto"),
}


@dataclass(frozen=True, slots=True)
class WrittenTrace(Shown):
    """What was written where.

    Attributes
    ----------
    path : str
    file_format : str
    n_events, n_ranks : int
    size_bytes : int
        Of the file.
    """

    path: str
    file_format: str
    n_events: int
    n_ranks: int
    size_bytes: int


def export_trace(table: EventTable, path: Path | str, file_format: str | None = None) -> WrittenTrace:
    """Write a trace; without a format the end of the name tells it.

    Raises
    ------
    UsageError
        No format has that name, or no format's files end so.
    """
    path = Path(path)
    name = file_format or next((name for name, (suffix, _) in WRITERS.items() if path.name.endswith(suffix)), "")
    if name not in WRITERS:
        got = f"no format {file_format!r}" if file_format else f"no format's files are called *{path.suffix}"
        raise UsageError(f"{got}", hint=nearest_hint(name, WRITERS) or f"Formats: {', '.join(WRITERS)}.")
    suffix, home = WRITERS[name]
    if name == "store" and not path.name.endswith(suffix):
        raise UsageError(f"got {path.name!r}, expected a name that ends in {suffix}", hint="By it the file is known again.")
    imported(home)(table, path)
    return WrittenTrace(str(path), name, len(table), table.n_ranks, path.stat().st_size)
