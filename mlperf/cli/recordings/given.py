"""What commands on recordings are given: a folder of ``mlperf record``, or a trace of any format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mlperf.core.errors import DataError

if TYPE_CHECKING:
    from mlperf.traces.whole_run.recording import Recording

MOST_TOLD = 5


def read_given(path: Path) -> Recording:
    """A recording; a trace becomes one without series, as long as its events."""
    from mlperf.traces.whole_run.read import read_recording
    from mlperf.traces.whole_run.request import DOCUMENT

    if (path / DOCUMENT).is_file() or (path.is_dir() and any(path.glob(f"rank-*/{DOCUMENT}"))):
        return read_recording(path)
    from mlperf.traces.events.counters import counter_table
    from mlperf.traces.readers.recorded import PATTERN
    from mlperf.traces.readers.registry import format_of, read_trace
    from mlperf.traces.whole_run.read import HINT
    from mlperf.traces.whole_run.recording import Recording

    if path.is_dir() and format_of(path) == "recording" and not any(path.glob(PATTERN)):
        inside = sorted(each.parent.name for each in path.glob(f"*/{DOCUMENT}"))
        hint = f"Name one of the recordings in it: {', '.join(inside[:MOST_TOLD])}." if inside else HINT
        raise DataError(f"holds neither {DOCUMENT} nor a trace", place=str(path), hint=hint)
    events = read_trace(path, drop_unmatched=True)
    start = int(events.start_ns.min()) if len(events) else 0
    end = int(events.end_ns.max()) if len(events) else 0
    return Recording(path, {"host": {}}, events, counter_table([], origin_ns=events.origin_ns), start, end)
