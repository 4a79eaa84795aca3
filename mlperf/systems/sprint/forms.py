"""All forms of the equations beside each other, and which of them to believe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mlperf.systems.base.times import WAITS_S, RunGrid
from mlperf.systems.sprint.equations import State
from mlperf.systems.sprint.iterations import DEFAULT_FORM
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size
from mlperf.systems.sprint.solved import Solved

SIMULATION = "simulation"
UNSEEN = ("phase_locking_risk", "weights_lock_saturated")


def recommended_forms(state: State) -> tuple[str, ...]:
    """The form to believe for each configuration.

    ``simulation`` where a flag names something that neither closed forms nor the recursion see (phase locking, a saturated weights
    lock), `DEFAULT_FORM` elsewhere: the recursion, which takes seconds, is nearer to simulations in some of these settings and
    farther in others, mostly by less than 0.5 % of T_Update.

    Parameters
    ----------
    state : State
        Solution by any form, shape (n_configs,).
    """
    unseen = np.logical_or.reduce([state.flags[name] for name in UNSEEN])
    return tuple(SIMULATION if each else DEFAULT_FORM for each in unseen.ravel())


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
