"""What collective operations send from rank to rank if they are rings in the order of ranks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable

PASSED_ON: Mapping[str, Callable[[int], float]] = {
    "allreduce": lambda n: 2.0 * (n - 1) / n,
    "reducescatter": lambda n: (n - 1) / n,
    "allgather": lambda n: float(n - 1),
}
"""What each of n members passes on to the next, in parts of what it puts in (Thakur, Rabenseifner and Gropp 2005)."""


@dataclass(frozen=True, slots=True, eq=False)
class RingTraffic:
    """Traffic of collective operations, one entry a member and operation.

    Attributes
    ----------
    sender, receiver : array of int64
        Ranks.
    rows : array of int64
        The sender's events.
    size_bytes : array
    n_left_out : int
        Calls of operations whose members or kind are not known.
    """

    sender: IntArray
    receiver: IntArray
    rows: IntArray
    size_bytes: FloatArray
    n_left_out: int


def ring_traffic(events: EventTable) -> RingTraffic:
    """Traffic of all-reduce, reduce-scatter and all-gather over rings that go by rank.

    Members of an operation are the ranks whose events share `corr`; an operation with one member, of another kind, or without a
    size is left out and counted.
    """
    rows = np.flatnonzero(events.kind == Kind.COLL)
    words = {number: _kind(text) for number, text in enumerate(events.strings)}
    kind = np.array([words.get(number, "") for number in events.name[rows].tolist()], dtype=object)
    usable = (kind != "") & (events.corr[rows] != UNSET) & (events.rank[rows] != UNSET) & (events.size_bytes[rows] > 0)
    own, kind = rows[usable], kind[usable]
    order = np.lexsort((events.rank[own], events.corr[own]))
    own, kind = own[order], kind[order]
    cuts = np.flatnonzero(np.diff(events.corr[own])) + 1
    taken, receivers, sizes = [], [], []
    for members, words_of in zip(np.split(own, cuts), np.split(kind, cuts), strict=True):
        ranks = events.rank[members]
        if len(members) < 2 or len(np.unique(ranks)) < len(members):
            continue
        taken.append(members)
        receivers.append(np.roll(ranks, -1))
        sizes.append(events.size_bytes[members] * PASSED_ON[str(words_of[0])](len(members)))
    found = np.concatenate(taken) if taken else own[:0]
    return RingTraffic(
        sender=events.rank[found].astype(np.int64),
        receiver=np.concatenate(receivers).astype(np.int64) if receivers else found,
        rows=found,
        size_bytes=np.concatenate(sizes) if sizes else np.zeros(0),
        n_left_out=len(rows) - len(found),
    )


def _kind(text: str) -> str:
    """Kind of an operation by its name: of MPI, NCCL or a profiler."""
    plain = re.sub(r"[^a-z]", "", text.lower())
    return next((word for word in PASSED_ON if word in plain), "")
