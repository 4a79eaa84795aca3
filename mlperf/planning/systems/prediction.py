"""What a prediction of any system is: its own outputs with intervals, domain flags and the parts of its periods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.intervals import Interval
from mlperf.systems.base.system import EPOCH, MINIBATCH
from mlperf.systems.base.times import RunGrid
from mlperf.training.measured_on import MeasuredOn

SIZES = ("n_nodes", "n_gpus_per_node", "subbatch_size")
WAITING = ("idle", "wait")
"""Parts of a period in which nothing is done."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SystemPrediction(Shown):
    """Outputs of a system for configurations; every array has shape (n_configs,).

    Attributes
    ----------
    system, title : str
        Its name and what it is.
    cnn : tuple of str
        Network of each configuration.
    machine : str
        Name of the machine asked about.
    configs : DataFrame
        ``n_nodes, n_gpus_per_node, subbatch_size, dataset_size`` and the system's settings, one row a configuration.
    settings : tuple of str
        Columns of ``configs`` that were asked for; the others have their defaults.
    outputs : mapping of str to array
        By output name; names say their unit. ``epoch_s`` first.
    breakdown_s : mapping of str to mapping of str to array
        By activity and component, mean seconds; those of an activity add up to its period.
    confidence_interval, prediction_interval : mapping of str to Interval
        By output name: of the mean, and of one run.
    in_domain : mapping of str to array of bool
        By output and by component.
    source : mapping of str to str
        By component: ``model``, ``model of another machine``, ``assumed``, ``not measured, counted as 0``, ``not needed`` (the
        exchange of a single worker), ``calibrated`` (assumed, then measured on the machine asked about).
    flags : mapping of str to array of bool
        Of the system's equations.
    measured_on : MeasuredOn or None
        Where the times come from.
    other_machine : tuple of str
        How the machine asked about differs from that one.
    epochs : float
        Passes over the data set that the job asks for.
    factors : mapping of str to float
        Components and waits that were multiplied (``--what-if``), and by what.
    observed : DataFrame or None
        Factors of components after measurements on the machine asked about (see `mlperf.planning.calibration.observed_systems`).
    observed_notes : tuple of str
        Measurements that scatter more than the model said, and those too few to tell.
    outside : DataFrame or None
        Of at most 32 configurations, what lies outside the domain and why (see `mlperf.planning.systems.outside.system_outside`).
    """

    system: str
    title: str
    cnn: tuple[str, ...]
    machine: str
    configs: pd.DataFrame
    settings: tuple[str, ...] = ()
    outputs: Mapping[str, FloatArray]
    breakdown_s: Mapping[str, Mapping[str, FloatArray]]
    confidence_interval: Mapping[str, Interval]
    prediction_interval: Mapping[str, Interval]
    in_domain: Mapping[str, BoolArray]
    source: Mapping[str, str]
    flags: Mapping[str, BoolArray] = field(default_factory=dict)
    measured_on: MeasuredOn | None = None
    other_machine: tuple[str, ...] = ()
    epochs: float = 1.0
    factors: Mapping[str, float] = field(default_factory=dict)
    observed: pd.DataFrame | None = None
    observed_notes: tuple[str, ...] = ()
    outside: pd.DataFrame | None = None

    @property
    def run(self) -> RunGrid:
        """Nodes, GPUs per node, sub-batch and data set size of each configuration."""
        sizes = (self.configs[name].to_numpy(int) for name in (*SIZES, "dataset_size"))
        return RunGrid(*sizes)

    @property
    def epoch_s(self) -> FloatArray:
        """Seconds of one epoch."""
        return self.outputs[EPOCH]

    @property
    def mean_minibatch_size(self) -> FloatArray:
        """Samples per update."""
        return self.outputs[MINIBATCH]

    @property
    def total_s(self) -> FloatArray:
        """Seconds of all ``epochs``."""
        return self.epochs * self.epoch_s

    @property
    def assumed(self) -> tuple[str, ...]:
        """Components that nobody measured, in the table's order."""
        return tuple(name for name, source in self.source.items() if source == "assumed")

    @property
    def left_out(self) -> tuple[str, ...]:
        """Components that nobody measured and that count as 0."""
        return tuple(name for name, source in self.source.items() if source.startswith("not measured"))

    def to_frame(self) -> pd.DataFrame:
        """One row a configuration: keys, outputs, the bounds of both intervals, domain flags."""
        columns: dict[str, object] = {"cnn": list(self.cnn), **{str(name): self.configs[name].to_numpy() for name in self.configs}}
        for name, value in self.outputs.items():
            columns[name] = value
            for label, intervals in (("mean", self.confidence_interval), ("run", self.prediction_interval)):
                columns[f"{name}_{label}_lower"] = intervals[name].lower
                columns[f"{name}_{label}_upper"] = intervals[name].upper
            columns[f"{name}_in_domain"] = self.in_domain[name]
        return pd.DataFrame({**columns, **self.flags})

    def breakdown(self, index: int = 0) -> pd.DataFrame:
        """Components of one configuration: ``activity, component, seconds, share, source, in_domain``."""
        rows = []
        for activity, parts in self.breakdown_s.items():
            total = sum(float(part[index]) for part in parts.values())
            for name, part in parts.items():
                inside = self.in_domain.get(name)
                rows.append(
                    {
                        "activity": activity,
                        "component": name,
                        "seconds": float(part[index]),
                        "share": float(part[index]) / total if total else 0.0,
                        "source": self.source.get(name, "computed"),
                        "in_domain": True if inside is None else bool(inside[index]),
                    }
                )
        return pd.DataFrame(rows)

    def bottleneck(self, index: int = 0) -> str:
        """The component that works for the largest share of its activity's period, of all activities; who waits holds nobody up."""
        table = self.breakdown(index)
        works = table[~table["component"].isin(WAITING)]
        table = (works if len(works) else table).reset_index(drop=True)
        return str(table.loc[int(np.argmax(table["share"].to_numpy())), "component"])
