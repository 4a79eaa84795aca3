"""A discrete-event simulation beside the equations: every output with its standard error, and where the two differ."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.core.progress import tracked
from mlperf.systems.base.times import WAITS_S, ComponentTimes, RunGrid
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size
from mlperf.systems.sprint.simulate import N_BATCHES, Simulation, SimulationPlan, simulate_iterations
from mlperf.systems.sprint.simulated_runs import SimulatedRuns
from mlperf.systems.sprint.solved import Solved, refuse_scaled_waits

N_ITERATIONS = 5000
LEAST_ITERATIONS = 100
LEAST_UPDATES = 20 * N_BATCHES
WARMUP_SHARE, LEAST_WARMUP = 0.1, 100
N_SIGMA = 3.0
SMALLEST_DIFFERENCE = 0.01
PERIODS = ("gpu_iteration", "update_iteration")
COUNTED = ("ready_probability", "fetch_probability", *WAITS_S)


def simulate_beside(
    times: ComponentTimes, run: RunGrid, solved: Solved, *, n_iterations: int = N_ITERATIONS, seed: int = 0
) -> SimulatedRuns:
    """Simulate every configuration and set it beside its solution.

    Parameters
    ----------
    times, run
        Shape (n_configs,) together.
    solved : Solved
        Their solution; its ratio of iterations says how many updates ``n_iterations`` GPU iterations are.
    n_iterations : int
        GPU iterations of each GPU, at least 100; at least 400 updates are counted, after a tenth as many to warm up.
    seed : int
        Same seed, same result.

    Raises
    ------
    UsageError
        Too few iterations, or a factor on a lock wait.
    """
    refuse_scaled_waits(times, "simulation")
    if n_iterations < LEAST_ITERATIONS:
        hint = "In a shorter run, gradients in flight at its ends would be more than 1 %."
        raise UsageError(f"got {n_iterations} iterations to simulate, expected at least {LEAST_ITERATIONS}", hint=hint)
    ratio = solved.state.ratio.ravel()
    found = [
        simulate_iterations(times.take([row]), run.take([row]), seed, plan_for(n_iterations, float(ratio[row])))
        for row in tracked(range(ratio.size), "configurations simulated")
    ]
    tables = [_beside(solved, run, row, simulation) for row, simulation in enumerate(found)]
    return SimulatedRuns(
        form=solved.form,
        n_iterations=n_iterations,
        table=pd.concat(tables, ignore_index=True),
        n_updates=tuple(item.n_updates for item in found),
        minibatch=tuple(item.minibatch for item in found),
        staleness=tuple(item.staleness for item in found),
    )


def plan_for(n_iterations: int, ratio: float) -> SimulationPlan:
    """Updates that go with so many GPU iterations when T_Update / T_GPU is ``ratio``."""
    n_updates = max(LEAST_UPDATES, round(n_iterations / ratio))
    return SimulationPlan(n_updates=n_updates, warmup=max(LEAST_WARMUP, round(WARMUP_SHARE * n_updates)))


def _beside(solved: Solved, run: RunGrid, row: int, simulation: Simulation) -> pd.DataFrame:
    rows = _equation_values(solved, run, row)
    simulated, std_err = _simulated_values(simulation, run.take([row]))
    table = pd.DataFrame({"config": row, "quantity": list(rows), "equations": list(rows.values())})
    table["simulated"] = [simulated[name] for name in rows]
    table["std_err"] = [std_err.get(name, np.nan) for name in rows]
    difference = table["equations"] - table["simulated"]
    relative = difference / table["simulated"].where(table["simulated"] != 0.0)
    table["difference_error"] = relative
    table["differs"] = (difference.abs() > N_SIGMA * table["std_err"]) & (relative.abs() > SMALLEST_DIFFERENCE)
    return table


def _equation_values(solved: Solved, run: RunGrid, row: int) -> dict[str, float]:
    state = solved.state
    values: dict[str, FloatArray] = {
        "gpu_iteration_s": state.gpu_iteration_s,
        "update_iteration_s": state.update_iteration_s,
        "epoch_s": epoch_time(state.gpu_iteration_s, run),
        "mean_minibatch_size": mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run),
        "minibatch_std": solved.minibatch_std,
        "mean_staleness": solved.mean_staleness,
    }
    if solved.staleness is not None:
        values["staleness_std"] = np.array([item.std for item in solved.staleness])
    values |= {name: getattr(state, name) for name in COUNTED}
    return {name: float(np.ravel(value)[row]) for name, value in values.items()}


def _simulated_values(simulation: Simulation, run: RunGrid) -> tuple[dict[str, float], dict[str, float]]:
    """Values and, for some, standard errors by the names of `_equation_values`."""
    epochs = float(np.ravel(epoch_time(np.ones(1), run))[0])
    values = {f"{name}_s": getattr(simulation, f"{name}_s") for name in PERIODS}
    errors = {f"{name}_s": getattr(simulation, f"{name}_std_err_s") for name in PERIODS}
    values |= {
        "epoch_s": epochs * simulation.gpu_iteration_s,
        "mean_minibatch_size": simulation.mean_minibatch_size,
        "minibatch_std": simulation.minibatch.std,
        "mean_staleness": simulation.mean_staleness,
        "staleness_std": simulation.staleness.std,
    }
    errors |= {
        "epoch_s": epochs * simulation.gpu_iteration_std_err_s,
        "mean_minibatch_size": simulation.mean_minibatch_std_err,
        "mean_staleness": simulation.mean_staleness_std_err,
    }
    return values | {name: getattr(simulation, name) for name in COUNTED}, errors
