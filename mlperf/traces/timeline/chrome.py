"""A timeline in the trace event format that chrome://tracing and Perfetto read."""

from __future__ import annotations

import json
from typing import Any

from mlperf.systems.sprint.components import LOCK_WAITS
from mlperf.traces.timeline.lanes import UPDATE, ThreadTimeline, thread_name
from mlperf.traces.writers.chrome import metadata

NS_PER_S = 1e9
NS_PER_US = 1e3


def chrome_trace(timeline: ThreadTimeline) -> dict[str, Any]:
    """One complete event (``ph`` X) an interval, nodes as processes and threads as threads.

    Times are microseconds with three decimals; events of a thread do not overlap. The update thread has ``tid`` 0, GPU g has g + 1.

    Returns
    -------
    dict
        JSON types: ``traceEvents`` with the names of processes and threads first, ``displayTimeUnit``, ``otherData``.

    References
    ----------
    Trace Event Format (Google), complete and metadata events.
    """
    return {
        "traceEvents": [*names(timeline), *events(timeline)],
        "displayTimeUnit": "ms",
        "otherData": {"origin": timeline.origin, "mode": timeline.mode},
    }


def chrome_text(timeline: ThreadTimeline) -> str:
    """The trace as a file's content, one event a line."""
    trace = chrome_trace(timeline)
    lines = ",\n".join(json.dumps(event) for event in trace.pop("traceEvents"))
    rest = json.dumps(trace)[1:]
    return f'{{"traceEvents": [\n{lines}\n], {rest}\n'


def names(timeline: ThreadTimeline) -> list[dict[str, Any]]:
    """Metadata events: what each process and thread is called, and their order."""
    found = []
    for node in sorted({node for node, _ in timeline.lanes}):
        found += [metadata("process_name", node, 0, name=f"node {node}"), metadata("process_sort_index", node, 0, sort_index=node)]
    for place, (node, thread) in enumerate(timeline.lanes):
        found += [
            metadata("thread_name", node, tid(thread), name=thread_name(thread)),
            metadata("thread_sort_index", node, tid(thread), sort_index=place),
        ]
    return found


def tid(thread: int) -> int:
    """The trace's number of a thread."""
    return 0 if thread == UPDATE else thread + 1


def events(timeline: ThreadTimeline) -> list[dict[str, Any]]:
    """Complete events; whole nanoseconds, so that rounding makes no two of a thread overlap."""
    table = timeline.intervals
    begin_ns = (table["begin_s"] * NS_PER_S).round().astype("int64")
    end_ns = (table["end_s"] * NS_PER_S).round().astype("int64")
    columns = (table[name] for name in ("node", "thread", "activity", "iteration", "version", "update"))
    return [
        {
            "name": activity,
            "cat": category(activity),
            "ph": "X",
            "ts": begin / NS_PER_US,
            "dur": (end - begin) / NS_PER_US,
            "pid": int(node),
            "tid": tid(int(thread)),
            "args": {
                key: int(value) for key, value in (("iteration", turn), ("version", version), ("update", update)) if value >= 0
            },
        }
        for node, thread, activity, turn, version, update, begin, end in zip(*columns, begin_ns, end_ns, strict=True)
    ]


def category(activity: str) -> str:
    """What kind of time it is, for filters and colours."""
    if activity in LOCK_WAITS:
        return "lock wait"
    return "barrier" if activity == "barrier" else "work"
