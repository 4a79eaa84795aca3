"""`mlperf.search_runs`: the best configuration whose mini-batch size, or staleness, lies in a window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.planning.inputs import check_job, configurations, machine_of, of_job, one_network
from mlperf.planning.limits import check_limits
from mlperf.planning.predict import predict_inputs
from mlperf.planning.search.objectives import OBJECTIVES
from mlperf.planning.search.one_machine import MachineRanking, largest_subbatch, search_once
from mlperf.planning.search.options import SearchOptions
from mlperf.planning.search.result import SearchResult
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.model import Model

__all__ = ["OBJECTIVES", "SearchResult", "search_runs"]

LARGEST_SUBBATCH = 32


@dataclass(frozen=True, slots=True)
class Sizes:
    """Nodes, GPUs per node and sub-batches to sweep; None for what the machine gives."""

    n_nodes: Sequence[int] | None
    n_gpus_per_node: Sequence[int] | int | None
    subbatch_size: Sequence[int] | None


def search_runs(
    model: Model,
    cnn: CnnSpec | str | Path,
    machine: MachineSpec | str | Path,
    job: JobSpec,
    *,
    n_nodes: Sequence[int] | None = None,
    n_gpus_per_node: Sequence[int] | int | None = None,
    subbatch_size: Sequence[int] | None = None,
    minibatch: tuple[float, float] | None = None,
    **options: Any,
) -> SearchResult:
    """Sweep nodes x GPUs x sub-batch and rank what lies in the windows.

    The whole grid is solved with the ``second_moment`` form; the best rows, their neighbours and rows near the windows' edges again
    with the default form (see `mlperf.planning.search.search_grid.solve_search`).

    Parameters
    ----------
    model : Model
        From `mlperf.train`.
    cnn, machine, job
        What to run, on what, with how many samples; network and machine may be names or files.
    n_nodes : sequence of int, optional
        Default 1 to the machine's ``max_nodes``.
    n_gpus_per_node : int or sequence of int, optional
        Default the machine's.
    subbatch_size : sequence of int, optional
        Default 1 to what fits the device's memory, at most 32.
    minibatch : (float, float), optional
        Window of the mean mini-batch size, samples per update; default the job's, else none.
    **options
        Of `mlperf.planning.search.options.SearchOptions`: ``window_quantile, max_staleness, min_probability, objective, quality,
        top, method, factors, ignore_memory, seed, strict``.

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
    cnn, machine = one_network(cnn), machine_of(machine)
    asked = SearchOptions(window_of(job, minibatch), **of_job(job, options))
    sizes = Sizes(n_nodes, n_gpus_per_node, subbatch_size)
    configs = search_configs(cnn, machine, job, sizes, ignore_memory=asked.ignore_memory)
    found = search_once(model, cnn, machine, asked, configs)
    return replace(found.result, best=with_intervals(model, found, asked))


def with_intervals(model: Model, found: MachineRanking, asked: SearchOptions) -> pd.DataFrame:
    """The ranking with 95 % intervals of one run's epoch and mean mini-batch, as `mlperf.predict_epoch` gives them."""
    best = found.result.best
    if best.empty:
        return best
    intervals = predict_inputs(model, found.inputs.take(np.arange(len(best))), asked.of_prediction).prediction_interval
    epoch, size = intervals["epoch_s"], intervals["mean_minibatch_size"]
    told = best.copy()
    for place, values in (
        ("mean_minibatch_size", {"minibatch_low": size.lower, "minibatch_high": size.upper}),
        ("epoch_s", {"epoch_low_s": epoch.lower, "epoch_high_s": epoch.upper}),
    ):
        for name, column in reversed(values.items()):
            told.insert(list(told.columns).index(place) + 1, name, column)
    return told


def window_of(job: JobSpec, minibatch: tuple[float, float] | None) -> tuple[float, float]:
    """The window that was given, else the job's, else an endless one; UsageError: not two numbers."""
    check_job(job)
    given: Any = minibatch
    if given is not None:
        ends = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)) else []
        if len(ends) != 2 or not all(isinstance(end, Real) for end in ends):
            hint = "As in minibatch=(64, 256); math.inf where one end is open."
            raise UsageError(f"got {given!r:.60}, expected a smallest and a largest size", place="minibatch", hint=hint)
        return (float(ends[0]), float(ends[1]))
    return job.minibatch or (0.0, float("inf"))


def search_configs(cnn: CnnSpec, machine: MachineSpec, job: JobSpec, sizes: Sizes, *, ignore_memory: bool) -> pd.DataFrame:
    """Rows to search; what was not given is the machine's, and sub-batches that fit its devices; DataError: more than it has."""
    largest = largest_subbatch(cnn, machine, ignore_memory=ignore_memory)
    rows = configurations(
        [0],
        range(1, machine.max_nodes + 1) if sizes.n_nodes is None else sizes.n_nodes,
        machine.n_gpus_per_node if sizes.n_gpus_per_node is None else sizes.n_gpus_per_node,
        range(1, min(largest, LARGEST_SUBBATCH) + 1) if sizes.subbatch_size is None else sizes.subbatch_size,
        job.dataset_size,
    )
    check_limits(machine, [cnn], rows, memory=False)
    return rows
