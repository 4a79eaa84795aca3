"""F3 of PerWiz: how short a run could be if a region were perfect, by sums for each rank, without building the run anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.core.suggest import did_you_mean
from mlperf.traces.replay.run import Replay
from mlperf.traces.replay.timing import network
from mlperf.traces.whatif.combine import retimed
from mlperf.traces.whatif.load import Validation, validation_of
from mlperf.traces.whatif.regions import Steps, balanced_sizes, steps_of

ASSUMPTIONS = {
    "A1": "no call waits",
    "A2": "every rank computes alike long",
    "A3": "every rank sends alike much",
    "communication": "messages take no time",
}
NS = 1e-9
WAITS_KEPT = "A bound may exceed the measured time: without A1 the waits of the run are kept."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bounds(Shown, frame="table"):
    """T under assumptions about one region.

    Attributes
    ----------
    source, region : str
    measured_s : float
        T as recorded, seconds.
    table : DataFrame
        One row a set of assumptions: its label, the rank that ends last, seconds, and what that saves, as seconds and share.
    ranks : DataFrame
        Per rank, in the region: seconds of computation, communication without waits, waits; seconds outside; bytes sent.
    waits_kept : bool
        Whether a bound exceeds the measured time.
    validation : Validation
    """

    source: str
    region: str
    measured_s: float
    table: pd.DataFrame
    ranks: pd.DataFrame
    waits_kept: bool
    validation: Validation


def bounds(run: Replay, region: str | None = None, assumptions: Iterable[frozenset[str]] | None = None) -> Bounds:
    """Bound what a region's waits, computation and volume cost the run.

    Each rank's time is R + C + M + W: outside of the region, its computation, its communication without waits, its waits; T is the
    longest. A1 makes W = 0, A2 makes C the mean of all ranks, A3 gives every rank's messages the mean volume (their times follow
    from the model), ``communication`` makes M = 0. No assumption gives the measured T exactly.

    Parameters
    ----------
    run : Replay
        The unmodified run.
    region : str, optional
        See `steps_of`; without any region in the trace, the whole run.
    assumptions : iterable of sets of names, optional
        Of `ASSUMPTIONS`; without them the eight rows of the paper's table 1.

    References
    ----------
    Kanbe et al. (PerWiz), section 4.1, function F3, and table 1.
    """
    chosen = paper_rows() if assumptions is None else tuple(assumptions)
    for name in (name for one in chosen for name in one):
        if name not in ASSUMPTIONS:
            raise UsageError(f"no assumption {name!r}. {did_you_mean(name, ASSUMPTIONS)}")
    steps = steps_of(run, region)
    compute, communication, wait = (each.sum(axis=1) for each in (steps.compute_ns, steps.communication_ns, steps.wait_ns))
    rest = run.program.rank_end_ns - compute - communication - wait
    volume = _balanced_communication(run, steps)
    rows = [_row(one, rest, compute, communication, wait, volume) for one in chosen]
    table = pd.DataFrame(rows, columns=["assumptions", "slowest_rank", "time_s"])
    measured_s = run.program.measured_ns * NS
    table["saved_s"] = measured_s - table["time_s"]
    table["saved_share"] = table["saved_s"] / measured_s
    ranks = pd.DataFrame(
        {
            "rank": np.arange(len(rest)),
            "compute_s": compute * NS,
            "communication_s": communication * NS,
            "wait_s": wait * NS,
            "outside_s": rest * NS,
            "sent_bytes": steps.sent_bytes.sum(axis=1),
        }
    )
    over = bool((table["time_s"] > measured_s * (1 + 1e-12)).any())
    return Bounds(", ".join(run.program.table.sources), steps.region, measured_s, table, ranks, over, validation_of(run))


def paper_rows() -> tuple[frozenset[str], ...]:
    """All sets of A1, A2 and A3, the empty one first."""
    names = ("A1", "A2", "A3")
    return tuple(frozenset(one) for count in range(4) for one in combinations(names, count))


def label(assumptions: frozenset[str]) -> str:
    """The paper's name of a set of assumptions."""
    return " & ".join(name for name in ASSUMPTIONS if name in assumptions) or "as measured"


def _row(
    assumptions: frozenset[str], rest: IntArray, compute: IntArray, communication: IntArray, wait: IntArray, volume: FloatArray
) -> tuple[str, int, float]:
    """Label, slowest rank and seconds of one set of assumptions."""
    total = bound_ns(assumptions, rest, compute, communication, wait, volume)
    return label(assumptions), int(total.argmax()), float(total.max()) * NS


def bound_ns(
    assumptions: frozenset[str], rest: IntArray, compute: IntArray, communication: IntArray, wait: IntArray, volume: FloatArray
) -> FloatArray:
    """R + C' + M' + W' of every rank, nanoseconds, shape (n_ranks,); ``volume`` is M with the mean volume.

    References
    ----------
    Kanbe et al. (PerWiz), function F3.
    """
    total = rest.astype(np.float64)
    total += compute.mean() if "A2" in assumptions else compute
    if "communication" not in assumptions:
        total += volume if "A3" in assumptions else communication
    if "A1" not in assumptions:
        total += wait
    return total


def _balanced_communication(run: Replay, steps: Steps) -> FloatArray:
    """Communication of every rank in the region if every rank sent the mean volume of each step, shape (n_ranks,).

    Calls outside that receive what was sent inside change with it, maybe by more than there is inside; no call falls below 0.
    A call that sends and receives at once takes as long as the longer of the two; what a posted message takes passes in no call.
    """
    calls, messages = run.program.calls, run.program.messages
    size = balanced_sizes(
        messages.size_bytes, calls.rank[messages.send_call], steps.call_step[messages.send_call], steps.sent_bytes
    )
    change = retimed(run, network(run.timing, size)).own_ns - run.times.own_ns
    return np.asarray(steps.communication_ns.sum(axis=1) + np.bincount(calls.rank, change, run.program.n_ranks))
