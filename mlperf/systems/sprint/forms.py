"""All forms of the equations beside each other, and which of them to believe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.systems.base.times import WAITS_S, ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import State
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size
from mlperf.systems.sprint.solved import Solved

HEAVY_SHARE = 0.05
CONVOLUTION, RECURSION, SIMULATION = "convolution", "recursion", "simulation"
UNSEEN = ("phase_locking_risk", "weights_lock_saturated")


def recommended_forms(times: ComponentTimes, state: State, run: RunGrid) -> tuple[str, ...]:
    """The form to believe for each configuration.

    ``simulation`` where a flag names something that neither closed forms nor the recursion see (phase locking, a saturated weights
    lock); ``recursion`` where locks are heavy (summing all buffers, or one deposit, takes more than 5 % of T_GPU);
    ``convolution`` elsewhere.

    Parameters
    ----------
    times, run
        Shape (n_configs,) together.
    state : State
        Their solution by any form.
    """
    unseen = np.logical_or.reduce([state.flags[name] for name in UNSEEN])
    names = np.where(unseen, SIMULATION, np.where(heavy_locks(times, state, run), RECURSION, CONVOLUTION))
    return tuple(str(name) for name in names.ravel())


def heavy_locks(times: ComponentTimes, state: State, run: RunGrid) -> BoolArray:
    """Whether summing all buffers of a node, or one deposit, takes more than 5 % of T_GPU."""
    longest_s = np.maximum(run.n_gpus_per_node * times.sum_gradient_s, times.update_gradient_s)
    return np.asarray(longest_s / state.gpu_iteration_s > HEAVY_SHARE)


def form_table(solved: Sequence[Solved], run: RunGrid, recommended: Sequence[str]) -> pd.DataFrame:
    """One row a configuration and form.

    Returns
    -------
    DataFrame
        ``config`` (position), ``form``, ``recommended`` (the rule of `recommended_forms` names this form), the two iterations,
        ``epoch_s, mean_minibatch_size, minibatch_std, mean_staleness``, and the five waits in seconds.
    """
    return pd.concat([_of_form(item, run, recommended) for item in solved]).sort_values("config", kind="stable", ignore_index=True)


def _of_form(item: Solved, run: RunGrid, recommended: Sequence[str]) -> pd.DataFrame:
    state = item.state
    return pd.DataFrame(
        {
            "config": np.arange(len(recommended)),
            "form": item.form,
            "recommended": [name == item.form for name in recommended],
            "gpu_iteration_s": state.gpu_iteration_s,
            "update_iteration_s": state.update_iteration_s,
            "epoch_s": epoch_time(state.gpu_iteration_s, run),
            "mean_minibatch_size": mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run),
            "minibatch_std": item.minibatch_std,
            "mean_staleness": item.mean_staleness,
            **{name: getattr(state, name) for name in WAITS_S},
        }
    )
