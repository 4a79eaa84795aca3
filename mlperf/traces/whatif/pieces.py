"""Computations cut where passes through regions begin and end, so that edits of regions that share one can be made together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.events.kinds import UNSET
from mlperf.traces.replay.run import Replay
from mlperf.traces.whatif.regions import Steps, computations_of_rank, steps_of


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
    edge, start, end = [np.flatnonzero(compute <= 0)], [begin[compute <= 0]], [(begin + compute)[compute <= 0]]
    step = [np.full((len(regions), len(edge[0])), UNSET, dtype=np.int64)]
    for own in range(n_ranks):
        mine = computations_of_rank(run, own)
        mine = mine[compute[mine] > 0]
        marks = np.unique(np.concatenate([begin[:0], *(side[own] for steps in regions for side in (steps.begin_ns, steps.end_ns))]))
        begins, ends = begin[mine], begin[mine] + compute[mine]
        low = np.searchsorted(marks, begins, side="right")
        high = np.searchsorted(marks, ends, side="left")
        n_cuts = np.maximum(high - low, 0)
        parts = np.repeat(np.arange(len(mine)), n_cuts + 1)
        place = np.arange(len(parts)) - np.repeat(np.cumsum(n_cuts + 1) - n_cuts - 1, n_cuts + 1)
        at = np.append(marks, 0)
        first, final = place == 0, place == n_cuts[parts]
        edge.append(mine[parts])
        start.append(np.where(first, begins[parts], at[np.maximum(low[parts] + place - 1, 0)]))
        end.append(np.where(final, ends[parts], at[np.minimum(low[parts] + place, len(marks))]))
        shape = len(regions), len(parts)
        step.append(np.array([_steps_at(steps, own, start[-1]) for steps in regions], dtype=np.int64).reshape(shape))
    edges, starts, ends_of_pieces = (np.concatenate(each) for each in (edge, start, end))
    return Pieces(edges, np.concatenate(step, axis=1), (ends_of_pieces - starts).astype(np.float64))


def _steps_at(steps: Steps, rank: int, at_ns: IntArray) -> IntArray:
    """Passes of a rank in which some moments lie, -1 outside."""
    found = np.searchsorted(steps.begin_ns[rank], at_ns, side="right") - 1
    return np.where((found >= 0) & (at_ns < steps.end_ns[rank][np.maximum(found, 0)]), found, UNSET)


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A run laid into the passes through some regions, for as many edits as need them.

    Attributes
    ----------
    steps : mapping of str to Steps
        By the name that edits give a region; empty for the one of a run that needs none.
    regions : tuple of str
        Regions at whose passes the computations are cut, in the order of `Pieces.step`.
    pieces : Pieces
    """

    steps: Mapping[str, Steps]
    regions: tuple[str, ...]
    pieces: Pieces


def cut_at(run: Replay, cutting: Iterable[str], others: Iterable[str] = ()) -> Cut:
    """Lay a run into regions by their names in edits, and cut its computations at the passes through those named first."""
    cutting = tuple(dict.fromkeys(cutting))
    laid = {name: steps_of(run, name or None) for name in dict.fromkeys((*cutting, *others))}
    regions = {laid[name].region: laid[name] for name in cutting}
    return Cut(laid, tuple(regions), pieces_of(run, tuple(regions.values())))
