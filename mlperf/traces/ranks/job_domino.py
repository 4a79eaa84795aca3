"""The domino path of one step of a job: which wait at an exchange to remove first, and which waits fall with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.graph.dag import NEVER
from mlperf.traces.ranks.job_graph import JobGraph
from mlperf.traces.ranks.job_sweep import StepSweep
from mlperf.traces.whatif.candidates import Candidates, ranked


@dataclass(frozen=True, slots=True, eq=False)
class JobDomino:
    """One chain of waits of a step without gaps, as it was found: the last is the first domino to push.

    Attributes
    ----------
    operations : array of int64, shape (n_dominoes,)
        Operations that wait.
    partners : array of int64, shape (n_dominoes,)
        Those that come last to the same exchange.
    wait_ns : array of int64, shape (n_dominoes,)
        How long each waits.
    total_ns : array of int64, shape (n_dominoes,)
        T' if that wait alone were gone, its partner having come in time.
    """

    operations: IntArray
    partners: IntArray
    wait_ns: IntArray
    total_ns: IntArray


def job_domino(swept: StepSweep, worker: IntArray) -> JobDomino:
    """Follow, from the last exchange of every worker, the best wait to remove, its partner, the best one there before, and so on.

    Of equally good waits the latest is followed.

    Parameters
    ----------
    swept : StepSweep
        Of the step.
    worker : array of int64, shape (n_operations,)
        The worker of each operation, numbered from 0.

    References
    ----------
    PerWiz (Ino et al.), section 3.1 and figure 3, with members of an exchange in place of sender and receiver.
    """
    order, known, wait = _known(swept, worker)
    firsts = [events for rank in range(len(known.last)) if (events := known.first(rank))]
    best = min((_chain(known, events[0]) for events in firsts), key=lambda path: known.total(path[-1]), default=[])
    path = np.array(best, dtype=np.int64)
    return JobDomino(order[path], order[known.partner[path]], wait[path], known.moved_ns[path])


def _chain(known: Candidates, event: int) -> list[int]:
    """Events found from the first one on."""
    path = [event]
    while (following := known.following(path[-1])) and following[0] not in path:
        path.append(following[0])
    return path


def _known(swept: StepSweep, worker: IntArray) -> tuple[IntArray, Candidates, IntArray]:
    """Members of exchanges worker by worker in the order of their starts; what the search looks up; their waits."""
    graph = swept.graph
    members = np.flatnonzero(graph.exchange >= 0)
    start = swept.start_ns
    order = members[np.lexsort((graph.start_node[members], start[members], worker[members]))]
    last = last_of_exchange(graph, start)[graph.exchange[order]]
    wait = start[last] - start[order]
    moved = np.where(wait > 0, swept.moved(graph.start_node[last], start[order]), -NEVER)
    rank = worker[order]
    place = np.empty(graph.n_operations, dtype=np.int64)
    place[order] = np.arange(len(order))
    first = np.searchsorted(rank, np.arange(int(worker.max()) + 2))
    return order, ranked(swept.total_ns, moved, place[last], first), wait


def last_of_exchange(graph: JobGraph, start_ns: IntArray) -> IntArray:
    """The member of each exchange that starts last, shape (n_exchanges,)."""
    members = np.flatnonzero(graph.exchange >= 0)
    members = members[np.lexsort((start_ns[members], graph.exchange[members]))]
    ends = np.searchsorted(graph.exchange[members], np.arange(graph.n_exchanges), side="right") - 1
    return np.asarray(members[ends])
