"""Outputs and waits of configurations by every form of the equations, and by the simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.systems.base.times import WAITS_S, ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size
from mlperf.systems.sprint.recursion import RecursionPlan, refine_by_recursion
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations
from mlperf.systems.sprint.staleness import mean_staleness

PERIODS = ("gpu_iteration_s", "update_iteration_s")
RECURSION = RecursionPlan(n_replicas=8, n_warmup=60, n_windows=240)
SIMULATED_UPDATES = 2000


def closed_form(name: str) -> Callable[[ComponentTimes, RunGrid, int], pd.DataFrame]:
    """Solver of one of the closed forms; all configurations at once."""

    def solve(times: ComponentTimes, run: RunGrid, _seed: int) -> pd.DataFrame:
        state = solve_iterations(times, run, name)
        columns = {each: getattr(state, each) for each in (*PERIODS, *WAITS_S)}
        return pd.DataFrame({**columns, "staleness": mean_staleness(times, state, run)})

    return solve


def by_recursion(times: ComponentTimes, run: RunGrid, seed: int) -> pd.DataFrame:
    """The reduced recursion, configuration by configuration."""
    rows = []
    for number in range(run.shape[0]):
        found = refine_by_recursion(times.take([number]), run.take([number]), seed + number, RECURSION)
        waits = {each: getattr(found.state, each).item() for each in (*PERIODS, *WAITS_S)}
        rows.append({**waits, "staleness": found.staleness.mean})
    return pd.DataFrame(rows)


def by_simulation(times: ComponentTimes, run: RunGrid, seed: int) -> pd.DataFrame:
    """The discrete-event simulation, configuration by configuration."""
    plan = SimulationPlan(n_updates=SIMULATED_UPDATES)
    rows = []
    for number in range(run.shape[0]):
        found = simulate_iterations(times.take([number]), run.take([number]), seed + number, plan)
        rows.append({each: getattr(found, each) for each in (*PERIODS, *WAITS_S)} | {"staleness": found.mean_staleness})
    return pd.DataFrame(rows)


FORMS: Mapping[str, Callable[[ComponentTimes, RunGrid, int], pd.DataFrame]] = {
    "paper": closed_form("paper"),
    "second_moment": closed_form("second_moment"),
    "convolution": closed_form("convolution"),
    "phases": closed_form("phases"),
    "recursion": by_recursion,
    "simulation": by_simulation,
}
PREDICTING = "phases"
"""The form that the gates are asked of: the most exact of the closed ones."""

REFINED = "simulation"
"""What decides between configurations that the closed form finds equal."""


def predicted(times: ComponentTimes, run: RunGrid, forms: Sequence[str], seed: int = 0) -> pd.DataFrame:
    """Outputs by form.

    Parameters
    ----------
    times : ComponentTimes
        Fields of shape (n_configs,).
    run : RunGrid
        Shape (n_configs,).
    forms : sequence of str
        Keys of `FORMS`.
    seed : int
        Of recursion and simulation.

    Returns
    -------
    DataFrame
        ``form, number`` (of the configuration), the periods, ``epoch_s``, ``mean_minibatch_size``, ``staleness``, the waits (s).

    Raises
    ------
    UsageError
        An unknown form.
    """
    unknown = [name for name in forms if name not in FORMS]
    if unknown:
        raise UsageError(f"got form {unknown[0]!r}, expected one of {', '.join(FORMS)}")
    parts = []
    for name in forms:
        frame = FORMS[name](times, run, seed)
        gpu_s, update_s = (frame[each].to_numpy(float) for each in PERIODS)
        outputs = {"epoch_s": epoch_time(gpu_s, run), "mean_minibatch_size": mean_minibatch_size(gpu_s, update_s, run)}
        parts.append(frame.assign(form=name, number=np.arange(len(frame)), **outputs))
    return pd.concat(parts, ignore_index=True)
