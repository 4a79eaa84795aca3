"""What every thread of a simulated run did when: work, lock waits and barrier as intervals on one time axis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.systems.sprint import events

if TYPE_CHECKING:
    import pandas as pd

Interval = tuple[str, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline(Shown):
    """Intervals of the threads, in the order of their ends; all arrays have shape (n_intervals,).

    Parameters
    ----------
    activity : tuple of str
        ``gpu_work``, a critical component, ``prepare`` (old weights and momentum), ``allreduce``, ``update_momentum``, a lock
        wait or ``barrier``.
    on_gpu : array of bool
        Whether a GPU thread did it; else an update thread.
    index : array of int
        Which GPU (node by node) or node.
    begin_s, end_s : array
        Seconds since the start of the run.
    """

    activity: tuple[str, ...]
    on_gpu: IntArray
    index: IntArray
    begin_s: FloatArray
    end_s: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """One row per interval: activity, thread ("gpu" or "update"), index, begin_s, end_s."""
        import pandas as pd

        threads = np.where(self.on_gpu, "gpu", "update")
        return pd.DataFrame(
            {"activity": self.activity, "thread": threads, "index": self.index, "begin_s": self.begin_s, "end_s": self.end_s}
        )


@dataclass(frozen=True, slots=True, eq=False)
class EventLog:
    """The log of a run (time, thread, event, when what it ends began) and the seconds of every all-reduce."""

    log: FloatArray
    n_gpus: int
    combine_s: FloatArray


# event: (activity that ended, wait before it)
ENDED = {
    events.FETCHED: ("fetch_weights", "lock_weights_gpu"),
    events.DEPOSITED: ("update_gradient", "lock_gradient_gpu"),
    events.SUMMED: ("sum_gradient", "lock_gradient_update"),
    events.ARRIVED: ("prepare", "lock_gradient_update"),
    events.PUBLISHED: ("update_weights", "lock_weights_update"),
}


def timeline(recorded: EventLog) -> Timeline:
    """Intervals of the logged events; waits shorter than a picosecond are rounding and left out."""
    rows = [(name, thread, begin_s, end_s) for thread, (name, begin_s, end_s) in _intervals(recorded) if end_s - begin_s > 1e-12]
    rows.sort(key=lambda row: row[3])
    thread = np.array([row[1] for row in rows], dtype=np.int64)
    on_gpu = thread < recorded.n_gpus
    return Timeline(
        activity=tuple(row[0] for row in rows),
        on_gpu=on_gpu.astype(np.int64),
        index=np.where(on_gpu, thread, thread - recorded.n_gpus),
        begin_s=np.array([row[2] for row in rows], dtype=np.float64),
        end_s=np.array([row[3] for row in rows], dtype=np.float64),
    )


def _intervals(recorded: EventLog) -> Iterator[tuple[int, Interval]]:
    last_s: dict[int, float] = {}
    n_done: dict[int, int] = {}
    for now, thread_number, kind_number, began_s in recorded.log.tolist():
        thread, kind = int(thread_number), int(kind_number)
        since_s = last_s.get(thread, 0.0)
        for interval in _parts(recorded, thread, kind, (since_s, began_s, now), n_done):
            yield thread, interval
        last_s[thread] = now


def _parts(recorded: EventLog, thread: int, kind: int, times: tuple[float, float, float], n_done: dict[int, int]) -> list[Interval]:
    """Split the time since a thread's last event (since, began, now) into waits and activities."""
    since_s, began_s, now = times
    if kind in ENDED:
        name, wait = ENDED[kind]
        return [(wait, since_s, began_s), (name, began_s, now)]
    if kind == events.UPDATE_START:
        return []
    turn = n_done.get(thread, 0)
    n_done[thread] = turn + 1
    if kind == events.WANT_WEIGHTS:
        begin_s = began_s - float(recorded.combine_s[turn])
        return [("barrier", since_s, begin_s), ("allreduce", begin_s, began_s), ("update_momentum", began_s, now)]
    begin_s = began_s if turn else 0.0
    return [("lock_weights_gpu", since_s, begin_s), ("gpu_work", begin_s, now)]
