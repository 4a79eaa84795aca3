"""Who sends how much to whom: bytes, seconds, messages, bandwidth; rows send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import HOST, UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.links.collectives import ring_traffic
from mlperf.traces.timeline.intervals import union

NS = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CommMatrix(Shown):
    """Traffic between places.

    Attributes
    ----------
    source : str
    places : tuple of str
        Ranks, devices, the host, or addresses.
    comm_matrix_bytes : array, shape (n_places, n_places)
        Bytes from the place of the row to that of the column.
    seconds : array, shape (n_places, n_places)
        Time in which anything of a pair was under way; NaN where that is not known.
    messages : array of int64, shape (n_places, n_places)
    notes : tuple of str
    """

    source: str
    places: tuple[str, ...]
    comm_matrix_bytes: FloatArray
    seconds: FloatArray
    messages: IntArray
    notes: tuple[str, ...] = ()

    @property
    def bytes_per_s(self) -> FloatArray:
        """Bandwidth of each pair; NaN where nothing was sent or its time is not known."""
        known = (self.comm_matrix_bytes > 0) & (self.seconds > 0)
        found = np.full(self.seconds.shape, np.nan)
        found[known] = self.comm_matrix_bytes[known] / self.seconds[known]
        return found

    def to_frame(self) -> pd.DataFrame:
        """One row a pair that sent anything: ``sender, receiver, size_bytes, time_s, messages, bytes_per_s``."""
        rows, columns = np.nonzero(self.comm_matrix_bytes)
        return pd.DataFrame(
            {
                "sender": [self.places[row] for row in rows],
                "receiver": [self.places[column] for column in columns],
                "size_bytes": self.comm_matrix_bytes[rows, columns],
                "time_s": self.seconds[rows, columns],
                "messages": self.messages[rows, columns],
                "bytes_per_s": self.bytes_per_s[rows, columns],
            }
        )


def matrix_of_events(events: EventTable, *, are_rings: bool = False, source: str | None = None) -> CommMatrix:
    """Traffic of a run: matched messages between ranks, copies between devices and host, packets between addresses.

    Parameters
    ----------
    events : EventTable
    are_rings : bool
        Collective operations are rings in the order of ranks. Otherwise they are left out: what they send to whom depends on the
        library's algorithm, which a trace does not tell.
    source : str, optional
        What to call the run; default the names of the first files of its events.

    Notes
    -----
    A message's time is from the start of its send to the end of its receipt, that is for a receive that was posted ahead the end of
    the wait for it; overlapping transfers of a pair count once.
    """
    names, senders, receivers, start, end, size = [], [], [], [], [], []
    for found in (_messages(events), _copies(events), _packets(events), *([_rings(events)] if are_rings else [])):
        names.append(found[0])
        senders += found[1]
        receivers += found[2]
        start.append(found[3])
        end.append(found[4])
        size.append(found[5])
    notes = _collective_notes(events, are_rings)
    places = tuple(dict.fromkeys(sorted((*senders, *receivers), key=_place_order)))
    return _matrix(
        ", ".join(events.sources[:3]) if source is None else source,
        places,
        (senders, receivers),
        (np.concatenate(start), np.concatenate(end)),
        np.concatenate(size),
        tuple(notes),
    )


Found = tuple[str, list[str], list[str], IntArray, IntArray, IntArray]


def _messages(events: EventTable) -> Found:
    """Matched sends."""
    rows = np.flatnonzero(np.isin(events.kind, (Kind.SEND, Kind.ISEND)) & (events.match != UNSET))
    partner = events.match[rows]
    senders = [f"rank {rank}" for rank in events.rank[rows].tolist()]
    receivers = [f"rank {rank}" for rank in events.rank[partner].tolist()]
    end = np.maximum(_received_ns(events)[partner], events.start_ns[rows])
    return "messages", senders, receivers, events.start_ns[rows], end, events.size_bytes[rows]


def _received_ns(events: EventTable) -> IntArray:
    """When each row ended; of a receive that was posted ahead, and the wait that completed it, the later of both."""
    found: IntArray = events.end_ns.copy()
    ends = np.flatnonzero(np.isin(events.kind, (Kind.WAIT, Kind.IRECV)) & (events.corr != UNSET))
    if not len(ends):
        return found
    keys = np.stack((events.rank[ends].astype(np.int64), events.corr[ends].astype(np.int64)), axis=1)
    call = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    last = np.full(int(call.max()) + 1, np.iinfo(np.int64).min)
    np.maximum.at(last, call, found[ends])
    found[ends] = last[call]
    return found


def _copies(events: EventTable) -> Found:
    """Copies with a direction in their names, between a device and the host or a peer."""
    rows = np.flatnonzero((events.kind == Kind.MEMCPY) & (events.size_bytes > 0))
    texts = events.text(events.name[rows])
    device = [_device(each) for each in events.device[rows].tolist()]
    peer = [_device(each) for each in events.peer[rows].tolist()]
    senders, receivers, kept = [], [], []
    for place, (text, own, other) in enumerate(zip(texts, device, peer, strict=True)):
        if "HtoD" in text or "HostToDevice" in text:
            pair = ("HOST", own)
        elif "DtoH" in text or "DeviceToHost" in text:
            pair = (own, "HOST")
        elif other != _device(UNSET) and other != own:
            pair = (own, other)
        else:
            continue
        senders.append(pair[0])
        receivers.append(pair[1])
        kept.append(place)
    rows = rows[np.array(kept, dtype=np.int64)]
    return "copies", senders, receivers, events.start_ns[rows], events.end_ns[rows], events.size_bytes[rows]


def _device(number: int) -> str:
    """A device's name."""
    return "HOST" if number == HOST else f"GPU{number}" if number != UNSET else "GPU?"


