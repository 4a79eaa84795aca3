"""By how many per cent the outputs change when one component of Tables 3 and 4 becomes one per cent slower."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.components import COMPONENTS
from mlperf.systems.sprint.equations import State, solve_iterations
from mlperf.systems.sprint.iterations import DEFAULT_FORM
from mlperf.systems.sprint.outputs import epoch_time, gpu_breakdown, mean_minibatch_size, update_breakdown

RELATIVE_STEP = 1e-4
BARRIER, JITTER = "barrier_wait", "gpu_work_std"
ELASTIC_OUTPUTS = ("epoch_s", "update_iteration_s", "mean_minibatch_size")


@dataclass(frozen=True, slots=True, eq=False)
class RunOutputs(Shown):
    """The four outputs, or their relative derivatives; all arrays of one shape.

    Seconds, seconds, seconds, samples.
    """

    gpu_iteration_s: FloatArray
    update_iteration_s: FloatArray
    epoch_s: FloatArray
    mean_minibatch_size: FloatArray

    def map(self, change: Callable[[FloatArray], FloatArray]) -> RunOutputs:
        """The same change to every output."""
        return RunOutputs(*(change(getattr(self, field.name)) for field in fields(self)))


def run_outputs(times: ComponentTimes, run: RunGrid, closed: str = DEFAULT_FORM) -> RunOutputs:
    """Solve and keep the four outputs; a leading axis of ``times`` (perturbed times) stays."""
    state = solve_iterations(times, run, closed)
    gpu_s, update_s = state.gpu_iteration_s, state.update_iteration_s
    return RunOutputs(gpu_s, update_s, epoch_time(gpu_s, run), mean_minibatch_size(gpu_s, update_s, run))


def elasticities(
    times: ComponentTimes, run: RunGrid, closed: str = DEFAULT_FORM, names: Sequence[str] | None = None
) -> Mapping[str, RunOutputs]:
    """Relative change of each output per relative change of each component, by component name; shape (n_configs,).

    Central differences through the whole solver: one vectorised solve in which every component is scaled up and down.

    Parameters
    ----------
    times, run, closed
        As in :func:`mlperf.systems.sprint.equations.solve_iterations`.
    names : sequence of str, optional
        Components, and waits of `mlperf.systems.base.times.WAITS`; every time of ``times`` by default, whose elasticities sum to 1
        (iterations, epoch) or 0 (mini-batch), for times scale with all times.
    """
    wanted = time_names(times) if names is None else tuple(names)
    shape = np.broadcast_shapes(times.shape, run.shape)
    scale = np.ones((len(wanted), 2 * len(wanted)))
    for i in range(len(wanted)):
        scale[i, 2 * i : 2 * i + 2] = 1.0 + RELATIVE_STEP, 1.0 - RELATIVE_STEP
    axes = (-1, *([1] * len(shape)))
    outputs = run_outputs(times.scaled({name: scale[i].reshape(axes) for i, name in enumerate(wanted)}), run, closed)
    return {name: outputs.map(_relative_difference(i)) for i, name in enumerate(wanted)}


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


def time_names(times: ComponentTimes) -> tuple[str, ...]:
    """Names of the times that are given, without ``_s``."""
    given = (field.name for field in fields(times) if getattr(times, field.name) is not None)
    return tuple(name.removesuffix("_s") for name in given if name.endswith("_s"))


def _relative_difference(i: int) -> Callable[[FloatArray], FloatArray]:
    return lambda values: (values[2 * i] - values[2 * i + 1]) / (RELATIVE_STEP * (values[2 * i] + values[2 * i + 1]))
