"""One ranking over several machines, each with its own model (the paper's Table 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.planning.inputs import machine_of, of_job, one_network
from mlperf.planning.search.draws import CandidateDraws, RankStability, first_share, rank_bounds, rank_stability
from mlperf.planning.search.objectives import objective_column
from mlperf.planning.search.one_machine import N_CANDIDATES, MachineRanking, in_order, search_once
from mlperf.planning.search.options import SearchOptions
from mlperf.planning.search.result import SearchResult
from mlperf.planning.search.search import Sizes, search_configs, window_of
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.model import Model


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MachineSearch(Shown):
    """One ranking over machines.

    Attributes
    ----------
    best : DataFrame
        The ``top`` best rows of all machines: the columns of `SearchResult.best` and ``machine``; ranks, ``first_share, rank_low,
        rank_high`` are among all machines.
    pareto : DataFrame
        Rows of the machines' Pareto fronts that no row of any machine beats in the objective with at most as many GPUs.
    stability : RankStability or None
        Of the common ranking, each machine's models drawn independently.
    searches : tuple of SearchResult
        One a machine.
    """

    best: pd.DataFrame
    pareto: pd.DataFrame
    stability: RankStability | None
    searches: tuple[SearchResult, ...]

    def to_frame(self) -> pd.DataFrame:
        """The common ranking; every machine's nearest misses where nothing was found."""
        if len(self.best):
            return self.best
        return pd.concat([one.misses.assign(machine=one.machine) for one in self.searches], ignore_index=True)


def search_machines(
    models: Sequence[tuple[Model, MachineSpec | str | Path]],
    cnn: CnnSpec | str | Path,
    job: JobSpec,
    *,
    n_nodes: Sequence[int] | None = None,
    n_gpus_per_node: Sequence[int] | int | None = None,
    subbatch_size: Sequence[int] | None = None,
    minibatch: tuple[float, float] | None = None,
    **options: Any,
) -> MachineSearch:
    """Search every machine and rank all rows together.

    Parameters
    ----------
    models : sequence of (Model, MachineSpec or name or file)
        A model and the machine it was measured on; prices must be in one currency. Models are drawn independently of one another;
        one that serves several machines errs alike on all of them.
    cnn, job, n_nodes, n_gpus_per_node, subbatch_size, minibatch
        As in `mlperf.search_runs`; sizes that are not given are each machine's.
    **options
        Of `mlperf.planning.search.options.SearchOptions`: ``window_quantile, max_staleness, min_probability, objective, quality,
        top, method, factors, ignore_memory, seed, strict``.

    Raises
    ------
    UsageError
        No machine, or two of one name; and as `mlperf.search_runs`.

    References
    ----------
    Oyama et al. (SPRINT), Table 10.
    """
    cnn, pairs = one_network(cnn), [(model, machine_of(machine)) for model, machine in _pairs(models)]
    names = [machine.name for _, machine in pairs]
    if not names or len(set(names)) < len(names):
        raise UsageError(f"got machines {', '.join(names) or 'none'}, expected at least one, each once")
    asked = SearchOptions(window_of(job, minibatch), **of_job(job, options))
    sizes = Sizes(n_nodes, n_gpus_per_node, subbatch_size)
    distinct = list({id(model): None for model, _ in pairs})
    found = [
        search_once(
            model,
            cnn,
            machine,
            # Two models that were drawn from one stream of chance would err together.
            replace(asked, seed=asked.seed + distinct.index(id(model))),
            search_configs(cnn, machine, job, sizes, ignore_memory=asked.ignore_memory),
        )
        for model, machine in pairs
    ]
    return _merged(found, asked)


def _pairs(models: Any) -> list[tuple[Any, Any]]:
    """The pairs of a model and its machine; UsageError: something else."""
    pairs = list(models) if isinstance(models, Iterable) and not isinstance(models, (str, bytes, Mapping)) else None
    if pairs is None or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        hint = 'As in [(model, "dgx-h100"), (other, "cpu-cluster")].'
        raise UsageError(f"got {models!r:.60}, expected pairs of a model and a machine", place="models", hint=hint)
    return pairs


def _merged(found: Sequence[MachineRanking], options: SearchOptions) -> MachineSearch:
    column = objective_column(options.objective)
    candidates = pd.concat([one.candidates.assign(machine=one.result.machine) for one in found], ignore_index=True)
    draws = reduce(CandidateDraws.joined, [one.draws for one in found])
    n_gpus = candidates["n_nodes"] * candidates["n_gpus_per_node"]
    order = np.lexsort((n_gpus, candidates[column])) if len(candidates) else np.zeros(0, dtype=int)
    order = order[: max(options.top, N_CANDIDATES)]
    candidates, draws = candidates.iloc[order], draws.take(order)
    low, high = rank_bounds(draws)
    ranked = candidates.assign(rank=np.arange(1, len(order) + 1), first_share=first_share(draws), rank_low=low, rank_high=high)
    return MachineSearch(
        best=in_order(ranked.iloc[: options.top]),
        pareto=_front(found, column),
        stability=rank_stability(draws, candidates[column].to_numpy(float)) if len(order) else None,
        searches=tuple(one.result for one in found),
    )


def _front(found: Sequence[MachineRanking], column: str) -> pd.DataFrame:
    rows = pd.concat([one.result.pareto.assign(machine=one.result.machine) for one in found], ignore_index=True)
    n_gpus = rows["n_nodes"] * rows["n_gpus_per_node"]
    rows = rows.iloc[np.lexsort((rows[column], n_gpus))] if len(rows) else rows
    least = rows[column].cummin().shift(fill_value=np.inf)
    return rows[rows[column] < least].reset_index(drop=True)
