"""Recordings of runs over rings whose schedule is known: four devices in a square of links, and a host beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from made_recordings import MS, Made

from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.whole_run.recording import Recording

SQUARE = "\n".join(
    [
        ",HOST,A,B,C,D",
        "HOST,0,10e6,10e6,10e6,10e6",
        "A,10e6,0,0,20e6,20e6",
        "B,10e6,0,0,20e6,20e6",
        "C,10e6,20e6,20e6,0,0",
        "D,10e6,20e6,20e6,0,0",
    ]
)
"""Bytes a second: A, C, B, D are a ring of fast links; A and B, C and D meet in the host only. The host is rank 0, A rank 1."""
CHUNK = 200_000
FAST_NS, SLOW_NS = 10 * MS, 20 * MS
FORWARD_NS = 40 * MS
LINKED = {frozenset(pair) for pair in ((1, 3), (1, 4), (2, 3), (2, 4))}


def ring_recording(order: Sequence[int], n_steps: int = 12, *, is_marked: bool = True) -> Recording:
    """A run whose ring goes over these ranks: every round lasts as long as its slowest message."""
    maker, at, matches = Made(), 0, []
    hops = [
        hop
        for one, other in zip(order, (*order[1:], order[0]), strict=True)
        for hop in ([(one, other)] if frozenset((one, other)) in LINKED else [(one, 0), (0, other)])
    ]
    round_ns = SLOW_NS if any(0 in hop for hop in hops) else FAST_NS
    n_rounds = 2 * (len(order) - 1)
    for _ in range(n_steps):
        parts = {"forward": FORWARD_NS, "allreduce" if is_marked else "rest": n_rounds * round_ns}
        for rank in order:
            end = maker.marks(at, parts, rank=rank)
        for turn in range(n_rounds):
            start = at + FORWARD_NS + turn * round_ns
            for sender, receiver in hops:
                took = SLOW_NS if 0 in (sender, receiver) else FAST_NS
                common = {"size_bytes": CHUNK, "tag": 0}
                matches += [(len(maker.rows), len(maker.rows) + 1)]
                maker.add(Kind.SEND, start, took, "MPI_Send", rank=sender, peer=receiver, **common)
                maker.add(Kind.RECV, start, took, "MPI_Recv", rank=receiver, peer=sender, **common)
        at = end
    match = np.full(len(maker.rows), UNSET)
    for one, other in matches:
        match[one], match[other] = other, one
    for row, other in zip(maker.rows, match.tolist(), strict=True):
        row["match"] = other
    return maker.recording()
