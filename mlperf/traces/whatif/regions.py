"""Parallel regions and steps: who computes, communicates and waits how long in the k-th pass through a region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.replay.run import Replay

DEFAULT_REGION = "PRGN"
WHOLE_RUN = "whole run"
"""The region of a trace that marks none."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The passes through one parallel region, and what every rank does in them.

    Times in nanoseconds as recorded; waits and the times without them are the replay's split.

    Attributes
    ----------
    region : str
        Its name.
    begin_ns, end_ns : array of int64, shape (n_ranks, n_steps)
        The k-th interval of every rank.
    call_step : array of int64, shape (n_calls,)
        Step in which each call starts, on its own rank; -1 outside.
    compute_ns, communication_ns, wait_ns : array of int64, shape (n_ranks, n_steps)
        Computation; calls without their waits; waits. A call counts in the step in which it starts.
    sent_bytes : array of int64, shape (n_ranks, n_steps)
    edge, edge_step, overlap_ns : array of int64, shape (n_overlaps,)
        Computations (as numbered in `Times.compute_ns`), the step, and how much of the computation lies in it.
    """

    region: str
    begin_ns: IntArray
    end_ns: IntArray
    call_step: IntArray
    compute_ns: IntArray
    communication_ns: IntArray
    wait_ns: IntArray
    sent_bytes: IntArray
    edge: IntArray
    edge_step: IntArray
    overlap_ns: IntArray

    @property
    def n_steps(self) -> int:
        """Passes of every rank."""
        return int(self.begin_ns.shape[1])

    @property
    def sigma_ns(self) -> FloatArray:
        """Standard deviation of the ranks' computing time in each step, sigma(t_k) of PerWiz, shape (n_steps,)."""
        return np.asarray(self.compute_ns.std(axis=0))


def region_names(table: EventTable) -> dict[str, int]:
    """Regions of a trace and how many passes all ranks make through each."""
    names, counts = np.unique(table.name[table.kind == Kind.REGION], return_counts=True)
    return {table.strings[name]: int(count) for name, count in zip(names.tolist(), counts.tolist(), strict=True) if name >= 0}


def steps_of(run: Replay, region: str | None = None) -> Steps:
    """Lay a run's calls and computations into the steps of a region.

    Parameters
    ----------
    run : Replay
        The unmodified run.
    region : str, optional
        Its name; without one ``PRGN`` if the trace has it, else the only one; of a trace without any, the whole run as one step.

    Raises
    ------
    UsageError
        There is no such region, or several and none is named.
    DataError
        Ranks make different numbers of passes, or passes of one rank overlap.
    """
    table = run.program.table
    name = chosen_region(table, region)
    n_ranks = run.program.n_ranks
    if name == WHOLE_RUN:
        begin, end = np.zeros((n_ranks, 1), dtype=np.int64), run.program.rank_end_ns[:, None]
    else:
        begin, end = _intervals(table, name, n_ranks)
    calls = run.program.calls
    step = np.full(len(calls), UNSET, dtype=np.int64)
    for rank in range(run.program.n_ranks):
        mine = slice(int(calls.first[rank]), int(calls.first[rank + 1]))
        place = np.searchsorted(begin[rank], calls.start_ns[mine], side="right") - 1
        step[mine] = np.where((place >= 0) & (calls.start_ns[mine] < end[rank][np.maximum(place, 0)]), place, UNSET)
    edge, edge_step, overlap = _overlaps(run, begin, end)
    shape = begin.shape
    edge_rank = np.concatenate((calls.rank, np.arange(run.program.n_ranks)))
    wait = np.minimum(run.waits.call_ns, calls.end_ns - calls.start_ns)
    inside = step >= 0
    messages = run.program.messages
    sent = step[messages.send_call] >= 0
    return Steps(
        name,
        begin,
        end,
        step,
        _summed(shape, edge_rank[edge], edge_step, overlap),
        _summed(shape, calls.rank[inside], step[inside], (calls.end_ns - calls.start_ns - wait)[inside]),
        _summed(shape, calls.rank[inside], step[inside], wait[inside]),
        _summed(shape, calls.rank[messages.send_call[sent]], step[messages.send_call[sent]], messages.size_bytes[sent]),
        edge,
        edge_step,
        overlap,
    )


