"""By how many per cent the outputs change when one component of Tables 3 and 4 becomes one per cent slower."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.components import COMPONENTS
from mlperf.systems.sprint.equations import State
from mlperf.systems.sprint.jacobian import elasticities
from mlperf.systems.sprint.outputs import gpu_breakdown, update_breakdown

BARRIER, JITTER = "barrier_wait", "gpu_work_std"
ELASTIC_OUTPUTS = ("epoch_s", "update_iteration_s", "mean_minibatch_size")


def elasticity_table(times: ComponentTimes, state: State, run: RunGrid) -> pd.DataFrame:
    """Elasticities of every configuration by finite differences through the whole solver.

    Parameters
    ----------
    times, run
        As in :func:`mlperf.systems.sprint.equations.solve_iterations`; shape (n_configs,) together.
    state : State
        Their solution; says the closed form and how long each component takes.

    Returns
    -------
    DataFrame
        ``config`` (position), ``component``, ``activity``, ``kind``, ``time_s`` (mean seconds in one iteration of its thread) and
        ``epoch_elasticity, update_iteration_elasticity, mean_minibatch_elasticity``. The 16 components, then ``barrier_wait``
        (Table 4 counts it to ``allreduce``, whose own row is the payload) and ``gpu_work_std``, the spread of the GPU thread's
        work. Over the twelve measured components and every spread they sum to 1 (times) and 0 (mini-batch).
    """
    names = (*(component.name for component in COMPONENTS), BARRIER, JITTER)
    relative = elasticities(times, run, str(state.closed.flat[0]), names)
    seconds = _seconds(times, state, run)
    kinds = {component.name: (component.activity, component.kind) for component in COMPONENTS}
    kinds |= {BARRIER: ("update", "coupling"), JITTER: ("gpu", "spread")}
    n_configs = state.gpu_iteration_s.size
    table = {
        "config": np.tile(np.arange(n_configs), len(names)),
        "component": np.repeat(names, n_configs),
        "activity": np.repeat([kinds[name][0] for name in names], n_configs),
        "kind": np.repeat([kinds[name][1] for name in names], n_configs),
        "time_s": np.concatenate([seconds[name].ravel() for name in names]),
    }
    for output in ELASTIC_OUTPUTS:
        column = f"{output.removesuffix('_s').removesuffix('_size')}_elasticity"
        table[column] = np.concatenate([getattr(relative[name], output).ravel() for name in names])
    return pd.DataFrame(table).sort_values("config", kind="stable", ignore_index=True)


def _seconds(times: ComponentTimes, state: State, run: RunGrid) -> dict[str, np.ndarray]:
    parts = gpu_breakdown(times, state) | update_breakdown(times, state, run)
    shape = state.gpu_iteration_s.shape
    payload_s = np.array(np.broadcast_to(times.allreduce_s, shape))
    return parts | {"allreduce": payload_s, BARRIER: state.barrier_wait_s, JITTER: state.gpu_std_s}
