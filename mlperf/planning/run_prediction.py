"""What a prediction is: epoch time and mean mini-batch size of configurations, with intervals and domain flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.intervals import Interval
from mlperf.systems.base.distributions import Distribution
from mlperf.systems.base.times import RunGrid
from mlperf.systems.sprint.components import BY_NAME
from mlperf.systems.sprint.outputs import OUTPUTS
from mlperf.systems.sprint.simulated_runs import SimulatedRuns
from mlperf.training.measured_on import MeasuredOn


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Prediction(Shown):
    """Epoch time and its parts; every array has shape (n_configs,).

    Attributes
    ----------
    cnn : tuple of str
        Network of each configuration.
    run : RunGrid
        Nodes, GPUs per node, sub-batch and data set size of each.
    closed : str
        Closed form of the coupling.
    epoch_s, gpu_iteration_s, update_iteration_s : array
        T_Epoch, T_GPU, T_Update, seconds.
    mean_minibatch_size : array
        Samples per update.
    explained : mapping of str to array
        The same four outputs (`OUTPUTS`) with kernel times from the explainable linear model in place of ``method``; NaN where that
        model, far outside of what was measured, says less than no time.
    minibatch_std : array
        Standard deviation of the mini-batch size, samples.
    mean_staleness : array
        Updates.
    gpu_breakdown_s, update_breakdown_s : mapping of str to array
        Mean seconds of each component in one iteration of either thread; they sum to T_GPU and T_Update.
    confidence_interval, prediction_interval : mapping of str to Interval
        By output name (`OUTPUTS`): of the mean, and of one run.
    in_domain : mapping of str to array of bool
        By output name and by component.
    source : mapping of str to str
        By component: ``model`` (fitted to measurements), ``model of another machine``, ``assumed``, ``not needed``, or
        ``calibrated`` (assumed, then measured on the machine asked about: `mlperf.planning.calibration.sources`).
    machine : str
        Name of the machine asked about.
    measured_on : MeasuredOn or None
        Where the times come from; None where the model's file does not tell.
    other_machine : tuple of str
        How the machine asked about differs from that one; nothing is in the domain where it does.
    epochs : float
        Passes over the data set that the job asks for.
    factors : mapping of str to float
        Components and waits that were multiplied (``--what-if``), and by what.
    outside : DataFrame or None
        Of at most 32 configurations, what lies outside the domain and why (see `mlperf.planning.outside.outside_table`).
    flags : mapping of str to array of bool
        Where the equations are not to be trusted (see `mlperf.systems.sprint.equations.sprint_flags`).
    waiting_share : array or None
        Of a device: share of the gradient's time for which it waits for the host to launch its kernels.
    refine : str or None
        ``recursion`` where the closed form was refined by it.
    recommended : tuple of str
        Form to believe for each configuration: ``phases`` or ``simulation`` (see
        `mlperf.systems.sprint.solved.recommended_forms`).
    minibatch, staleness : tuple of Distribution or None
        Distributions of the mini-batch size (samples) and of the staleness (updates), one a configuration.
    elasticities : DataFrame or None
        See `mlperf.systems.sprint.elasticity.elasticity_table`.
    forms : DataFrame or None
        Every form beside the others: see `mlperf.systems.sprint.solved.form_table`.
    simulation : SimulatedRuns or None
        A discrete-event simulation beside the equations.
    observed : DataFrame or None
        Factors of components after measurements on the machine asked about (see `mlperf.planning.calibration.observed`).
    observed_notes : tuple of str
        Measurements that scatter more than the model said, and those too few to tell.
    """

    cnn: tuple[str, ...]
    run: RunGrid
    closed: str
    epoch_s: FloatArray
    gpu_iteration_s: FloatArray
    update_iteration_s: FloatArray
    mean_minibatch_size: FloatArray
    explained: Mapping[str, FloatArray]
    minibatch_std: FloatArray
    mean_staleness: FloatArray
    gpu_breakdown_s: Mapping[str, FloatArray]
    update_breakdown_s: Mapping[str, FloatArray]
    confidence_interval: Mapping[str, Interval] = field(default_factory=dict)
    prediction_interval: Mapping[str, Interval] = field(default_factory=dict)
    in_domain: Mapping[str, BoolArray]
    source: Mapping[str, str]
    machine: str = ""
    measured_on: MeasuredOn | None = None
    other_machine: tuple[str, ...] = ()
    epochs: float = 1.0
    factors: Mapping[str, float] = field(default_factory=dict)
    outside: pd.DataFrame | None = None
    flags: Mapping[str, BoolArray]
    waiting_share: FloatArray | None = None
    refine: str | None = None
    recommended: tuple[str, ...] = ()
    minibatch: tuple[Distribution, ...] | None = None
    staleness: tuple[Distribution, ...] | None = None
    elasticities: pd.DataFrame | None = None
    forms: pd.DataFrame | None = None
    simulation: SimulatedRuns | None = None
    observed: pd.DataFrame | None = None
    observed_notes: tuple[str, ...] = ()

    @property
    def total_s(self) -> FloatArray:
        """Seconds of all ``epochs``."""
        return self.epochs * self.epoch_s

    def to_frame(self) -> pd.DataFrame:
        """One row a configuration: keys, outputs, the bounds of both intervals, domain flags."""
        columns: dict[str, Any] = {
            "cnn": list(self.cnn),
            "n_nodes": self.run.n_nodes,
            "n_gpus_per_node": self.run.n_gpus_per_node,
            "subbatch_size": self.run.subbatch_size,
            "mean_staleness": self.mean_staleness,
            "minibatch_std": self.minibatch_std,
        }
        for name in OUTPUTS:
            columns[name] = getattr(self, name)
            columns[f"{name}_explained"] = self.explained[name]
            for label, intervals in (("mean", self.confidence_interval), ("run", self.prediction_interval)):
                columns[f"{name}_{label}_lower"] = intervals[name].lower
                columns[f"{name}_{label}_upper"] = intervals[name].upper
            columns[f"{name}_in_domain"] = self.in_domain[name]
        return pd.DataFrame(columns)

    def breakdown(self, index: int = 0) -> pd.DataFrame:
        """Components of one configuration: ``activity, component, seconds, share, source, in_domain``."""
        rows = []
        for activity, parts in (("gpu", self.gpu_breakdown_s), ("update", self.update_breakdown_s)):
            total = sum(float(part[index]) for part in parts.values())
            for name, part in parts.items():
                coupling = BY_NAME[name].kind == "coupling"
                rows.append(
                    {
                        "activity": activity,
                        "component": name,
                        "seconds": float(part[index]),
                        "share": float(part[index]) / total,
                        "source": "computed" if coupling else self.source[name],
                        "in_domain": True if coupling else bool(self.in_domain[name][index]),
                    }
                )
        return pd.DataFrame(rows)
