"""Every configuration of a system solved: by cheaper equations where there are many, then by its own what may win."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.progress import tracked
from mlperf.planning.component_times import NOT_MEASURED
from mlperf.planning.inputs import ConfigurationInputs
from mlperf.planning.search.objectives import priced
from mlperf.planning.search.search_grid import (
    BIAS_LEVEL,
    EDGE_EPOCH_FACTOR,
    EDGE_SHARE,
    LEAST_BIAS,
    MOST_REFINED,
    MOST_ROUNDS,
    N_BEST,
    least_rows,
    pareto_front,
)
from mlperf.planning.systems.configurations import run_of
from mlperf.planning.systems.predict import SystemOptions, solved
from mlperf.planning.systems.times import SystemTimes
from mlperf.systems.base.system import EPOCH, MINIBATCH, Screened, System

CHUNK = 65_536
SIZES = ("n_nodes", "n_gpus_per_node", "subbatch_size")
STALENESS = "mean_staleness"
MOST_EXACT = 5_000
"""Configurations that are solved by a system's own equations at once, some seconds at most."""


@dataclass(frozen=True, slots=True)
class SearchAsked:
    """What a search of a system is asked for besides sizes and settings; see `search_system`."""

    window: tuple[float, float]
    objective: str = EPOCH
    max_staleness: float | None = None
    top: int = 10
    ignore_memory: bool = False
    settings: tuple[str, ...] = ()
    predict: SystemOptions = field(default_factory=SystemOptions)

    @property
    def read(self) -> tuple[str, ...]:
        """Outputs that tell which configurations are in the windows, and their order."""
        return (EPOCH, MINIBATCH) if self.max_staleness is None else (EPOCH, MINIBATCH, STALENESS)


