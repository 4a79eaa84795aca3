"""What is in a trace, and what is wrong with it, before anything is replayed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.traces.events.causality import causality_violations
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TraceCheck(Shown, frame="ranks"):
    """Contents and faults of a trace.

    Attributes
    ----------
    source : str
        Where it came from.
    n_events, n_ranks : int
    span_s : float
        From the first start to the last end, seconds.
    kinds : DataFrame
        Per kind: events, seconds of all of them, bytes.
    ranks : DataFrame
        Per rank: events, first start and last end, seconds in communication, messages sent and received, bytes sent.
    n_messages, n_unmatched, n_wildcard, n_violations, n_different_sizes : int
        Matched messages; ends without partner; receives that took any source or tag; messages received before they were sent;
        messages whose ends tell different sizes.
    worst_violation_s : float
        By how much the worst message is early, seconds.
    clock_uncertainty_s : float
        Largest uncertainty of a rank's clock, seconds; NaN where the format tells nothing.
    notes : tuple of str
        What the reader and the matching met.
    """

    source: str
    n_events: int
    n_ranks: int
    span_s: float
    kinds: pd.DataFrame
    ranks: pd.DataFrame
    n_messages: int
    n_unmatched: int
    n_wildcard: int
    n_violations: int
    n_different_sizes: int
    worst_violation_s: float
    clock_uncertainty_s: float
    notes: tuple[str, ...]


def check_trace(table: EventTable) -> TraceCheck:
    """Count what a matched trace holds, and what no run can have done."""
    violations = causality_violations(table)
    sends = np.flatnonzero((table.match >= 0) & np.isin(table.kind, (int(Kind.SEND), int(Kind.ISEND))))
    uncertainty = table.attributes.get("clock_uncertainty_ns", {})
    known = list(uncertainty.values()) if isinstance(uncertainty, dict) else []
    span_ns = int(table.end_ns.max() - table.start_ns.min()) if len(table) else 0
    return TraceCheck(
        source=", ".join(table.sources) or "a table",
        n_events=len(table),
        n_ranks=table.n_ranks,
        span_s=span_ns * 1e-9,
        kinds=_by_kind(table),
        ranks=_by_rank(table),
        n_messages=len(sends),
        n_unmatched=_count(table, Flag.UNMATCHED),
        n_wildcard=_count(table, Flag.WILDCARD),
        n_violations=violations.n_violations,
        n_different_sizes=int(np.count_nonzero(table.size_bytes[sends] != table.size_bytes[table.match[sends]])),
        worst_violation_s=float(violations.early_ns.max(initial=0)) * 1e-9,
        clock_uncertainty_s=max(known) * 1e-9 if known else float("nan"),
        notes=table.notes,
    )


def _count(table: EventTable, flag: Flag) -> int:
    """Events with a flag."""
    return int(np.count_nonzero(table.flags & int(flag)))


def _by_kind(table: EventTable) -> pd.DataFrame:
    """One row a kind."""
    rows = []
    for number in np.unique(table.kind).tolist():
        of = table.kind == number
        rows.append((Kind(number).name, int(of.sum()), float(table.duration_ns[of].sum()) * 1e-9, int(table.size_bytes[of].sum())))
    return pd.DataFrame(rows, columns=["kind", "n_events", "time_s", "size_bytes"])


def _by_rank(table: EventTable) -> pd.DataFrame:
    """One row a rank."""
    n_ranks = table.n_ranks
    own = table.rank != UNSET
    rank, start, end = table.rank[own], table.start_ns[own], table.end_ns[own]
    first, last = np.full(n_ranks, np.iinfo(np.int64).max), np.zeros(n_ranks, dtype=np.int64)
    np.minimum.at(first, rank, start)
    np.maximum.at(last, rank, end)
    calls = np.isin(table.kind[own], [int(kind) for kind in (Kind.SEND, Kind.RECV, Kind.ISEND, Kind.IRECV, Kind.WAIT, Kind.COLL)])
    second = _second_halves(table)[own]
    sent = np.isin(table.kind[own], (int(Kind.SEND), int(Kind.ISEND)))
    received = np.isin(table.kind[own], (int(Kind.RECV), int(Kind.IRECV)))
    counts = np.bincount(rank, minlength=n_ranks)

    def total(mask: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        found: np.ndarray = np.bincount(rank[mask], None if weights is None else weights[mask], minlength=n_ranks)
        return found

    return pd.DataFrame(
        {
            "rank": np.arange(n_ranks),
            "n_events": counts,
            "first_s": np.where(counts > 0, first * 1e-9, np.nan),
            "last_s": np.where(counts > 0, last * 1e-9, np.nan),
            "communication_s": total(calls & ~second, table.duration_ns[own]) * 1e-9,
            "n_sent": total(sent),
            "n_received": total(received),
            "sent_bytes": total(sent, table.size_bytes[own]).astype(np.int64),
        }
    )


def _second_halves(table: EventTable) -> np.ndarray:
    """Rows that repeat the times of the call whose other half they are."""
    return ((table.flags & int(Flag.PAIRED)) > 0) & np.isin(table.kind, (int(Kind.RECV), int(Kind.IRECV)))
