"""What a campaign says about gradient time, aggregated over its rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.features.kernels import describe_rows
from mlperf.models.crossval import noise_floor
from mlperf.systems.gradient import with_isolated

if TYPE_CHECKING:
    from mlperf.datasets import Campaign
    from mlperf.models import GridLocal

# Thread CPU time on a host, busy time on a device: what a kernel costs without waiting.
CLOCK = "cpu_s"
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
        One row a (cnn, subbatch_size): ``step_s``, the median of whole steps with timers off, seconds, and ``n_rounds``.
    step_cv : float
        Spread of one step around its configuration's median, as a fraction (robust: scaled median absolute deviation).
    noise_floor : float
        Mean relative error between the medians of odd and of even rounds of whole steps, a fraction; NaN with one round.
    kernel_floor : mapping of str to float
        The same for single calls, by kernel.
    """

    backend: str
    calls: pd.DataFrame
    steps: pd.DataFrame
    step_cv: float
    noise_floor: float
    kernel_floor: Mapping[str, float]

    def only(self, cnns: list[str]) -> GradientData:
        """The part that belongs to the CNNs named."""
        floors = {str(kernel): _noise_floor(rows, CALL_KEYS, CLOCK) for kernel, rows in kernels.groupby("kernel", sort=True)}

    return GradientData(
        self.backend,
        self.calls[self.calls["cnn"].isin(cnns)].reset_index(drop=True),
        self.steps[self.steps["cnn"].isin(cnns)].reset_index(drop=True),
        self.step_cv,
        self.noise_floor,
        self.kernel_floor,
    )


def gradient_data(
    campaign: Campaign, sgemm: GridLocal | None, backend: str | None = None, leave_out: Sequence[str] = ()
) -> GradientData:
    """Aggregate ``kernels.csv`` and ``steps.csv`` of one backend, without the CNNs in ``leave_out``.

    Raises
    ------
    DataError
        A table is absent, or the campaign holds several backends and none was named.
    """
    if campaign.kernels is None:
        raise DataError(
            "got no kernels.csv, expected per-kernel times", place=str(campaign.path), hint="Run `mlperf collect kernels`."
        )
    backend = _one_backend(campaign, backend)
    kernels = _rows_of(campaign.kernels, backend, leave_out)
    medians = kernels.groupby(CALL_KEYS, sort=False, as_index=False)[CLOCK].median().rename(columns={CLOCK: "time_s"})
    calls = with_isolated(describe_rows(medians, campaign.cnns), sgemm)
    if campaign.steps is None:
        raise DataError(
            "got no steps.csv, expected whole training steps", place=str(campaign.path), hint="Run `mlperf collect steps`."
        )
    steps = _rows_of(campaign.steps, backend, leave_out)
    floors = {str(kernel): _noise_floor(rows, CALL_KEYS, CLOCK) for kernel, rows in kernels.groupby("kernel", sort=True)}
    return GradientData(backend, calls, _step_medians(steps), _step_cv(steps), _noise_floor(steps, STEP_KEYS, "step_s"), floors)


def _rows_of(table: pd.DataFrame, backend: str, leave_out: Sequence[str]) -> pd.DataFrame:
    return table[(table["backend"] == backend) & ~table["cnn"].isin(list(leave_out))]


def _one_backend(campaign: Campaign, backend: str | None) -> str:
    present = sorted(campaign.kernels["backend"].unique())
    if backend is None and len(present) == 1:
        return str(present[0])
    if backend in present:
        return str(backend)
    raise DataError(
        f"got backend {backend!r}, expected one of {', '.join(map(str, present))}",
        place=f"{campaign.path}/kernels.csv, column backend",
        hint="Name one with --backend.",
    )


def _step_medians(steps: pd.DataFrame) -> pd.DataFrame:
    return steps.groupby(STEP_KEYS, sort=False)["step_s"].agg(step_s="median", n_rounds="size").reset_index()


def _noise_floor(rows: pd.DataFrame, keys: list[str], column: str) -> float:
    if rows["round"].nunique() < 2:
        return float("nan")
    return noise_floor(rows, keys, column, order="round").mape
