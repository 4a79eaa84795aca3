"""What is said of a whole run: its time with interval, its parts, the chance of a deadline, its price and energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.durations import slurm_time
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.intervals import Interval
from mlperf.training.measured_on import MeasuredOn


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Spent(Shown):
    """An amount of each configuration's run: median, and interval of one run; arrays of shape (n_configs,)."""

    median: FloatArray
    interval: Interval
    unit: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class WholeRun(Shown):
    """Whole runs; every array has shape (n_configs,).

    Attributes
    ----------
    configs : DataFrame
        One row a configuration.
    machine : str
        Name of the machine.
    epochs : float
        Passes over the data set.
    epoch_s : array
        Seconds of one.
    total : Spent
        Seconds from the job's start to its end, queue left out.
    mean_s : array
        Mean seconds; the parts sum to it.
    parts_s : mapping of str to array
        Mean seconds of ``startup``, ``epochs``, ``input_wait``, ``validation``, ``checkpoints``, ``failures``.
    n_failures : array
        Mean number of failures.
    checkpoint_every_s : array
        Training time between two checkpoints; infinite where there are none.
    deadline_s : float or None
        What was asked for.
    on_time_probability : array or None
        Share of draws that end by then.
    probability : float
        Of ``limit_s``.
    limit_s : array
        Seconds that a run ends within with that probability.
    cost, energy : Spent or None
        Price in ``cost.unit`` and kilowatt-hours; None where no price, no power is known.
    power_source : str
        Whose figure the power is; empty where none.
    in_domain : array of bool
        Whether the epoch lies inside what was measured.
    n_draws, seed : int
    notes : tuple of str
        What is not in the figures.
    system : str
        How the parts of a step couple; empty where nobody said.
    measured_on : MeasuredOn or None
        Where the times come from.
    other_machine : tuple of str
        How the machine asked about differs from that one.
    assumed : tuple of str
        Components that nobody measured: taken from the machine's specification, or counted as 0.
    calibrated : bool
        Whether measured steps had a say.
    left_out : DataFrame or None
        Configurations that were asked about and practically never end, with ``failures_per_try`` (failures on average between two
        checkpoints, or in one start, of a slow run) and ``reason``; they are in nothing else. None where all end.
    """

    configs: pd.DataFrame
    machine: str
    epochs: float
    epoch_s: FloatArray
    total: Spent
    mean_s: FloatArray
    parts_s: Mapping[str, FloatArray]
    n_failures: FloatArray
    checkpoint_every_s: FloatArray
    deadline_s: float | None
    on_time_probability: FloatArray | None
    probability: float
    limit_s: FloatArray
    cost: Spent | None
    energy: Spent | None
    power_source: str
    in_domain: BoolArray
    n_draws: int
    seed: int
    notes: tuple[str, ...] = ()
    system: str = ""
    measured_on: MeasuredOn | None = None
    other_machine: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    calibrated: bool = False
    left_out: pd.DataFrame | None = None

    @property
    def slurm_lines(self) -> tuple[str, ...]:
        """``#SBATCH --time=`` of each configuration, at ``probability``."""
        return tuple(f"#SBATCH --time={slurm_time(float(limit))}" for limit in self.limit_s)

    def to_frame(self) -> pd.DataFrame:
        """One row a configuration: time with interval, chance of the deadline, limit, cost, energy."""
        columns = {"run_s": self.total.median, "run_lower_s": self.total.interval.lower, "run_upper_s": self.total.interval.upper}
        if self.on_time_probability is not None:
            columns["on_time_share"] = self.on_time_probability
        columns["limit_s"] = self.limit_s
        for name, spent in (("cost", self.cost), ("energy_kwh", self.energy)):
            if spent is not None:
                columns[name] = spent.median
        return self.configs.assign(**columns, in_domain=self.in_domain)
