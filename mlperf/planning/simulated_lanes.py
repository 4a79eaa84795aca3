"""The threads of a simulated run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.systems.sprint.timeline import Timeline
from mlperf.traces.timeline.lanes import COLUMNS, UPDATE, ThreadTimeline

SIMULATED = "simulated"


def simulated_threads(timeline: Timeline, n_gpus_per_node: int) -> ThreadTimeline:
    """Sort what a simulation recorded by node and thread.

    The four components of the GPU's work are one activity, ``gpu_work``; old weights and momentum are ``prepare``.

    Parameters
    ----------
    timeline : Timeline
        Of `mlperf.systems.sprint.simulate.simulate_iterations` with ``n_recorded`` > 0.
    n_gpus_per_node : int
        GPUs are numbered node by node.
    """
    on_gpu = np.asarray(timeline.on_gpu, bool)
    intervals = pd.DataFrame(
        {
            "node": np.where(on_gpu, timeline.index // n_gpus_per_node, timeline.index),
            "thread": np.where(on_gpu, timeline.index % n_gpus_per_node, UPDATE),
            "activity": list(timeline.activity),
            "begin_s": timeline.begin_s,
            "end_s": timeline.end_s,
        }
    ).sort_values(["node", "thread", "begin_s"], kind="stable", ignore_index=True)
    # Both threads begin an iteration behind the activity that ended the last one.
    ended = intervals["activity"].isin(("update_gradient", "update_weights")).astype(int)
    turn = (ended.groupby([intervals["node"], intervals["thread"]]).cumsum() - ended).to_numpy(int)
    of_update = (intervals["thread"] == UPDATE).to_numpy(bool)
    marked = intervals.assign(iteration=turn, version=-1, update=np.where(of_update, turn, -1))
    return ThreadTimeline(SIMULATED, SIMULATED, marked[list(COLUMNS)])
