"""Collective operations of several ranks: who came when, and whether the time went into waiting or into the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.ranks.profiled.graph import RankGraph
from mlperf.traces.readers.chrome.categories import operation_of

TRANSFER, ARRIVAL, LAUNCH, INCONCLUSIVE = "transfer", "arrival skew", "launch skew", "inconclusive"
NS = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """Members of collective operations.

    Attributes
    ----------
    operations : DataFrame
        One row an operation in order of its end: ``operation, comm, step, n_members, last_rank, transfer_s`` (from the last
        member's begin to the last end), ``skew_s`` (from the first to the last begin) and of it ``launch_skew_s`` (the last
        member's device was ready and its host had not launched) and ``arrival_skew_s`` (its device was not ready), ``waited_s``
        (of all members together), ``verdict`` (the largest of the three parts, or ``inconclusive``), ``why`` (it is).
    rank : array of int64, shape (n_members,)
        Of each member's row.
    operation : array of int64, shape (n_members,)
        Row of ``operations``.
    late_s : array, shape (n_members,)
        How long after the first member each began, seconds.
    """

    operations: pd.DataFrame
    rank: IntArray
    operation: IntArray
    late_s: FloatArray


def arrivals(graph: RankGraph, step: IntArray) -> Arrivals:
    """Look at all collective operations.

    Parameters
    ----------
    graph : RankGraph
    step : array of int64, shape (n_items,)
        Step of each item, -1 for none.
    """
    table = graph.table
    items = np.flatnonzero((table.kind[graph.rows] == Kind.COLL) & (table.corr[graph.rows] != UNSET))
    _, number = np.unique(table.corr[graph.rows[items]], return_inverse=True)
    number = number.reshape(-1)
    rows, late = [], np.zeros(len(items))
    n_ranks = len(graph.programs)
    ends = np.zeros(int(number.max(initial=-1)) + 1)
    for operation in range(len(ends)):
        members = np.flatnonzero(number == operation)
        found = graph.rows[items[members]]
        late[members] = (table.start_ns[found] - table.start_ns[found].min()) * NS
        ends[operation] = table.end_ns[found].max()
        rows.append(_operation(graph, items[members], int(step[items[members[0]]]), n_ranks))
    order = np.argsort(ends, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    frame = pd.DataFrame(rows).iloc[order].reset_index(drop=True) if rows else pd.DataFrame()
    return Arrivals(frame, table.rank[graph.rows[items]].astype(np.int64), place[number] if rows else number, late)


def _operation(graph: RankGraph, members: IntArray, step: int, n_ranks: int) -> dict[str, object]:
    """One operation split."""
    table = graph.table
    rows = graph.rows[members]
    start, end = table.start_ns[rows], table.end_ns[rows]
    last = int(np.argmax(start))
    skew = int(start.max() - start.min())
    # While the last member's device was ready, its host kept all others waiting.
    device_late = int(graph.ready_ns[members[last]] + graph.origin_ns - start.min())
    by_launch = graph.launch_edge[members[last]] != graph.wait_edge[members[last]]
    launch = int(np.clip(skew - max(device_late, 0), 0, skew)) if by_launch else 0
    transfer = int(end.max() - start.max())
    why = _doubt(table, rows, graph.operation[members], n_ranks, skew, transfer)
    parts = {TRANSFER: transfer, ARRIVAL: skew - launch, LAUNCH: launch}
    return {
        "operation": operation_of(table.text(table.name[rows[:1]])[0]),
        "comm": _group_name(table, int(table.comm[rows[0]])),
        "step": step,
        "n_members": len(rows),
        "last_rank": int(table.rank[rows[last]]) if not why else UNSET,
        "transfer_s": transfer * NS if not why else np.nan,
        "skew_s": skew * NS,
        "arrival_skew_s": (skew - launch) * NS if not why else np.nan,
        "launch_skew_s": launch * NS if not why else np.nan,
        "waited_s": float((start.max() - start).sum()) * NS,
        "verdict": INCONCLUSIVE if why else max(parts, key=lambda name: parts[name]),
        "why": why,
    }


def _doubt(table: EventTable, rows: IntArray, operation: IntArray, n_ranks: int, skew: int, transfer: int) -> str:
    """Why nothing can be said of an operation; empty where something can."""
    if n_ranks == 1:
        return "one rank alone tells no waiting from transfer"
    if len(rows) == 1:
        return "other ranks' members are not in the trace"
    if (operation < 0).any():
        return "it ends on one rank before it begins on another, or lacks members"
    told = table.attributes.get("clock_uncertainty_ns", {})
    known = [float(told[rank]) for rank in table.rank[rows].tolist() if rank in told] if isinstance(told, Mapping) else []
    unsure = 2 * max(known, default=0.0)
    return "clocks are known no better" if unsure > max(skew, transfer) else ""


def _group_name(table: EventTable, comm: int) -> str:
    """What a process group is called."""
    names = table.attributes.get("communicators", {})
    return str(names.get(comm, "" if comm < 0 else comm)) if isinstance(names, Mapping) else ""


def lateness(found: Arrivals, ranks: list[int], steps: list[int]) -> FloatArray:
    """How much later than the first each rank came, summed over a step's operations that can be judged.

    Returns
    -------
    array, shape (n_steps, n_ranks)
        Seconds.
    """
    late = np.zeros((len(steps), len(ranks)))
    if found.operations.empty:
        return late
    of_step = found.operations["step"].to_numpy()[found.operation]
    judged = (found.operations["verdict"] != INCONCLUSIVE).to_numpy()[found.operation]
    column = {rank: place for place, rank in enumerate(ranks)}
    row = {step: place for place, step in enumerate(steps)}
    for step, rank, value, good in zip(of_step.tolist(), found.rank.tolist(), found.late_s.tolist(), judged.tolist(), strict=True):
        if good and step in row:
            late[row[step], column[rank]] += value
    return late