def _packets(events: EventTable) -> Found:
    """Packets between addresses, ports left out; a packet's time is what its row says, 0 where nobody measured it."""
    rows = np.flatnonzero((events.kind == Kind.PACKET) & (events.site != UNSET) & (events.name2 != UNSET))
    senders = [text.rpartition(":")[0] or text for text in events.text(events.site[rows])]
    receivers = [text.rpartition(":")[0] or text for text in events.text(events.name2[rows])]
    return "packets", senders, receivers, events.start_ns[rows], events.end_ns[rows], events.size_bytes[rows]


def _rings(events: EventTable) -> Found:
    """Collective operations as rings; a member sends from when it comes to when it leaves."""
    found = ring_traffic(events)
    senders, receivers = ([f"rank {rank}" for rank in ranks.tolist()] for ranks in (found.sender, found.receiver))
    size = np.rint(found.size_bytes).astype(np.int64)
    return "collective operations", senders, receivers, events.start_ns[found.rows], events.end_ns[found.rows], size


def _collective_notes(events: EventTable, are_rings: bool) -> list[str]:
    """What is assumed of collective operations, and how many are left out."""
    n_collectives = int((events.kind == Kind.COLL).sum())
    if not n_collectives:
        return []
    if not are_rings:
        return [f"{n_collectives} collective operations are left out: the trace does not tell their algorithm"]
    notes = ["collective operations are taken as rings in the order of ranks, busy from arrival to departure"]
    n_left_out = ring_traffic(events).n_left_out
    if n_left_out:
        notes.append(f"{n_left_out} calls of collective operations are left out: their members, kind or size are not known")
    return notes


def _place_order(name: str) -> tuple[bool, str, int, str]:
    """The host first, then by word and number."""
    word = name.rstrip("0123456789")
    digits = name[len(word) :]
    return (name != "HOST", word, int(digits) if digits and len(digits) < 10 else -1, name)


def _matrix(
    source: str,
    places: tuple[str, ...],
    ends: tuple[Sequence[str], Sequence[str]],
    times: tuple[IntArray, IntArray],
    size: IntArray,
    notes: tuple[str, ...],
) -> CommMatrix:
    """Sums by pair."""
    n = len(places)
    number = {name: place for place, name in enumerate(places)}
    pair = np.array([number[one] * n + number[other] for one, other in zip(*ends, strict=True)], dtype=np.int64)
    total = np.bincount(pair, weights=size.astype(float), minlength=n * n).reshape(n, n).astype(float)
    messages: IntArray = np.bincount(pair, minlength=n * n).reshape(n, n).astype(np.int64)
    seconds = np.zeros(n * n)
    order = np.argsort(pair, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1) if len(order) else []:
        seconds[pair[rows[0]]] = union(times[0][rows], times[1][rows]).total_ns * NS
    return CommMatrix(source, places, total, seconds.reshape(n, n), messages, notes)
