"""What commands on recordings are given: a folder of ``mlperf record``, or a trace of any format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlperf.traces.whole_run.recording import Recording


def read_given(path: Path) -> Recording:
    """A recording; a trace becomes one without series, as long as its events."""
    from mlperf.traces.whole_run.read import read_recording
    from mlperf.traces.whole_run.request import DOCUMENT

    if (path / DOCUMENT).is_file() or (path.is_dir() and any(path.glob(f"rank-*/{DOCUMENT}"))):
        return read_recording(path)
    from mlperf.traces.events.counters import counter_table
    from mlperf.traces.readers.registry import read_trace
    from mlperf.traces.whole_run.recording import Recording

    events = read_trace(path, drop_unmatched=True)
    start = int(events.start_ns.min()) if len(events) else 0
    end = int(events.end_ns.max()) if len(events) else 0
    return Recording(path, {"host": {}}, events, counter_table([], origin_ns=events.origin_ns), start, end)