def balanced_sizes(size_bytes: IntArray, rank: IntArray, step: IntArray, sent_bytes: IntArray) -> IntArray:
    """Messages scaled so that every rank that sends in a step sends the mean of all ranks, bytes; others as they are.

    Parameters
    ----------
    size_bytes, rank, step : array, shape (n_messages,)
        Payload, sender, and step of the send (-1: none).
    sent_bytes : array, shape (n_ranks, n_steps)
    """
    inside = step >= 0
    own = sent_bytes[rank, np.maximum(step, 0)]
    mean = sent_bytes.mean(axis=0)[np.maximum(step, 0)]
    scaled = np.rint(size_bytes * mean / np.maximum(own, 1)).astype(np.int64)
    return np.where(inside & (own > 0), scaled, size_bytes)


def chosen_region(table: EventTable, region: str | None) -> str:
    """The region that is meant, as `steps_of` has it."""
    known = region_names(table)
    if region is None:
        region = DEFAULT_REGION if DEFAULT_REGION in known else next(iter(known), "") if len(known) == 1 else ""
    if region in known:
        return region
    if not known and region == "":
        return WHOLE_RUN
    if not known:
        hint = "Mark it in the program (mlperf trace record --help), or leave the name out: the whole run is one step."
        raise UsageError(f"no region {region!r}: the trace marks none", hint=hint)
    several = f"the trace has regions {', '.join(sorted(known))}; say which" if not region else f"no region {region!r}"
    raise UsageError(f"{several}. {did_you_mean(region, known)}")


def _intervals(table: EventTable, name: str, n_ranks: int) -> tuple[IntArray, IntArray]:
    """Begins and ends of a region's passes, shape (n_ranks, n_steps)."""
    rows = np.flatnonzero((table.kind == Kind.REGION) & (table.name == table.strings.index(name)) & (table.rank >= 0))
    rows = rows[np.lexsort((table.start_ns[rows], table.rank[rows]))]
    counts = np.bincount(table.rank[rows], minlength=n_ranks)
    if np.any(counts != counts[0]):
        usual = int(np.bincount(counts).argmax())
        others = ", ".join(f"rank {rank}: {counts[rank]}" for rank in np.flatnonzero(counts != usual)[:5].tolist())
        hint = "A step is the k-th pass of every rank: all must make the same number, also those that have nothing to do in it."
        raise DataError(f"region {name}: most ranks make {usual} passes, but {others}", place=table.place, hint=hint)
    begin, end = (values[rows].reshape(n_ranks, -1) for values in (table.start_ns, table.end_ns))
    overlapping = np.argwhere(begin[:, 1:] < end[:, :-1])
    if len(overlapping):
        rank, step = overlapping[0].tolist()
        told = f"region {name}: passes {step} and {step + 1} of rank {rank} overlap"
        raise DataError(told, place=table.place, hint="Nested regions need other names.")
    return begin, end


def _overlaps(run: Replay, begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Computations, steps, and the time of each computation that lies in each step."""
    calls, n_ranks = run.program.calls, run.program.n_ranks
    before = np.where(calls.before < 0, 0, calls.end_ns[calls.before])
    last = calls.first[1:] - 1
    has_calls = np.diff(calls.first) > 0
    begins = np.concatenate((before, np.where(has_calls, calls.end_ns[last], 0)))
    ends = np.concatenate((calls.start_ns, run.program.rank_end_ns))
    found = []
    for own in range(n_ranks):
        edges = computations_of_rank(run, own)
        edges = edges[ends[edges] > begins[edges]]
        low = np.searchsorted(end[own], begins[edges], side="right")
        high = np.searchsorted(begin[own], ends[edges], side="left")
        count = np.maximum(high - low, 0)
        edge = np.repeat(edges, count)
        step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
        found.append((edge, step, np.minimum(ends[edge], end[own][step]) - np.maximum(begins[edge], begin[own][step])))
    edge, step, overlap = (np.concatenate(each).astype(np.int64) for each in zip(*found, strict=True))
    return edge, step, overlap


def computations_of_rank(run: Replay, rank: int) -> IntArray:
    """A rank's computations as numbered in `Times.compute_ns`: before each of its calls, and behind the last."""
    calls = run.program.calls
    return np.append(np.arange(int(calls.first[rank]), int(calls.first[rank + 1])), len(calls) + rank)


def _summed(shape: tuple[int, ...], rank: IntArray, step: IntArray, values: IntArray) -> IntArray:
    """Sums by rank and step."""
    total = np.zeros(shape, dtype=np.int64)
    np.add.at(total, (rank, step), values)
    return total
