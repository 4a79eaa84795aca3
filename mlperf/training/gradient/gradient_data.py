"""What a campaign says about gradient time, aggregated over its rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.features.network.kernels import describe_rows
from mlperf.models.validation.scores import halves_difference
from mlperf.training.gradient.call_gaps import CallGaps, fit_gaps
from mlperf.training.gradient.gradient import with_isolated
from mlperf.training.gradient.launches import DEVICE, Launches, fit_launches
from mlperf.training.gradient.whole_steps import check_whole_steps

if TYPE_CHECKING:
    from mlperf.datasets import Campaign
    from mlperf.models import GridLocal

# Thread CPU time on a host, busy time on a device: what a kernel costs without waiting.
CLOCK = "cpu_s"
# Elapsed time, on a device in the free stream with the gaps between launches.
STREAM = "wall_s"
STEP_KEYS = ["cnn", "subbatch_size"]
CALL_KEYS = [*STEP_KEYS, "kernel", "layer"]


@dataclass(frozen=True, slots=True, eq=False)
class GradientData:
    """Medians over rounds of one backend.

    Attributes
    ----------
    backend : str
        The engine or library that ran.
    calls : DataFrame
        One row a (cnn, subbatch_size, kernel, layer): its characteristics, ``isolated_s`` and ``time_s``, seconds.
    steps : DataFrame
        One row a (cnn, subbatch_size): ``step_s``, the median of whole steps with timers off, on a device in the free stream;
        ``busy_s``, for how long of it the device works, NaN where that is not known; both seconds; ``n_rounds``; and
        ``visit_spread``, its relative standard deviation from one round to the next, NaN with one round.
    step_cv : float
        Spread of one step around its configuration's median, as a fraction (robust: scaled median absolute deviation).
    noise_floor : float
        How far the medians of odd and of even rounds of whole steps differ, a fraction (see
        `mlperf.models.validation.scores.HalvesDifference`); NaN with one round.
    kernel_floor : mapping of str to float
        The same for single calls, by kernel.
    """

    backend: str
    calls: pd.DataFrame
    steps: pd.DataFrame
    step_cv: float
    noise_floor: float
    kernel_floor: Mapping[str, float]

    @property
    def launches(self) -> Launches | None:
        """What host and device add to the times of single calls; None on a host."""
        return fit_launches(self.calls, self.steps, keys=STEP_KEYS) if self.backend.startswith(DEVICE) else None

    @property
    def gaps(self) -> CallGaps | None:
        """What lies between the calls of a library's step on a host; None on a device."""
        return None if self.backend.startswith(DEVICE) else fit_gaps(self.calls, self.steps, keys=STEP_KEYS)

    def only(self, cnns: list[str]) -> GradientData:
        """The part that belongs to the CNNs named."""
        calls, steps = (table[table["cnn"].isin(cnns)].reset_index(drop=True) for table in (self.calls, self.steps))
        return replace(self, calls=calls, steps=steps)


def gradient_data(
    campaign: Campaign, sgemm: GridLocal | None, backend: str | None = None, leave_out: Sequence[str] = ()
) -> GradientData:
    """Aggregate ``kernels.csv`` and ``steps.csv`` of one backend, without the CNNs in ``leave_out``.

    Raises
    ------
    DataError
        A table is absent, a step lacks a kernel that it runs, or the campaign holds several backends and none was named.
    FitError
        Every CNN is left out.
    """
    names = ("kernels", "steps")
    for name in names:
        if name not in campaign.tables:
            raise DataError(f"got no {name}.csv, expected one", place=str(campaign.path), hint=f"Run `mlperf collect {name}`.")
    backend = campaign.backend(backend)
    kernels, steps = (_rows_of(campaign.table(name), backend, leave_out) for name in names)
    if kernels.empty or steps.empty:
        raise FitError(
            "got every CNN to leave out, expected some to fit on", place=str(campaign.path), hint="Name fewer with --leave-out."
        )
    check_whole_steps(kernels, campaign.cnns, campaign.path, backend)
    # Only a kernel that its layer does not run may have taken no time.
    ran = kernels[kernels[CLOCK] > 0]
    medians = ran.groupby(CALL_KEYS, sort=False)[CLOCK].median().rename("time_s").reset_index()
    steps = waited_steps(steps, kernels, backend)
    return GradientData(
        backend,
        with_isolated(describe_rows(medians, campaign.cnns), sgemm),
        _over_rounds(steps),
        _step_cv(steps),
        halves_difference(steps, STEP_KEYS, "step_s", order="round").mape,
        {
            str(kernel): halves_difference(rows, CALL_KEYS, CLOCK, order="round").mape
            for kernel, rows in kernels.groupby("kernel", sort=True)
        },
    )


def measured_steps(campaign: Campaign, backend: str | None = None) -> pd.DataFrame:
    """Whole steps of one backend as `GradientData.steps` holds them; kernels need not have been measured.

    Raises
    ------
    DataError
        The campaign has no steps, or several backends and none was named.
    """
    backend = campaign.backend(backend, "steps")
    kernels = pd.DataFrame(columns=[CLOCK, STREAM]) if campaign.kernels is None else _rows_of(campaign.kernels, backend, ())
    return _over_rounds(waited_steps(_rows_of(campaign.table("steps"), backend, ()), kernels, backend))


def _over_rounds(steps: pd.DataFrame) -> pd.DataFrame:
    by_step = steps.groupby(STEP_KEYS)
    found = by_step["step_s"].agg(step_s="median", n_rounds="size").assign(busy_s=by_step["busy_s"].median())
    return pd.DataFrame(found.assign(visit_spread=_visit_spreads(steps)).reset_index())


def _visit_spreads(steps: pd.DataFrame) -> pd.Series[float]:
    """Of each step, from differences of rounds that follow one another: what drifts slowly is not in them (von Neumann, 1941)."""
    logs = np.log(steps.sort_values("round").set_index(STEP_KEYS)["step_s"])
    sizes: pd.Series[float] = logs.groupby(level=STEP_KEYS).diff().abs().groupby(level=STEP_KEYS).mean()
    # The mean size of a difference of two normal values is 2 / sqrt(pi) of their standard deviation.
    return sizes * (0.5 * math.sqrt(math.pi))


def _rows_of(table: pd.DataFrame, backend: str, leave_out: Sequence[str]) -> pd.DataFrame:
    return table[(table["backend"] == backend) & ~table["cnn"].isin(list(leave_out))]


def waited_steps(steps: pd.DataFrame, kernels: pd.DataFrame, backend: str) -> pd.DataFrame:
    """Measured steps with ``step_s``, what training waits for, and ``busy_s``, for how long of it a device works.

    On a device that is the time in the stream, where it was measured; the busy time is known where kernels were timed apart from
    the gaps between them.
    """
    if not backend.startswith(DEVICE):
        return steps.assign(busy_s=np.nan)
    known = kernels[kernels[STREAM].notna()]
    apart = bool((known[CLOCK] != known[STREAM]).any())
    return steps.assign(step_s=steps[STREAM].fillna(steps["step_s"]), busy_s=steps[CLOCK] if apart else np.nan)


def _step_cv(steps: pd.DataFrame) -> float:
    middle = steps.groupby(STEP_KEYS)["step_s"].transform("median")
    deviation: FloatArray = np.abs(np.log(steps["step_s"].to_numpy(float) / middle.to_numpy(float)))
    return float(1.4826 * np.median(deviation))
