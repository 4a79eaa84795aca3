"""Training steps of networks that were never run: their kernel calls, their time, its domain and its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.features.network.layer_terms import STANDING_IN_SPREAD
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.residual_quantiles import has_ranks, student_bound
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.gradient.gradient import PREDICTOR, GradientModel, steps_in_domain
from mlperf.training.gradient.score import GradientScore
from mlperf.training.gradient.work_model import WorkModel
from mlperf.training.model import Model

Array = TypeVar("Array", FloatArray, BoolArray)


@dataclass(frozen=True, slots=True, eq=False)
class StepCalls:
    """Kernel calls of the steps that configurations run, each (CNN, sub-batch) pair once.

    Attributes
    ----------
    calls : DataFrame
        One row a kernel call (see `GradientModel.calls`); ``run`` is the number of the step.
    number : array of int, shape (n_configs,)
        The step of each configuration; steps are numbered as they first occur.
    """

    calls: pd.DataFrame
    number: IntArray
    _kept: dict[str, tuple[Any, Any]] = field(default_factory=dict, init=False, repr=False)

    def call_times(self, model: GradientModel | WorkModel, method: str = PREDICTOR) -> FloatArray:
        """Seconds of each call, shape (n_calls,); worked out once: means, draws and what lies outside all ask for them."""
        return self._once(model, f"seconds by {method}", lambda: model.call_times(self.calls, method))

    def calls_in_domain(self, model: GradientModel | WorkModel) -> BoolArray:
        """Whether each call lies inside what was measured, shape (n_calls,); worked out once."""
        return self._once(model, "inside", lambda: model.calls_in_domain(self.calls))

    def _once(self, model: Any, name: str, work_out: Callable[[], Array]) -> Array:
        """What ``work_out`` says of ``model``, read-only; of another model it is worked out anew."""
        if name not in self._kept or self._kept[name][0] is not model:
            found = work_out()
            found.flags.writeable = False
            self._kept[name] = (model, found)
        kept: Array = self._kept[name][1]
        return kept

    @property
    def n_steps(self) -> int:
        """Distinct steps."""
        return int(self.number.max()) + 1

    def take(self, rows: IntArray) -> StepCalls:
        """The steps of some configurations, numbered anew; what is known of their calls stays known."""
        number, kept = pd.factorize(self.number[rows])
        renumbered = np.full(self.n_steps, -1)
        renumbered[kept] = np.arange(len(kept))
        run = renumbered[self.calls["run"].to_numpy(int)]
        order = np.argsort(run, kind="stable")[np.count_nonzero(run < 0) :]
        taken = StepCalls(self.calls.iloc[order].assign(run=run[order]).reset_index(drop=True), number)
        for name, (model, found) in self._kept.items():
            taken._once(model, name, partial(np.take, found, order))
        return taken


@dataclass(frozen=True, slots=True, eq=False)
class PredictedSteps:
    """Mean time of the step of each configuration; arrays of shape (n_configs,).

    Attributes
    ----------
    step_s : array
        Seconds.
    in_domain : array of bool
        Whether nearly all of it is spent in calls like those that were measured.
    busy_s : array
        Seconds of it for which the processor or device works; a device also waits for the host to launch.
    """

    step_s: FloatArray
    in_domain: BoolArray
    busy_s: FloatArray


def step_calls(model: GradientModel | WorkModel, cnns: Sequence[CnnSpec], configs: pd.DataFrame) -> StepCalls:
    """Build the kernel tables of all steps of ``configs``: ``cnn`` (position in ``cnns``) and ``subbatch_size``."""
    keys = ["cnn", "subbatch_size"]
    steps = configs[keys].drop_duplicates(ignore_index=True)
    number = configs[keys].merge(steps.reset_index(names="step"), how="left")["step"].to_numpy(int)
    return StepCalls(model.calls((cnns[cnn], size) for cnn, size in steps.itertuples(index=False)), number)


def predict_steps(model: GradientModel | WorkModel, steps: StepCalls, method: str = PREDICTOR) -> PredictedSteps:
    """Put together the predicted kernel times of each step (SPRINT eq. 4), and say how much of it was measured.

    A step with a kernel that was never measured is outside of what was, however little of it that takes.
    """
    times = steps.call_times(model, method)
    inside = steps_in_domain(steps.calls, times, steps.calls_in_domain(model))
    if isinstance(model, GradientModel):
        inside[steps.calls["run"].to_numpy(int)[model.stood_in(steps.calls)]] = False
    return PredictedSteps(
        model.step_times(steps.calls, times)[steps.number], inside[steps.number], model.busy_times(steps.calls, times)[steps.number]
    )


def waiting_share(model: GradientModel | WorkModel, steps: StepCalls, method: str = PREDICTOR) -> FloatArray | None:
    """Share of each configuration's step for which its device waits for the host to launch, shape (n_configs,); None on a host."""
    if not isinstance(model, GradientModel) or model.launches is None:
        return None
    return 1.0 - busy_seconds(model, steps, method) / step_seconds(model, steps, method)


