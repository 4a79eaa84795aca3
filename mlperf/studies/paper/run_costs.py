"""Outputs of asynchronous runs from costs fitted on other runs, for figures 9 to 13."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.datasets.campaigns.trainer_runs import settings_table
from mlperf.datasets.dictionary.schema import SETTING
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.trainer.costs import MEASURED, TABLE_ONLY, Costs, fit_costs
from mlperf.studies.trainer.gradient_transfer import works
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import State, solve_iterations
from mlperf.systems.sprint.outputs import OUTPUTS, EpochOutputs, epoch_outputs

SIZES = ("n_nodes", "n_gpus_per_node", "subbatch_size")
KEYS = [name for name in SETTING if name != "n_params"]
SPREAD = "gpu_work_std_s"


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """The equations solved for some configurations."""

    state: State
    outputs: EpochOutputs

    def output(self, name: str) -> FloatArray:
        """One of `OUTPUTS`, shape (n_configs,)."""
        return np.asarray(getattr(self.state if name in self.state.__slots__ else self.outputs, name))


def settings_of_mode(material: FigureInputs, mode: str) -> pd.DataFrame:
    """Means over the repeats of each setting of a mode: components, outputs and, where the trainer wrote them, spreads."""
    components, runs = (material.campaign.table(name) for name in ("components", "runs"))
    own = ["run", "mode"]
    table = components[components["mode"] == mode].merge(runs[[*own, *OUTPUTS]], on=own, validate="one_to_one")
    details = material.campaign.details
    if details is not None:
        spreads = [name for name in details.columns if name.endswith("_std_s")]
        table = table.merge(details[[*own, *spreads]], on=own, how="left")
    return settings_table(table.assign(machine=mode)).rename(columns={"machine": "mode"})


def costs_of(material: FigureInputs, rows: pd.DataFrame) -> Costs:
    """Costs fitted on settings, spreads as measured where they were.

    Raises
    ------
    DataError
        No setting has two nodes.
    """
    measured = SPREAD in rows and rows[SPREAD].notna().all()
    return fit_costs(rows, material.campaign.cnns, MEASURED if measured else TABLE_ONLY)


def solve(times: ComponentTimes, configs: pd.DataFrame, dataset_size: FloatArray) -> Solved:
    """Solve the SPRINT equations (default form) for each row of ``configs``."""
    nodes, gpus, subbatch = (configs[name].to_numpy(np.int64) for name in SIZES)
    run = RunGrid(nodes, gpus, subbatch, np.maximum(np.rint(dataset_size), 1).astype(np.int64))
    state = solve_iterations(times, run)
    return Solved(state, epoch_outputs(times, state, run))


def reach_between(costs: Costs, cnn: str, subbatch_sizes: Iterable[int]) -> Costs:
    """The costs with gradient times of a network at other sub-batch sizes.

    Seconds per unit of work change slowly with the sub-batch: interpolated between the sizes that were run, held beyond.
    """
    known = sorted(size for name, size in costs.steps_s if name == cnn)
    sizes = list(subbatch_sizes)
    if not known:
        return costs
    rows = pd.DataFrame({"cnn": cnn, "subbatch_size": [*known, *sizes]})
    work = works(costs.cnns, rows)
    speed_s = np.array([costs.steps_s[(cnn, size)] for size in known]) / work[: len(known)]
    steps_s = np.interp(sizes, known, speed_s) * work[len(known) :]
    return replace(
        costs, steps_s={**{(cnn, size): float(each) for size, each in zip(sizes, steps_s, strict=True)}, **costs.steps_s}
    )
