"""The equations alone: each setting's own measured component times put into every form; nothing is fitted here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.datasets.campaigns.trainer_runs import settings_table
from mlperf.studies.trainer.predictions import dataset_sizes
from mlperf.systems.base.times import SPREADS, WAITS_S, ComponentTimes, RunGrid
from mlperf.systems.sprint.iterations import CLOSED_FORMS
from mlperf.systems.sprint.outputs import OUTPUTS, epoch_time, mean_minibatch_size
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations
from mlperf.systems.sprint.solved import FORMS, solve_form
from mlperf.training.components.run_settings import CONFIG, PAYLOAD, measured_seconds

SIMULATION = "simulation"
SIMULATED_UPDATES = 2000
CLOSED, EVERY_FORM = tuple(CLOSED_FORMS), (*FORMS, SIMULATION)
PERIODS = OUTPUTS[:2]


def equation_errors(table: pd.DataFrame, forms: Sequence[str], seed: int = 0) -> pd.DataFrame:
    """Errors of every form on the settings of runs.

    Parameters
    ----------
    table : DataFrame
        Runs (see `mlperf.datasets.campaigns.trainer_runs.TrainerRuns`).
    forms : sequence of str
        Of `EVERY_FORM`.
    seed : int
        Of recursion and simulation.

    Returns
    -------
    DataFrame
        ``machine, form, quantity, n, mean_error, max_error``: outputs relative to what was measured, waits relative to the
        measured iteration that they are part of; fractions.

    Raises
    ------
    UsageError
        An unknown form.
    """
    unknown = [form for form in forms if form not in EVERY_FORM]
    if unknown:
        raise UsageError(f"got form {unknown[0]!r}, expected one of {', '.join(EVERY_FORM)}")
    settings = settings_table(table)
    parts = []
    for form in forms:
        found = solve(settings, form, seed)
        for name in (*OUTPUTS, *WAITS_S):
            # The update thread's own waits, the barrier among them, are part of T_Update.
            scale = name if name in OUTPUTS else PERIODS[0 if name.endswith("_gpu_s") else 1]
            error = (found[name] - settings[name]).abs() / settings[scale]
            parts.append(pd.DataFrame({"machine": settings["machine"], "form": form, "quantity": name, "error": error}))
    grouped = pd.concat(parts, ignore_index=True).groupby(["machine", "form", "quantity"], sort=False)["error"]
    return grouped.agg(n="size", mean_error="mean", max_error="max").reset_index()


def solve(settings: pd.DataFrame, form: str, seed: int = 0) -> pd.DataFrame:
    """Outputs and waits of settings by one form.

    Parameters
    ----------
    settings : DataFrame, shape (n_settings, ...)
        Measured component times and spreads (see `mlperf.datasets.campaigns.trainer_runs.settings_table`), seconds.
    form : str
        Of `EVERY_FORM`.
    seed : int
        Of recursion and simulation.

    Returns
    -------
    DataFrame, shape (n_settings, ...)
        A column for each of `OUTPUTS` and `WAITS_S`: seconds, and samples per update.
    """
    times = measured_times(settings)
    nodes, gpus, subbatch = (settings[name].to_numpy(int) for name in CONFIG[1:])
    run = RunGrid(nodes, gpus, subbatch, np.rint(dataset_sizes(settings)).astype(int))
    names = (*PERIODS, *WAITS_S)
    if form == SIMULATION:
        plan = SimulationPlan(n_updates=SIMULATED_UPDATES)
        each = [simulate_iterations(times.take([row]), run.take([row]), seed + row, plan) for row in range(len(settings))]
        found = pd.DataFrame({name: [getattr(one, name) for one in each] for name in names})
    else:
        state = solve_form(times, run, form, seed=seed, distributions=False).state
        found = pd.DataFrame({name: getattr(state, name) for name in names})
    gpu_s, update_s = (found[name].to_numpy(float) for name in PERIODS)
    return found.assign(epoch_s=epoch_time(gpu_s, run), mean_minibatch_size=mean_minibatch_size(gpu_s, update_s, run))


def measured_times(settings: pd.DataFrame) -> ComponentTimes:
    """Measured component times with the measured spreads, the all-reduce without its barrier; shape (n_settings,)."""
    stds = {f"{name}_std_s": settings[f"{name}_std_s"].to_numpy(float) for name in ("gpu_work", *SPREADS)}
    return ComponentTimes(**{**measured_seconds(settings), "allreduce_s": settings[PAYLOAD].to_numpy(float)}, **stds)
