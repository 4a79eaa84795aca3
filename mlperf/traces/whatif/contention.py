"""Messages that share a link: whether more is on it at once than it carries, and what taking turns would cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.traces.replay.run import Replay
from mlperf.traces.replay.times import Times
from mlperf.traces.whatif.load import Validation, validation_of

NS = 1e-9
FEWEST_ROUNDS, MOST_TURNS = 50, 20_000_000
"""Rounds that any run is given, and turns in all rounds together of one that needs more: a minute or so."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contention(Shown, frame="links"):
    """Links that messages share.

    Attributes
    ----------
    source : str
    bandwidth_bytes_per_s : float
        Of one link.
    time_s, shared_s : float
        T of the replay, and where messages of a link take turns, seconds.
    contention_possible : bool
        Whether the messages of a link overlap: together they would need more than it carries.
    converged : bool
        Whether the turns settled.
    links : DataFrame
        Per link: messages, bytes, the share of T in which it is busy, and the most that overlap.
    validation : Validation
    """

    source: str
    bandwidth_bytes_per_s: float
    time_s: float
    shared_s: float
    contention_possible: bool
    converged: bool
    links: pd.DataFrame
    validation: Validation


def shared_link(run: Replay, bandwidth_bytes_per_s: float) -> Contention:
    """Let messages between two hosts (ranks, where the trace names no hosts) take turns on one link.

    A message is on its link for bytes / bandwidth before it arrives; it waits until those that were sent before it have passed. Who
    sends without asking goes on meanwhile; a synchronous send waits with its message. The order follows from the replay, which
    follows from the waits: both are repeated until nothing moves.
    """
    link, names = links_of(run)
    busy = np.rint(run.program.messages.size_bytes / bandwidth_bytes_per_s / NS).astype(np.int64)
    delay, now, converged = np.zeros(len(link), dtype=np.int64), run, False
    for _ in range(most_rounds(len(link))):
        sent = now.start_ns[run.program.messages.send_call]
        turn = turns(link, sent, busy)
        converged = bool(np.array_equal(turn, delay))
        if converged:
            break
        delay = turn
        now = run.again(times=sent_later(run, delay))
    sent = run.start_ns[run.program.messages.send_call]
    rows = [_link_row(names[number], link == number, sent, busy, run) for number in range(len(names))]
    columns = ["link", "n_messages", "size_bytes", "busy_share", "most_at_once"]
    table = pd.DataFrame(rows, columns=columns).sort_values("size_bytes", ascending=False, ignore_index=True)
    overlap = bool((table["most_at_once"] > 1).any()) if len(table) else False
    source = ", ".join(run.program.table.sources)
    total_s, shared_s = run.total_ns * NS, now.total_ns * NS
    return Contention(source, bandwidth_bytes_per_s, total_s, shared_s, overlap, converged, table, validation_of(run))


def most_rounds(n_messages: int) -> int:
    """Rounds to try: each settles at least the first message that was not settled, so that a last one finds nothing to move."""
    return max(FEWEST_ROUNDS, min(n_messages + 1, MOST_TURNS // max(n_messages, 1)))


def sent_later(run: Replay, delay_ns: IntArray) -> Times:
    """Durations where every message leaves so long after its send was called, shape (n_messages,).

    A synchronous send cannot end sooner than its message has left: from the receive's call to its end (``send_ns - off_ns``) it
    takes what it took.
    """
    times, messages = run.times, run.program.messages
    send = times.send_ns + np.where(run.graph.eager, 0, delay_ns)
    own, asks = times.own_ns.copy(), ~run.graph.eager & (messages.send_done == messages.send_call)
    np.maximum.at(own, messages.send_call[asks], send[asks])
    return times.replace(own_ns=own, send_ns=send, off_ns=times.off_ns + delay_ns)


def links_of(run: Replay) -> tuple[IntArray, list[str]]:
    """The link of every message, and what links are called: one a direction between two hosts, or two ranks."""
    table, calls, messages = run.program.table, run.program.calls, run.program.messages
    rows = calls.rows[np.stack((messages.send, messages.recv))]
    place = table.host[rows] if np.any(table.host >= 0) else table.rank[rows]
    what = "host" if np.any(table.host >= 0) else "rank"
    pairs, link = np.unique(place, axis=1, return_inverse=True)
    return link.ravel().astype(np.int64), [f"{what} {source} -> {target}" for source, target in pairs.T.tolist()]


def turns(link: IntArray, sent_ns: IntArray, busy_ns: IntArray) -> IntArray:
    """How long each message waits for its link, nanoseconds: first sent, first served."""
    delay = np.zeros(len(link), dtype=np.int64)
    order = np.lexsort((np.arange(len(link)), sent_ns, link))
    free, last = 0, -1
    for message in order.tolist():
        if link[message] != last:
            free, last = int(sent_ns[message]), int(link[message])
        start = max(free, int(sent_ns[message]))
        delay[message] = start - int(sent_ns[message])
        free = start + int(busy_ns[message])
    return delay


def _link_row(name: str, mask: np.ndarray, sent_ns: IntArray, busy_ns: IntArray, run: Replay) -> tuple[str, int, int, float, int]:
    """One link's numbers."""
    busy = float(busy_ns[mask].sum()) / max(run.total_ns, 1)
    size = int(run.program.messages.size_bytes[mask].sum())
    return name, int(mask.sum()), size, busy, most_at_once(sent_ns[mask], busy_ns[mask])


def most_at_once(start_ns: IntArray, length_ns: IntArray) -> int:
    """The largest number of intervals that hold one moment; what ends as another starts is not with it."""
    some = length_ns > 0
    times = np.concatenate((start_ns[some] + length_ns[some], start_ns[some]))
    change: FloatArray = np.concatenate((-np.ones(int(some.sum())), np.ones(int(some.sum()))))
    order = np.lexsort((change, times))
    return int(np.cumsum(change[order]).max(initial=0))
