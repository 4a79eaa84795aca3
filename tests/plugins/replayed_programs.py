"""Programs whose call times nobody recorded: tables for replays in which every message takes the preset's time."""

from __future__ import annotations

from typing import Any

from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.matching import match_messages
from mlperf.traces.events.table import EventTable, event_table

PROGRAM_X = (
    [[20000, "send", 0], [150000, "send", 3], [5000, "recv", 2], [1000, "recv", 4]],
    [[90000, "recv", 0], [30000, "send", 1], [10000, "send", 4], [70000, "recv", 5]],
    [[40000, "send", 2], [60000, "recv", 1], [20000, "recv", 3], [15000, "send", 5]],
)
"""Three ranks: compute (ns), operation, message."""
MESSAGES_X = ([0, 1, 1000], [1, 2, 100000], [2, 0, 4000], [0, 2, 65536], [1, 0, 16383], [2, 1, 16384])
"""From, to, bytes."""


def table_of_calls(ranks: Any, messages: Any, ticks_per_ns: int = 1) -> EventTable:
    """Calls of no duration, as one imports a program without times: starts are the sums of what was computed before."""
    rows: list[dict[str, Any]] = []
    place: dict[tuple[int, str], int] = {}
    for rank, calls in enumerate(ranks):
        now = 0
        for compute_ns, what, number in calls:
            now += compute_ns * ticks_per_ns
            sender, receiver, size = messages[number]
            place[number, what] = len(rows)
            kind, peer = (Kind.SEND, receiver) if what == "send" else (Kind.RECV, sender)
            rows.append({"start_ns": now, "rank": rank, "kind": kind, "peer": peer, "size_bytes": size, "tag": number})
    match = [-1] * len(rows)
    for number in range(len(messages)):
        send, recv = place[number, "send"], place[number, "recv"]
        match[send], match[recv] = recv, send
    names = ("start_ns", "rank", "kind", "peer", "size_bytes", "tag")
    columns = {name: [row[name] for row in rows] for name in names}
    return event_table(len(rows), match=match, flags=Flag.ASSUMED_TIME, attributes={"n_ranks": len(ranks)}, **columns)


def head_to_head(*more: tuple[int, int, int, Kind, int, int]) -> EventTable:
    """Two ranks that send 100 bytes to each other before either receives, as all go on while sends do not wait; and more calls.

    Parameters
    ----------
    *more : tuple
        Start and duration in ns, rank, kind, peer, bytes.
    """
    both = [(1000, 200, rank, Kind.SEND, 1 - rank, 100) for rank in (0, 1)]
    both += [(1200, 2000, rank, Kind.RECV, 1 - rank, 100) for rank in (0, 1)]
    columns = zip(("start_ns", "duration_ns", "rank", "kind", "peer", "size_bytes"), zip(*both, *more, strict=True), strict=True)
    return match_messages(event_table(len(both) + len(more), **dict(columns)))
