"""Parallel efficiency of a run and its factors, by the names of POP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.shown import Shown
from mlperf.traces.replay.run import Replay
from mlperf.traces.whatif.load import Validation, validation_of

NS = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Efficiency(Shown):
    """Factors of the parallel efficiency; each is a share of 1.

    Attributes
    ----------
    source : str
    time_s, ideal_s : float
        T of the replay, and on a network that takes no time, seconds.
    load_balance : float
        Mean over largest useful computation of a rank.
    serialisation : float
        Largest useful computation over T on the ideal network: what waiting for one another costs even there.
    transfer : float
        T on the ideal network over T.
    communication : float
        serialisation x transfer: largest useful computation over T.
    parallel : float
        load_balance x communication: mean useful computation over T.
    ranks : DataFrame
        Useful computation of every rank, seconds, and its share of T.
    validation : Validation

    References
    ----------
    POP Centre of Excellence, standard metrics for parallel performance analysis.
    """

    source: str
    time_s: float
    ideal_s: float
    load_balance: float
    serialisation: float
    transfer: float
    communication: float
    parallel: float
    ranks: pd.DataFrame
    validation: Validation

    def to_frame(self) -> pd.DataFrame:
        """One row a factor."""
        names = ("parallel", "load_balance", "communication", "serialisation", "transfer")
        return pd.DataFrame([(name, getattr(self, name)) for name in names], columns=["efficiency", "value"])


def efficiency(run: Replay) -> Efficiency:
    """Split a run's efficiency into load balance, serialisation and transfer."""
    useful = useful_ns(run)
    ideal = ideal_ns(run)
    total, mean, largest = float(run.total_ns), float(useful.mean()), float(useful.max())
    return Efficiency(
        source=", ".join(run.program.table.sources),
        time_s=total * NS,
        ideal_s=ideal * NS,
        load_balance=_ratio(mean, largest),
        serialisation=_ratio(largest, ideal),
        transfer=_ratio(ideal, total),
        communication=_ratio(largest, total),
        parallel=_ratio(mean, total),
        ranks=pd.DataFrame({"rank": np.arange(len(useful)), "compute_s": useful * NS, "share": useful / max(total, 1.0)}),
        validation=validation_of(run),
    )


def _ratio(part: float, whole: float) -> float:
    """A share; NaN of nothing."""
    return part / whole if whole > 0 else float("nan")


def useful_ns(run: Replay) -> IntArray:
    """What every rank computes, nanoseconds, shape (n_ranks,)."""
    calls, n_ranks = run.program.calls, run.program.n_ranks
    rank = np.concatenate((calls.rank, np.arange(n_ranks)))
    return np.bincount(rank, np.maximum(run.times.compute_ns, 0), minlength=n_ranks).astype(np.int64)


def ideal_ns(run: Replay) -> int:
    """T on a network on which messages and collective operations take no time, nanoseconds."""
    zero = {name: np.zeros_like(getattr(run.times, name)) for name in ("own_ns", "send_ns", "recv_ns", "off_ns", "gap_ns")}
    return run.again(times=run.times.replace(**zero)).total_ns
