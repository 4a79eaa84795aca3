"""`mlperf.search_runs`: the best configuration whose mini-batch size, or staleness, lies in a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from mlperf.planning.predict import configurations
from mlperf.planning.search.objectives import OBJECTIVES
from mlperf.planning.search.one_machine import Asked, largest_subbatch, search_once
from mlperf.planning.search.result import SearchResult
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.gradient.gradient import PREDICTOR
from mlperf.training.model import Model
from mlperf.training.quality import QualityModel

__all__ = ["OBJECTIVES", "SearchResult", "search_configs", "search_runs"]

LARGEST_SUBBATCH = 32


def search_runs(
    model: Model,
    cnn: CnnSpec,
    machine: MachineSpec,
    job: JobSpec,
    *,
    n_nodes: Sequence[int] | None = None,
    n_gpus_per_node: Sequence[int] | int | None = None,
    subbatch_size: Sequence[int] | None = None,
    minibatch: tuple[float, float] | None = None,
    window_quantile: float | None = None,
    max_staleness: float | None = None,
    min_probability: float = 0.0,
    objective: str = "epoch_s",
    quality: QualityModel | None = None,
    top: int = 10,
    method: str = PREDICTOR,
    factors: Mapping[str, float] | None = None,
    ignore_memory: bool = False,
    seed: int = 0,
    strict: bool = False,
) -> SearchResult:
    """Sweep nodes x GPUs x sub-batch and rank what lies in the windows.

    The whole grid is solved with the ``second_moment`` form; the best rows, their neighbours and rows near the windows' edges again
    with ``convolution`` (see `mlperf.planning.search.search_grid.solve_search`).

    Parameters
    ----------
    model : Model
        From `mlperf.train`.
    cnn, machine, job
        What to run, on what, with how many samples.
    n_nodes : sequence of int, optional
        Default 1 to the machine's ``max_nodes``.
    n_gpus_per_node : int or sequence of int, optional
        Default the machine's.
    subbatch_size : sequence of int, optional
        Default 1 to what fits the device's memory, at most 32.
    minibatch : (float, float), optional
        Window of the mean mini-batch size, samples per update; default the job's, else none.
    window_quantile : float, optional
        The window bounds this quantile of the mini-batch size's distribution instead of its mean.
    max_staleness : float, optional
        Largest mean staleness, updates.
    min_probability : float
        Rank only rows, among the 300 best, whose windows hold in at least this share of the draws.
    objective : {"epoch_s", "cost", "energy_j", "time_to_target"}
        What to minimise. Cost needs ``price_per_node_hour``, energy ``power_w``, time to target ``quality``.
    quality : QualityModel, optional
        Epochs to a target accuracy by mean mini-batch and staleness (see `mlperf.training.quality`).
    top : int
        Rows of the ranking.
    method, factors
        As in `mlperf.predict_epoch`.
    ignore_memory : bool
        Rank rows that do not fit the device as well.
    seed : int
        Of the joint draws behind ``window_probability`` and ``stability``.
    strict : bool
        Refuse a ranking with a row outside the measured domain.

    Raises
    ------
    DataError
        A component or kernel has no model, or the objective needs a figure the machine lacks.
    UsageError
        Unknown objective, empty window, or a time to target without a quality model.
    DomainError
        With ``strict``.

    References
    ----------
    Oyama et al. (SPRINT), section 4.3.
    """
    asked = Asked(
        window_of(job, minibatch),
        window_quantile=window_quantile,
        max_staleness=max_staleness,
        min_probability=min_probability,
        objective=objective,
        quality=quality,
        top=top,
        method=method,
        factors=factors or {},
        ignore_memory=ignore_memory,
        seed=seed,
        strict=strict,
    )
    configs = search_configs(cnn, machine, job, asked, n_nodes, n_gpus_per_node, subbatch_size)
    return search_once(model, cnn, machine, asked, configs).result


def window_of(job: JobSpec, minibatch: tuple[float, float] | None) -> tuple[float, float]:
    """The window that was given, else the job's, else an endless one."""
    return minibatch or job.minibatch or (0.0, float("inf"))


def search_configs(
    cnn: CnnSpec,
    machine: MachineSpec,
    job: JobSpec,
    asked: Asked,
    n_nodes: Sequence[int] | None,
    n_gpus_per_node: Sequence[int] | int | None,
    subbatch_size: Sequence[int] | None,
) -> pd.DataFrame:
    """Rows to search; what was not given is the machine's, and sub-batches that fit its devices."""
    largest = largest_subbatch(cnn, machine, ignore_memory=asked.ignore_memory)
    return configurations(
        [0],
        range(1, machine.max_nodes + 1) if n_nodes is None else n_nodes,
        machine.n_gpus_per_node if n_gpus_per_node is None else n_gpus_per_node,
        range(1, min(largest, LARGEST_SUBBATCH) + 1) if subbatch_size is None else subbatch_size,
        job.dataset_size,
    )
