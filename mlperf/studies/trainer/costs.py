"""Component costs from the runs of one or a few networks, for configurations and networks that were not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.features.network.components import component_columns
from mlperf.specs.network.cnn import CnnSpec
from mlperf.studies.trainer.gradient_transfer import seconds_per_work, works
from mlperf.studies.trainer.known import OWN_UPDATE_WORK, WORK, run_grid, variations
from mlperf.studies.trainer.laws import Curve, Law, curve, proportional, straight_line
from mlperf.systems.base.times import SPREADS, ComponentTimes
from mlperf.systems.sprint.components import FITTED
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.training.components.jitter import variation_of_iterations

Fit = Callable[[FloatArray, FloatArray], Law | Curve]

# Size on which each component depends, and the law it follows (see `mlperf.studies.trainer.laws`).
LAWS: Mapping[str, tuple[str, Fit]] = {
    "fetch_weights": ("n_params", curve),
    "load_image": ("image_elements", straight_line),
    "deform_image": ("image_elements", straight_line),
    "compute_update_value": ("n_params", curve),
    "update_gradient": ("n_params", curve),
    "sum_gradient": ("n_params", curve),
    "update_old_weights": ("params_share", curve),
    "add_momentum": ("params_share", curve),
    "allreduce": ("exchanged", proportional),
    "update_momentum": ("params_share", curve),
    "update_weights": ("n_params", curve),
}

REFERENCE = "update_old_weights"
"""A copy of a node's share: the number of nodes shows it at several lengths even where one network was run."""

N_ROUNDS = 2
HOLDS = tuple(name for name in SPREADS if name != "update_work")

MEASURED, TABLE_ONLY = "measured", "table"
"""Where spreads come from: measured beside the components (details.csv), or told from probabilities in components.csv alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Fitted costs.

    Attributes
    ----------
    laws : mapping of str to Law or Curve
        By component, over the size that `LAWS` names.
    speed_s : float
        Seconds of gradient per unit of work (see `gradient_transfer`).
    steps_s : mapping
        Gradient time of a (network, sub-batch) that was measured, seconds: taken as measured.
    barrier_s_per_buffer : float
        The paper's alpha' over N_Param: seconds a parameter for each buffer more.
    variation : mapping of str to float
        Coefficients of variation by name of the spread.
    cnns : mapping
        Specifications.
    """

    laws: Mapping[str, Law | Curve]
    speed_s: float
    steps_s: Mapping[tuple[str, int], float]
    barrier_s_per_buffer: float
    variation: Mapping[str, float]
    cnns: Mapping[str, CnnSpec]

    def gradient_s(self, configs: pd.DataFrame) -> FloatArray:
        """Gradient time of each configuration, seconds."""
        pairs = zip(configs["cnn"].astype(str), configs["subbatch_size"].astype(int), strict=True)
        work_s = self.speed_s * works(self.cnns, configs)
        return np.array([self.steps_s.get(pair, other) for pair, other in zip(pairs, work_s, strict=True)])

    def times(self, configs: pd.DataFrame) -> ComponentTimes:
        """Component times of configurations (``cnn, n_nodes, n_gpus_per_node, subbatch_size``), arrays of shape (n_configs,)."""
        inputs = sizes(configs, self.cnns)
        seconds = {f"{name}_s": law(inputs[LAWS[name][0]].to_numpy(float)) for name, law in self.laws.items()}
        seconds["compute_gradient_s"] = self.gradient_s(configs)
        return spread_times(seconds, self.variation, self.barrier_s_per_buffer * inputs["n_params"].to_numpy(float))


def fit_costs(rows: pd.DataFrame, cnns: Mapping[str, CnnSpec], spreads: str = MEASURED) -> Costs:
    """Fit costs on settings.

    Parameters
    ----------
    rows : DataFrame
        Training settings, means over repeats, from `mlperf.datasets.campaigns.trainer_runs.settings_table`; at least
        one with two nodes.
    cnns : mapping
        Specifications of these networks and of those to predict.
    spreads : {"measured", "table"}
        ``table``: only columns of components.csv are read.

    Raises
    ------
    DataError
        No row has two nodes: the cost of an exchange cannot be told.
    """
    if not (rows["n_nodes"] > 1).any():
        raise DataError("got rows on one node only, expected some on two: the all-reduce has a cost between nodes only")
    inputs, varied = sizes(rows, cnns), variation(rows, spreads)
    laws: dict[str, Law | Curve] = {
        name: fit(inputs[size].to_numpy(float), rows[f"{name}_s"].to_numpy(float)) for name, (size, fit) in single_node_laws()
    }
    laws |= shaped(laws)
    together = (rows["n_nodes"] > 1).to_numpy()
    barrier_s = barrier_waits(rows, varied)[together]
    exchanged, whole_s = inputs.loc[together, "exchanged"].to_numpy(float), rows.loc[together, "allreduce_s"].to_numpy(float)
    laws["allreduce"] = proportional(exchanged, whole_s - barrier_s)
    steps = rows.groupby(["cnn", "subbatch_size"])["compute_gradient_s"].mean().reset_index()
    return Costs(
        laws={name: laws[name] for name in LAWS},
        speed_s=seconds_per_work(rows["compute_gradient_s"].to_numpy(float), works(cnns, rows)),
        steps_s={(str(name), int(size)): float(value) for name, size, value in steps.itertuples(index=False)},
        barrier_s_per_buffer=paper_barrier(rows[together], inputs[together], laws["allreduce"], cnns),
        variation=varied,
        cnns=cnns,
    )


