"""Computations cut where passes through regions begin and end, so that edits of regions that share one can be made together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.events.kinds import UNSET
from mlperf.traces.replay.run import Replay
from mlperf.traces.whatif.regions import Steps


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Parts of computations, each inside or outside of every region.

    Attributes
    ----------
    edge : array of int64, shape (n_pieces,)
        Computation that each is part of, as numbered in `Times.compute_ns`.
    step : array of int64, shape (n_regions, n_pieces)
        Pass through each region that it lies in, -1 outside.
    lasts_ns : array of float, shape (n_pieces,)
        Nanoseconds; below 0 where calls overlap.
    """

    edge: IntArray
    step: IntArray
    lasts_ns: FloatArray

    def balanced(self, region: int, step: int, change_ns: FloatArray) -> Pieces:
        """The same with one step balanced: its pieces share what their computation changes by (`change_ns`, of every computation).

        A computation that gains and has no piece in the step gets one.
        """
        inside = np.flatnonzero(self.step[region] == step)
        edge = self.edge[inside]
        own = np.bincount(edge, self.lasts_ns[inside], len(change_ns))
        lasts = self.lasts_ns.copy()
        whole = lasts[inside] == own[edge]
        wanted = own[edge] + change_ns[edge]
        lasts[inside] = np.where(whole, wanted, lasts[inside] * wanted / np.maximum(own[edge], 1.0))
        new = np.flatnonzero((own == 0) & (change_ns > 0))
        steps = np.full((len(self.step), len(new)), UNSET, dtype=np.int64)
        steps[region] = step
        return dataclasses.replace(
            self,
            edge=np.concatenate((self.edge, new)),
            step=np.concatenate((self.step, steps), axis=1),
            lasts_ns=np.concatenate((lasts, change_ns[new])),
        )


def pieces_of(run: Replay, regions: Sequence[Steps]) -> Pieces:
    """Cut a run's computations at the begins and ends of all passes through these regions."""
    calls, n_ranks = run.program.calls, run.program.n_ranks
    compute = run.times.compute_ns.astype(np.int64)
    before = calls.before
    last = np.where(np.diff(calls.first) > 0, calls.end_ns[calls.first[1:] - 1], 0)
    begin = np.concatenate((np.where(before < 0, 0, calls.end_ns[before]), last))
    rank = np.concatenate((calls.rank, np.arange(n_ranks)))
    edge, start, end = [np.flatnonzero(compute <= 0)], [begin[compute <= 0]], [(begin + compute)[compute <= 0]]
    for own in range(n_ranks):
        mine = np.flatnonzero((rank == own) & (compute > 0))
        marks = np.unique(np.concatenate([begin[:0], *(side[own] for steps in regions for side in (steps.begin_ns, steps.end_ns))]))
        low = np.searchsorted(marks, begin[mine], side="right")
        high = np.searchsorted(marks, begin[mine] + compute[mine], side="left")
        n_cuts = np.maximum(high - low, 0)
        parts = np.repeat(np.arange(len(mine)), n_cuts + 1)
        place = np.arange(len(parts)) - np.repeat(np.cumsum(n_cuts + 1) - n_cuts - 1, n_cuts + 1)
        at = np.append(marks, 0)
        first, final = place == 0, place == n_cuts[parts]
        edge.append(mine[parts])
        start.append(np.where(first, begin[mine][parts], at[np.maximum(low[parts] + place - 1, 0)]))
        end.append(np.where(final, (begin + compute)[mine][parts], at[np.minimum(low[parts] + place, len(marks))]))
    edges, starts, ends = (np.concatenate(each) for each in (edge, start, end))
    step = np.full((len(regions), len(edges)), UNSET, dtype=np.int64)
    for number, steps in enumerate(regions):
        for own in range(n_ranks):
            of = np.flatnonzero((rank[edges] == own) & (ends > starts))
            found = np.searchsorted(steps.begin_ns[own], starts[of], side="right") - 1
            step[number, of] = np.where((found >= 0) & (starts[of] < steps.end_ns[own][np.maximum(found, 0)]), found, UNSET)
    return Pieces(edges, step, (ends - starts).astype(np.float64))