@dataclass(slots=True, eq=False)
class SolvedGrid:
    """Outputs of every configuration; arrays of shape (n_configs,).

    Attributes
    ----------
    system : System
        Whose equations the exact rows are solved by.
    outputs : mapping of str to array
        By output of the system; NaN where a configuration cannot run, and where cheaper equations leave out what no window asks.
    can_run, is_exact : array of bool
        Rows that are solved, and of these the ones by the system's own equations.
    bias : float
        How much the objective grew where rows were solved again.
    """

    system: System
    inputs: ConfigurationInputs
    means: SystemTimes
    asked: SearchAsked
    can_run: BoolArray
    outputs: dict[str, FloatArray]
    is_exact: BoolArray
    bias: float = 1.0

    @property
    def n_gpus(self) -> IntArray:
        """GPUs of every configuration."""
        configs = self.inputs.configs
        return np.asarray((configs["n_nodes"] * configs["n_gpus_per_node"]).to_numpy(int))

    @property
    def cost(self) -> FloatArray:
        """What is minimised."""
        return self.prices().get(self.asked.objective, self.outputs[EPOCH])

    @property
    def expected_cost(self) -> FloatArray:
        """The same; of rows by the cheaper equations with the growth that others showed."""
        cost = self.cost
        return np.asarray(np.where(self.is_exact, cost, self.bias * cost))

    def prices(self) -> Mapping[str, FloatArray]:
        """Cost and energy of an epoch, where the machine has their figures."""
        return priced(self.outputs[EPOCH], self.inputs.configs["n_nodes"].to_numpy(int), self.inputs.machine)

    def holds(self, slack: float = 0.0) -> BoolArray:
        """Rows that can run and lie in the windows, these widened by a share on both sides."""
        size, (low, high) = self.outputs[MINIBATCH], self.asked.window
        inside = self.can_run & (size >= low / (1.0 + slack)) & (size <= high * (1.0 + slack))
        if self.asked.max_staleness is not None and STALENESS in self.outputs:
            inside &= self.outputs[STALENESS] <= self.asked.max_staleness * (1.0 + slack)
        return np.asarray(inside)

    def nearest(self) -> IntArray:
        """Rows that can run, the one whose mini-batch is nearest to the window first; those solved exactly before all others."""
        low, high = self.asked.window
        rows, tiny = np.flatnonzero(self.can_run), np.finfo(float).tiny
        size = np.maximum(self.outputs[MINIBATCH][rows], tiny)
        miss = np.log(np.maximum(max(low, tiny) / size, size / max(high, tiny)))
        return np.asarray(rows[np.lexsort((miss, ~self.is_exact[rows]))])

    def worth_solving(self) -> IntArray:
        """Rows by the cheaper equations that may be among the best or the first of their size, or cross a window's edge."""
        inside, expected = self.holds(), self.expected_cost
        if not inside.any():
            wanted = self.nearest()
            return wanted[~self.is_exact[wanted]][:N_BEST] if not self.is_exact.any() else wanted[:0]
        best = least_rows(expected, np.flatnonzero(inside), max(N_BEST, self.asked.top))
        edge = np.flatnonzero(
            self.holds(EDGE_SHARE) & ~self.holds(-EDGE_SHARE) & (expected <= EDGE_EPOCH_FACTOR * expected[best[-1]])
        )
        edge = least_rows(expected, edge, MOST_REFINED)
        front = pareto_front(expected, self.n_gpus, np.flatnonzero(inside))
        wanted = np.unique(np.concatenate((best, edge, front)))
        return np.asarray(wanted[~self.is_exact[wanted]])

    def solve(self, system: System, rows: IntArray) -> None:
        """Outputs of ``rows`` by the equations of ``system``."""
        run = run_of(self.inputs, system)
        starts = range(0, len(rows), CHUNK)
        for start in tracked(starts, "parts of the grid") if len(starts) > 1 else starts:
            part = rows[start : start + CHUNK]
            seconds = {name: value[part] if np.ndim(value) else value for name, value in self.means.seconds.items()}
            found = solved(system, seconds, {name: value[part] for name, value in run.items()}).outputs
            for name in system.outputs:
                self.outputs[name][part] = found[name]

    def solve_again(self, rows: IntArray) -> None:
        """Outputs of ``rows`` by the system's own equations, and what that adds to the objective."""
        before = self.cost[rows]
        self.solve(self.system, rows)
        self.is_exact[rows] = True
        growth = float(np.quantile(self.cost[rows] / before, BIAS_LEVEL))
        self.bias = max(self.bias, growth if growth > LEAST_BIAS else 1.0)

    def table(self) -> pd.DataFrame:
        """Sizes, settings, outputs, prices and the domain flag; no outputs where a configuration cannot run."""
        configs, source = self.inputs.configs, self.means.source
        inside = np.logical_and.reduce([part for name, part in self.means.in_domain.items() if source[name] != NOT_MEASURED])
        sizes = {name: configs[name].to_numpy() for name in (*SIZES, *self.asked.settings)}
        return pd.DataFrame({**sizes, **self.outputs, **self.prices(), "in_domain": inside})


def solved_grid(
    system: System, inputs: ConfigurationInputs, means: SystemTimes, can_run: BoolArray, asked: SearchAsked
) -> SolvedGrid:
    """Solve every configuration that can run.

    Up to 5,000 by the system's own equations; more by cheaper ones where it has some (`Screened`), and by its own the best in the
    windows, those near an edge, and the first of every number of GPUs, up to six times, as the ranking moves.
    """
    n_configs, rows = len(inputs.configs), np.flatnonzero(can_run)
    outputs = {name: np.full(n_configs, np.nan) for name in system.outputs}
    screen = system.screen(asked.read) if isinstance(system, Screened) and len(rows) > MOST_EXACT else system
    grid = SolvedGrid(system, inputs, means, asked, can_run, outputs, np.full(n_configs, screen is system))
    grid.solve(screen, rows)
    for _ in range(MOST_ROUNDS):
        wanted = grid.worth_solving()
        if not len(wanted):
            break
        grid.solve_again(wanted)
    return grid