def step_seconds(model: GradientModel | WorkModel, steps: StepCalls, method: str) -> FloatArray:
    """Mean time of each configuration's step, seconds, shape (n_configs,)."""
    return model.step_times(steps.calls, steps.call_times(model, method))[steps.number]


def busy_seconds(model: GradientModel | WorkModel, steps: StepCalls, method: str) -> FloatArray:
    """Mean time of each configuration's step for which its processor or device works, seconds, shape (n_configs,)."""
    return model.busy_times(steps.calls, steps.call_times(model, method))[steps.number]


def step_spreads(model: Model, steps: StepCalls, method: str) -> FloatArray:
    """Relative standard deviation of each configuration's step, shape (n_configs,); 0 where nobody measured it."""
    if isinstance(model.gradient, GradientModel):
        found = model.gradient.step_spreads(steps.calls, steps.call_times(model.gradient, method))
        if found is not None:
            return found[steps.number]
    return np.full(len(steps.number), model.score.step_cv if np.isfinite(model.score.step_cv) else 0.0)


def stand_in_spread(model: GradientModel | WorkModel, steps: StepCalls, method: str) -> FloatArray:
    """Relative standard deviation of each configuration's step by kernels that others stand in for, shape (n_configs,).

    Each of them errs by itself, all its calls alike (`mlperf.features.network.layer_terms.STANDING_IN_SPREAD`).
    """
    if not isinstance(model, GradientModel) or not (stood_in := model.stood_in(steps.calls)).any():
        return np.zeros(len(steps.number))
    times = steps.call_times(model, method)
    kernels = steps.calls.assign(seconds=np.where(stood_in, times, 0.0)).groupby(["run", "kernel"])["seconds"].sum()
    share = np.sqrt((kernels**2).groupby("run").sum().to_numpy()) / model.step_times(steps.calls, times)
    return np.asarray(STANDING_IN_SPREAD * share[steps.number])


def step_interval(
    score: GradientScore,
    method: str,
    predicted_s: FloatArray,
    level: float = 0.95,
    *,
    part: str = "",
    further: FloatArray | float = 0.0,
) -> Interval:
    """Prediction interval of a measured step of a CNN that was not trained on.

    Parameters
    ----------
    score : GradientScore
        Log errors of left-out CNNs.
    method : str
        Whose errors.
    predicted_s : array, shape (n_steps,)
        Seconds.
    level : float
        In (0, 1).
    part : str
        ``"busy_"`` for the time that a device works.
    further : array, shape (n_steps,), or float
        Relative standard deviation of what the left-out CNNs do not tell: of kernels that others stand in for.

    Returns
    -------
    Interval
        Seconds, shape (n_steps,). Distribution free: the (1 - level)/2 tails of the left-out log errors, at the
        conformal ranks (n + 1) q, so that a new error falls outside with at most that probability. Where there are too few errors
        for such ranks (39 for 95 %), at least what Student's t makes of them.

    References
    ----------
    Lei et al., Distribution-free predictive inference for regression, 2018 (split conformal, asymmetric).
    """
    residuals = np.sort(score.log_residuals(method, part))
    n = len(residuals)
    tail = 0.5 * (1.0 - level)
    low = max(int(np.floor((n + 1) * tail)), 1) - 1
    high = min(int(np.ceil((n + 1) * (1.0 - tail))), n) - 1
    lower, upper = residuals[low], residuals[high]
    if not has_ranks(n, level):
        half = student_bound(residuals, level)
        lower, upper = min(lower, -half), max(upper, half)
    beside = ndtri(1.0 - tail) * np.asarray(further)
    return Interval(predicted_s * np.exp(_further(lower, -beside)), predicted_s * np.exp(_further(upper, beside)), level)


def _further(bound: float, beside: FloatArray) -> FloatArray:
    """A bound moved by what is independent of it: to the root of both squares where both are to the same side."""
    return np.where(np.sign(bound) == np.sign(beside), np.sign(beside) * np.hypot(bound, beside), bound + beside)
