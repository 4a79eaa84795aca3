"""SPRINT as one system among others: the same equations, nothing left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.systems.base.system import Setting, Solution, SystemComponent, checked_run, checked_times
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.components import COMPONENTS
from mlperf.systems.sprint.equations import solve_iterations, solve_periods
from mlperf.systems.sprint.iterations import DEFAULT_FORM, EXACT, GRID_FORM, ROUGH
from mlperf.systems.sprint.outputs import epoch_time, gpu_breakdown, mean_minibatch_size, update_breakdown
from mlperf.systems.sprint.staleness import mean_staleness

STALENESS = "mean_staleness"
OUTPUTS = ("epoch_s", "mean_minibatch_size", "gpu_iteration_s", "update_iteration_s", STALENESS)
SPREADS = {"gpu_work": "gpu_work_std_s"} | {
    name: f"{name}_std_s" for name in ("fetch_weights", "update_gradient", "sum_gradient", "update_weights", "update_work")
}
EXTRA = (
    SystemComponent("gpu_work", "gpu", "coupling", "the GPU thread's work outside locks; only its spread is given"),
    SystemComponent("update_work", "update", "coupling", "the update thread's work outside locks; only its spread is given"),
)


@dataclass(frozen=True, slots=True)
class SprintSystem:
    """Asynchronous SGD on nodes of several GPUs (Oyama et al., Tables 3 and 4, eqs. 4 to 10).

    Attributes
    ----------
    closed : str
        Closed form of waits and barrier.
    tolerance : float
        Relative precision of both periods.
    is_screen : bool
        Whether the periods alone are asked, not what they are made of.
    """

    closed: str = DEFAULT_FORM
    tolerance: float = EXACT
    is_screen: bool = False
    name: str = "sprint"
    title: str = "SPRINT: asynchronous SGD, an all-reduce between nodes"
    settings: tuple[Setting, ...] = ()
    outputs: tuple[str, ...] = OUTPUTS

    @property
    def components(self) -> tuple[SystemComponent, ...]:
        """Tables 3 and 4 of the paper, and the two activities whose spread the equations read."""
        rows = tuple(
            SystemComponent(
                each.name,
                each.activity,
                each.kind,
                f"{each.name.replace('_', ' ')} (Table {3 if each.activity == 'gpu' else 4})",
                each.terms,
            )
            for each in COMPONENTS
        )
        return rows + EXTRA

    def screen(self, outputs: Sequence[str]) -> SprintSystem:
        """By the form that searches solve whole grids with; the staleness, a quarter of the time, is left out unless asked for."""
        kept = tuple(name for name in self.outputs if name in outputs)
        return replace(self, closed=GRID_FORM, tolerance=ROUGH, is_screen=True, outputs=kept)

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """The SPRINT equations; see `mlperf.systems.base.system.System.solve`."""
        seconds, sizes = checked_times(self, times), checked_run(self, run)
        spreads = {field: seconds[f"{name}_std"] for name, field in SPREADS.items() if f"{name}_std" in seconds}
        fields = {f"{each.name}_s": seconds[each.name] for each in COMPONENTS if each.kind != "coupling"}
        components = ComponentTimes(**fields, **({"gpu_work_std_s": np.zeros(())} | spreads))
        grid = RunGrid(*(sizes[name].astype(int) for name in ("n_nodes", "n_gpus_per_node", "subbatch_size", "dataset_size")))
        if self.is_screen and STALENESS not in self.outputs:
            at = solve_periods(components, grid, self.closed, self.tolerance)
            return Solution(_of_periods(at.gpu_s, at.update_s, grid), {})
        state = solve_iterations(components, grid, self.closed, tolerance=self.tolerance)
        outputs = _of_periods(state.gpu_iteration_s, state.update_iteration_s, grid)
        if STALENESS in self.outputs:
            outputs[STALENESS] = mean_staleness(components, state, grid)
        breakdown = {"gpu": gpu_breakdown(components, state), "update": update_breakdown(components, state, grid)}
        return Solution(outputs, breakdown, state.flags)


def _of_periods(gpu_s: FloatArray, update_s: FloatArray, run: RunGrid) -> dict[str, FloatArray]:
    """The outputs that both periods tell."""
    return {
        "epoch_s": epoch_time(gpu_s, run),
        "mean_minibatch_size": mean_minibatch_size(gpu_s, update_s, run),
        "gpu_iteration_s": gpu_s,
        "update_iteration_s": update_s,
    }


SPRINT = SprintSystem()