def shaped(laws: Mapping[str, Law | Curve]) -> dict[str, Curve]:
    """Operations on whole vectors in the shape of a copy: few lengths of them were measured, of its shares several."""
    curves = {name: law for name, law in laws.items() if isinstance(law, Curve)}
    reference = curves[REFERENCE]
    whole = {name: law for name, law in curves.items() if LAWS[name][0] == "n_params"}
    return {name: reference.scaled(float(np.mean(law.times_s / reference(law.sizes)))) for name, law in whole.items()}


def single_node_laws() -> list[tuple[str, tuple[str, Fit]]]:
    """The components that one node has as well."""
    return [(name, law) for name, law in LAWS.items() if name != "allreduce"]


def sizes(configs: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
    """Sizes that the laws read, one row a configuration."""
    columns = component_columns(configs, cnns)
    n_nodes = configs["n_nodes"].to_numpy(float)
    # Recursive halving and doubling sends 2 (M - 1) / M of the vector; at one node nothing.
    exchanged = columns["n_params"] * (n_nodes - 1.0) / n_nodes
    return columns[["n_params", "params_share", "image_elements"]].assign(exchanged=exchanged)


def variation(rows: pd.DataFrame, spreads: str) -> dict[str, float]:
    """Coefficients of variation: as measured, or one of T_GPU from the probabilities."""
    return variations(rows) if spreads == MEASURED else {"gpu_work": variation_of_iterations(rows)}


def barrier_waits(rows: pd.DataFrame, varied: Mapping[str, float]) -> FloatArray:
    """Part of the measured all-reduce that the equations call waiting for the slowest node, seconds, shape (n_rows,).

    The wait depends on the periods and those on the wait: a second round has forgotten the first guess, in which the payload was
    the whole all-reduce.
    """
    seconds = {component.column: rows[component.column].to_numpy(float) for component in FITTED}
    wait_s = np.zeros(len(rows))
    for _ in range(N_ROUNDS):
        payload_s = np.maximum(seconds["allreduce_s"] - wait_s, 0.0)
        times = spread_times({**seconds, "allreduce_s": payload_s}, varied, None)
        wait_s = solve_iterations(times, run_grid(rows)).barrier_wait_s
    return wait_s


def spread_times(seconds: Mapping[str, FloatArray], varied: Mapping[str, float], per_buffer_s: FloatArray | None) -> ComponentTimes:
    """Component times with spreads of these coefficients of variation."""
    means = {**{name: seconds[f"{name}_s"] for name in HOLDS}, "gpu_work": total(seconds, WORK)}
    means["update_work"] = total(seconds, OWN_UPDATE_WORK)
    stds = {f"{name}_std_s": each * means[name] for name, each in varied.items()}
    return ComponentTimes(**{"gpu_work_std_s": 0.0 * means["gpu_work"], **seconds, **stds}, barrier_per_buffer_s=per_buffer_s)


def total(seconds: Mapping[str, FloatArray], columns: Sequence[str]) -> FloatArray:
    """Sum of several components, seconds."""
    return np.asarray(np.sum([seconds[name] for name in columns], axis=0))


def paper_barrier(rows: pd.DataFrame, inputs: pd.DataFrame, exchange: Law | Curve, cnns: Mapping[str, CnnSpec]) -> float:
    """The paper's alpha' of eq. 8 a parameter: what is left of the all-reduce over the buffers that the slowest node adds more."""
    more = component_columns(rows, cnns)["barrier_buffers"].to_numpy(float)
    size = more * inputs["n_params"].to_numpy(float)
    left_s = rows["allreduce_s"].to_numpy(float) - exchange(inputs["exchanged"].to_numpy(float))
    return max(float(size @ left_s / (size @ size)), 0.0) if size.any() else 0.0
