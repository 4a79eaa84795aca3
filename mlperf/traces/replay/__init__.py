"""Runs again under other costs and other durations: every event's time is the longest path to it."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "Replay": "mlperf.traces.replay.run",
        "replay": "mlperf.traces.replay.run",
        "replay_of": "mlperf.traces.replay.run",
        "Timing": "mlperf.traces.replay.timing",
        "Network": "mlperf.traces.replay.timing",
        "Times": "mlperf.traces.replay.times",
        "Splits": "mlperf.traces.replay.splits",
        "Waits": "mlperf.traces.replay.waits",
        "waits_of": "mlperf.traces.replay.waits",
        "as_table": "mlperf.traces.replay.table",
        "Change": "mlperf.traces.replay.batch",
        "changed_edges": "mlperf.traces.replay.batch",
        "replay_batch": "mlperf.traces.replay.batch",
    },
)
