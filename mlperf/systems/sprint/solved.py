"""Every form of the equations under one signature: solved iterations with the spread of mini-batch and staleness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.core.progress import tracked
from mlperf.systems.base.distributions import Distribution
from mlperf.systems.base.times import WAITS_S, ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import State, solve_iterations
from mlperf.systems.sprint.iterations import CLOSED_FORMS, DEFAULT_FORM
from mlperf.systems.sprint.minibatch import minibatch_distribution, minibatch_std
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size
from mlperf.systems.sprint.recursion import Refinement, refine_by_recursion
from mlperf.systems.sprint.staleness import mean_staleness, staleness_distribution

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


RECURSION = "recursion"
FORMS = (*CLOSED_FORMS, RECURSION)
EMPTY_TAIL = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """Configurations solved by one form; arrays of shape (n_configs,).

    Attributes
    ----------
    form : str
        One of `FORMS`.
    state : State
        Iterations, probabilities, waits.
    minibatch_std : array
        Standard deviation of the mini-batch size, samples.
    mean_staleness : array
        Updates.
    minibatch, staleness : tuple of Distribution or None
        One a configuration; samples and updates.
    """

    form: str
    state: State
    minibatch_std: FloatArray
    mean_staleness: FloatArray
    minibatch: tuple[Distribution, ...] | None
    staleness: tuple[Distribution, ...] | None


def solve_form(
    times: ComponentTimes, run: RunGrid, form: str, *, refined: str = DEFAULT_FORM, seed: int = 0, distributions: bool = True
) -> Solved:
    """Solve every configuration by one form.

    Parameters
    ----------
    times, run
        Shape (n_configs,) together.
    form : str
        A closed form, or ``recursion``: a closed form refined update by update.
    refined : str
        The closed form that the recursion refines.
    seed : int
        Of the recursion.
    distributions : bool
        Whether to work out the distributions of a closed form; the recursion always has them.

    Raises
    ------
    UsageError
        Unknown form, or the recursion with a factor on a lock wait.
    """
    if form == RECURSION:
        return _recursion(times, run, refined, seed)
    if form not in FORMS:
        raise UsageError(f"got form {form!r}, expected one of {', '.join(FORMS)}")
    state = solve_iterations(times, run, form)
    minibatch, staleness = closed_distributions(times, state, run) if distributions else (None, None)
    return Solved(form, state, minibatch_std(times, state, run), mean_staleness(times, state, run), minibatch, staleness)


def closed_distributions(
    times: ComponentTimes, state: State, run: RunGrid
) -> tuple[tuple[Distribution, ...], tuple[Distribution, ...]]:
    """Distributions of mini-batch size and staleness of each configuration, from the closed forms; empty tails are cut."""
    parts = [(times.take([row]), state.take(np.array([row])), run.take([row])) for row in range(state.gpu_iteration_s.size)]
    sizes = tuple(without_empty_tails(minibatch_distribution(*part)) for part in parts)
    return sizes, tuple(without_empty_tails(staleness_distribution(*part)) for part in parts)


def without_empty_tails(distribution: Distribution) -> Distribution:
    """The same distribution without end values that are practically impossible (together below 1e-12 on either side)."""
    below = np.cumsum(distribution.probabilities)
    above = np.cumsum(distribution.probabilities[::-1])[::-1]
    kept = (below > EMPTY_TAIL) & (above > EMPTY_TAIL)
    return Distribution(distribution.values[kept], distribution.probabilities[kept])


def refuse_scaled_waits(times: ComponentTimes, method: str) -> None:
    """Raise UsageError where a lock wait is scaled: a recursion or simulation makes its waits itself."""
    if times.scaled_waits:
        hint = "Scale the component that holds the lock, or drop the factor."
        raise UsageError(f"got a factor on {times.scaled_waits[0]!r}, which a {method} cannot obey", hint=hint)


def stacked_states(states: Sequence[State]) -> State:
    """States of one configuration each as one state of shape (n_configs,)."""
    names = [name for name in State.__slots__ if name != "flags"]
    arrays = {name: np.concatenate([np.ravel(getattr(state, name)) for state in states]) for name in names}
    flags = {name: np.concatenate([np.ravel(state.flags[name]) for state in states]) for name in states[0].flags}
    return replace(states[0], **arrays, flags=flags)


def _recursion(times: ComponentTimes, run: RunGrid, closed: str, seed: int) -> Solved:
    refuse_scaled_waits(times, "recursion")
    n_configs = int(np.prod(np.broadcast_shapes(times.shape, run.shape)))
    found: list[Refinement] = [
        refine_by_recursion(times.take([row]), run.take([row]), seed, closed=closed)
        for row in tracked(range(n_configs), "configurations refined")
    ]
    return Solved(
        RECURSION,
        stacked_states([item.state for item in found]),
        np.array([item.minibatch.std for item in found]),
        np.array([item.staleness.mean for item in found]),
        tuple(item.minibatch for item in found),
        tuple(item.staleness for item in found),
    )
