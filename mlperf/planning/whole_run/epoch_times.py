"""What a whole run starts from: epoch times of configurations with what is uncertain of them, of any system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.models.uncertainty.intervals import Interval
from mlperf.training.measured_on import MeasuredOn

SHOWN = ("cnn", "n_nodes", "n_gpus_per_node", "subbatch_size")


@dataclass(frozen=True, slots=True, eq=False)
class EpochTimes:
    """Epochs of configurations; every array has shape (n_configs,).

    Attributes
    ----------
    configs : DataFrame
        One row a configuration, as it is shown.
    epoch_s : array
        Seconds of an epoch.
    interval : Interval
        Of one run's epoch.
    n_nodes, n_gpus, dataset_size : array of int
        Nodes and GPUs of the whole run, samples of an epoch.
    in_domain : array of bool
    draws : array, shape (n_draws, n_configs), optional
        Joint draws of the epoch where there are some; they take the place of the interval.
    system : str
        How the parts of a step couple; empty where nobody said.
    measured_on : MeasuredOn or None
        Where the times come from.
    other_machine : tuple of str
        How the machine asked about differs from that one.
    assumed : tuple of str
        Components that nobody measured.
    calibrated : bool
        Whether measured steps had a say.

    Raises
    ------
    DataError
        Shapes differ, a time is not > 0, or the interval does not hold it or has no end.
    """

    configs: pd.DataFrame
    epoch_s: FloatArray
    interval: Interval
    n_nodes: IntArray
    n_gpus: IntArray
    dataset_size: IntArray
    in_domain: BoolArray
    draws: FloatArray | None = None
    system: str = ""
    measured_on: MeasuredOn | None = None
    other_machine: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    calibrated: bool = False

    def __post_init__(self) -> None:
        lower, upper = self.interval.lower, self.interval.upper
        shapes = {
            np.shape(each) for each in (self.epoch_s, lower, upper, self.n_nodes, self.n_gpus, self.dataset_size, self.in_domain)
        }
        if shapes != {(len(self.configs),)}:
            raise DataError(
                f"got arrays of shapes {sorted(shapes)}, expected one value of each a configuration", place="epoch times"
            )
        if not ((self.epoch_s > 0.0) & np.isfinite(upper) & (lower <= self.epoch_s) & (self.epoch_s <= upper)).all():
            raise DataError("expected epochs > 0 s inside their intervals, all finite", place="epoch times")

    @classmethod
    def of(cls, prediction: Any) -> EpochTimes:
        """Of a prediction with ``epoch_s``, ``prediction_interval["epoch_s"]`` and ``run``, such as `mlperf.planning.Prediction`.

        Raises
        ------
        UsageError
            It predicts no epochs.
        """
        interval = getattr(prediction, "prediction_interval", {}).get("epoch_s")
        if interval is None:
            raise UsageError(f"got {type(prediction).__name__} without epochs, expected a prediction of epoch_s with its interval")
        run, epoch_s = prediction.run, np.asarray(prediction.epoch_s, float)
        columns = {name: getattr(run, name) for name in SHOWN[1:]}
        names = getattr(prediction, "cnn", ())
        shown = pd.DataFrame({**({"cnn": list(names)} if len(names) else {}), **columns})
        inside = np.asarray(prediction.in_domain.get("epoch_s", np.ones(len(epoch_s))), bool)
        return cls(
            shown,
            epoch_s,
            interval,
            run.n_nodes,
            run.n_gpus,
            run.dataset_size,
            inside,
            system=getattr(prediction, "system", ""),
            measured_on=getattr(prediction, "measured_on", None),
            other_machine=getattr(prediction, "other_machine", ()),
            assumed=_unmeasured(getattr(prediction, "source", {})),
            calibrated=getattr(prediction, "observed", None) is not None,
        )

    def take(self, rows: BoolArray) -> EpochTimes:
        """Those of some configurations."""
        level = self.interval.level
        return replace(
            self,
            configs=self.configs[rows].reset_index(drop=True),
            epoch_s=self.epoch_s[rows],
            interval=Interval(self.interval.lower[rows], self.interval.upper[rows], level),
            n_nodes=self.n_nodes[rows],
            n_gpus=self.n_gpus[rows],
            dataset_size=self.dataset_size[rows],
            in_domain=self.in_domain[rows],
            draws=None if self.draws is None else self.draws[:, rows],
        )

    def draw(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Draws of the epoch, shape (n_draws, n_configs).

        Of an interval: log-normal on either side of the prediction, so that its bounds are quantiles and its middle the median; one
        normal number a draw for all configurations, whose errors have one model behind them.
        """
        if self.draws is not None:
            return np.asarray(self.draws[rng.integers(len(self.draws), size=n_draws)])
        reach = float(ndtri(0.5 + self.interval.level / 2.0))
        with np.errstate(divide="ignore"):
            below = np.log(self.epoch_s / np.maximum(self.interval.lower, 1e-9 * self.epoch_s)) / reach
        above = np.log(self.interval.upper / self.epoch_s) / reach
        z = rng.standard_normal(n_draws)[:, None]
        return np.asarray(self.epoch_s * np.exp(z * np.where(z < 0.0, below, above)))


def _unmeasured(source: Mapping[str, str]) -> tuple[str, ...]:
    """Components that were assumed, and those that count as 0, as the first line of a prediction names them."""
    assumed = [name for name, each in source.items() if each == "assumed"]
    return (*assumed, *(f"{name} (counted as 0)" for name, each in source.items() if each.startswith("not measured")))
