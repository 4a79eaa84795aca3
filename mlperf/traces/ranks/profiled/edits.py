"""Assumptions about training ranks as changes of the graph's weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.durations import number_in
from mlperf.core.errors import UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.traces.events.kinds import Kind
from mlperf.traces.ranks.profiled.graph import RankGraph

BALANCED, FASTER, REMOVED, ON_TIME = "balanced", "faster-network", "without-kernel", "on-time"
HINT = f"{FASTER}=2, {BALANCED}, {ON_TIME}=RANK, {REMOVED}=REGEX; several joined by ' + ' hold together."


def changed_weights(graph: RankGraph, assumption: str) -> IntArray:
    """Weights under an assumption, in the builder's order.

    Parameters
    ----------
    graph : RankGraph
    assumption : str
        ``faster-network=F``: what a collective operation takes after its last member has come is divided by F. ``balanced``:
        before each operation every rank takes the mean of all ranks' times since their last one. ``on-time=RANK``: that rank takes
        at most the median. ``without-kernel=REGEX``: such kernels take no time. Several, joined by ``" + "``.

    Raises
    ------
    UsageError
        It is none of these, or nothing fits it.
    """
    weights = graph.weight_ns.copy()
    for part in assumption.split(" + "):
        name, _, value = (word.strip() for word in part.partition("="))
        if name not in EDITS:
            raise UsageError(f"no assumption {part!r}. {did_you_mean(name, EDITS)}", hint=HINT)
        EDITS[name](graph, weights, value)
    return weights


def _faster(graph: RankGraph, weights: IntArray, value: str) -> None:
    """Divide what operations take."""
    factor = _number(FASTER, value)
    edges = graph.run_edge[graph.operation >= 0]
    weights[edges] = np.rint(weights[edges] / factor).astype(np.int64)


def _number(name: str, value: str) -> float:
    """A factor above 0."""
    number = number_in(value)
    if not (number > 0 and np.isfinite(1.0 / number)):
        raise UsageError(f"got {name}={value!r}, expected a number > 0", hint=HINT)
    return number


def _without_kernel(graph: RankGraph, weights: IntArray, value: str) -> None:
    """Kernels of a name take no time."""
    try:
        pattern = re.compile(value)
    except re.error as error:
        raise UsageError(f"got {value!r}, expected a regular expression ({error})", hint=HINT) from None
    fits = np.array([bool(value and pattern.search(text)) for text in graph.table.strings] + [False], dtype=bool)
    items = np.flatnonzero((graph.table.kind[graph.rows] == Kind.KERNEL) & fits[graph.table.name[graph.rows]])
    if not len(items):
        raise UsageError(f"no kernel's name fits {value!r}", hint="The names stand under the kernels of `mlperf trace ranks`.")
    weights[graph.run_edge[items]] = 0


def _balanced(graph: RankGraph, weights: IntArray, value: str) -> None:
    """Every rank takes the mean."""
    if value:
        raise UsageError(f"{BALANCED} takes no value, got {value!r}", hint=HINT)
    _shift(graph, weights, lambda taken, _: np.rint(np.nanmean(taken, axis=0)) - taken)


def _on_time(graph: RankGraph, weights: IntArray, value: str) -> None:
    """One rank takes at most the median."""
    ranks = [program.rank for program in graph.programs]
    if not value.isdigit() or int(value) not in ranks:
        raise UsageError(f"got {ON_TIME}={value!r}, expected one of the ranks {', '.join(map(str, ranks))}", hint=HINT)
    place = ranks.index(int(value))

    def rule(taken: FloatArray, _: IntArray) -> FloatArray:
        change = np.zeros_like(taken)
        change[place] = np.minimum(np.rint(np.nanmedian(taken, axis=0)) - taken[place], 0)
        return change

    _shift(graph, weights, rule)


EDITS: Mapping[str, Callable[[RankGraph, IntArray, str], None]] = {
    BALANCED: _balanced,
    FASTER: _faster,
    REMOVED: _without_kernel,
    ON_TIME: _on_time,
}


def _shift(graph: RankGraph, weights: IntArray, rule: Callable[[FloatArray, IntArray], FloatArray]) -> None:
    """Change how long ranks take until they are at an operation, in place.

    A change stands where the time went: before the host's launch where only that was missing, else before the member itself.
    """
    taken, items = segments(graph)
    if not taken.size:
        return
    change = np.nan_to_num(rule(taken, items), nan=0.0).astype(np.int64)
    known = items >= 0
    np.add.at(weights, graph.launch_edge[items[known]], change[known])


def segments(graph: RankGraph) -> tuple[FloatArray, IntArray]:
    """How long each rank took from its last collective operation (the start of the recording of all) to each.

    Returns
    -------
    tuple of float array and int64 array, shape (n_ranks, n_operations)
        Nanoseconds by operation that all ranks are members of (NaN where none), and the items that are the members (-1).
    """
    members = np.flatnonzero(graph.operation >= 0)
    ranks = [program.rank for program in graph.programs]
    n_operations = int(graph.operation.max(initial=-1)) + 1
    items = np.full((len(ranks), n_operations), -1, dtype=np.int64)
    row_of = {rank: place for place, rank in enumerate(ranks)}
    place = np.array([row_of[rank] for rank in graph.table.rank[graph.rows[members]].tolist()], dtype=np.int64)
    items[place, graph.operation[members]] = members
    taken = np.full(items.shape, np.nan)
    for rank in range(len(ranks)):
        own = np.flatnonzero(items[rank] >= 0)
        own = own[np.argsort(graph.table.start_ns[graph.rows[items[rank, own]]], kind="stable")]
        rows = graph.rows[items[rank, own]]
        ended = np.maximum.accumulate(graph.table.end_ns[rows])
        since = np.concatenate(([graph.origin_ns], ended[:-1])) if len(own) else ended
        taken[rank, own] = np.maximum(graph.table.start_ns[rows] - since, 0)
    whole = (items >= 0).sum(axis=0) == len(ranks)
    items[:, ~whole] = -1
    taken[:, ~whole] = np.nan
    return taken[:, whole], items[:, whole]
