"""What there is to say about each domino of a path: where it stands, what its fall brings, and which waits fall with it."""

from __future__ import annotations

from dataclasses import dataclass

from mlperf.traces.events.kinds import Kind
from mlperf.traces.whatif.domino import DominoPath
from mlperf.traces.whatif.sweep import Sweep


@dataclass(frozen=True, slots=True)
class Domino:
    """One wait of a domino path; times in nanoseconds.

    Attributes
    ----------
    event, row : int
        Number of the event, and its row in the table.
    rank, partner_rank : int
        Who waits, and for whom.
    kind : str
        ``send``, ``recv`` ...
    site, partner_site : str
        Places in the program, or names, of the event and of its partner; empty where the trace has none.
    size_bytes : int
        Payload.
    start_ns : int
        When it begins in the run without an edit.
    wait_ns : int
        How long it waits there.
    total_ns, saved_ns : int
        T' without this wait, and T0 - T'.
    other_waits_ns : int
        By how much the waits of all other events grow together; below 0 where they shrink.
    """

    event: int
    row: int
    rank: int
    partner_rank: int
    kind: str
    site: str
    partner_site: str
    size_bytes: int
    start_ns: int
    wait_ns: int
    total_ns: int
    saved_ns: int
    other_waits_ns: int


def dominoes(swept: Sweep, path: DominoPath) -> tuple[Domino, ...]:
    """The dominoes of a path in the order in which they are to be pushed; each replayed once, alone."""
    return tuple(domino_of(swept, event) for event in reversed(path.events))


def domino_of(swept: Sweep, event: int) -> Domino:
    """All there is to say about removing one event's wait; the event must have one."""
    run, waits = swept.run, swept.waits
    calls, table = run.program.calls, run.program.table
    partner, call = int(waits.partner[event]), int(waits.zero_call[event])
    row = int(calls.rows[event])
    # Of calls: both halves of one wait at once, and a posted message in its WAIT.
    after = run.again(fixed=([run.graph.start_node[call]], [waits.zero_ns[event]])).waits.call_ns - waits.call_ns
    posted, done = run.program.messages.posted()
    after[done[posted == event] if event in posted else calls.call[event]] = 0
    total = int(swept.wait_zero_ns[event])
    return Domino(
        event=event,
        row=row,
        rank=int(calls.event_rank[event]),
        partner_rank=int(calls.event_rank[partner]),
        kind=Kind(int(table.kind[row])).name.lower(),
        site=site_of(swept, event),
        partner_site=site_of(swept, partner),
        size_bytes=int(table.size_bytes[row]),
        start_ns=int(run.start_ns[calls.call[event]]),
        wait_ns=int(waits.wait_ns[event]),
        total_ns=total,
        saved_ns=swept.total_ns - total,
        other_waits_ns=int(after.sum()),
    )


def site_of(swept: Sweep, event: int) -> str:
    """The event's place in the program, else its name, else nothing."""
    table = swept.run.program.table
    row = swept.run.program.calls.rows[event]
    number = int(table.site[row]) if table.site[row] >= 0 else int(table.name[row])
    return table.strings[number] if number >= 0 else ""
