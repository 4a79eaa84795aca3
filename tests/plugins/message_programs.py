"""Random message-passing programs, and an evaluator that walks them rank by rank: no graph, no arrays, nothing of the package's."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from mlperf.systems.loggps.parameters import LogGPS
from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.replay.timing import Timing

LATENCY, OVERHEAD, BYTE, LIMIT = 700, 150, 2, 1000
"""L, o, G in nanoseconds and S in bytes of the programs."""
Place = tuple[int, int]
"""A call: rank, and its number there."""


@dataclass
class Message:
    """One message; synchronous ones are larger than LIMIT."""

    size: int
    sender: Place = (-1, -1)
    receiver: Place = (-1, -1)
    send_done: Place | None = None
    recv_done: Place | None = None

    @property
    def eager(self) -> bool:
        return self.size <= LIMIT

    @property
    def off(self) -> int:
        """Preset ``protocol``: o + L, and of an eager message its bytes."""
        return OVERHEAD + LATENCY + ((self.size - 1) * BYTE if self.eager else 0)

    @property
    def send_ns(self) -> int:
        return OVERHEAD if self.eager else 5 * OVERHEAD + 2 * LATENCY + (self.size - 1) * BYTE

    @property
    def recv_ns(self) -> int:
        return OVERHEAD if self.eager else 3 * OVERHEAD + 2 * LATENCY + (self.size - 1) * BYTE


@dataclass
class Call:
    """One call: what is computed before it, what it takes itself, and what it begins and completes."""

    compute: int
    own: int
    sends: list[Message] = field(default_factory=list)
    receives: list[Message] = field(default_factory=list)
    waits: list[tuple[Message, str]] = field(default_factory=list)
    group: int = -1
    posted: bool = False


@dataclass
class Group:
    """A collective operation: its calls, its root if someone waits for it or it waits for all, ranks that add up in pairs."""

    calls: list[Place]
    flow: str = "all"
    root: Place = (-1, -1)
    paired: frozenset[int] = frozenset()

    def awaited_by(self, place: Place) -> list[Place]:
        """Calls that one has to wait for; in partial sums those of lower ranks, of all only where it adds up in pairs."""
        if self.flow == "from root":
            return [] if place == self.root else [self.root]
        if self.flow == "to root":
            return self.calls if place == self.root else []
        return [other for other in self.calls if self.flow == "all" or other[0] <= place[0] or place[0] in self.paired]


@dataclass
class Edits:
    """Changes: starts that are forced, computes and own times that are others, calls that end as they start."""

    start: dict[Place, int] = field(default_factory=dict)
    compute: dict[Place, int] = field(default_factory=dict)
    own: dict[Place, int] = field(default_factory=dict)
    instant: set[Place] = field(default_factory=set)


@dataclass
class MadeProgram:
    """Calls of every rank, and what follows the last of each."""

    ranks: list[list[Call]]
    groups: list[Group]
    tails: list[int]

    def places(self) -> Iterable[Place]:
        return ((rank, number) for rank, calls in enumerate(self.ranks) for number in range(len(calls)))

    def call(self, place: Place) -> Call:
        return self.ranks[place[0]][place[1]]


class Run:
    """Starts and ends of all calls of a program, found by letting every rank go on until it is stuck."""

    def __init__(self, program: MadeProgram, edits: Edits | None = None, gaps: bool = False) -> None:
        self.program, self.edits, self.gaps = program, edits or Edits(), gaps
        self.start: dict[Place, int] = {}
        self.end: dict[Place, int] = {}
        moved = True
        while moved:
            moved = sum(self._go_on(rank) for rank in range(len(program.ranks))) > 0
        if len(self.end) < sum(map(len, program.ranks)):
            raise RuntimeError("deadlock")
        self.rank_end = [
            (self.end[rank, len(calls) - 1] if calls else 0) + self.edits.compute.get((rank, len(calls)), program.tails[rank])
            for rank, calls in enumerate(program.ranks)
        ]
        self.total = max([*self.end.values(), *self.rank_end])

    def _go_on(self, rank: int) -> bool:
        moved = False
        for number in range(len(self.program.ranks[rank])):
            place = (rank, number)
            if place in self.end:
                continue
            if place not in self.start:
                self.start[place] = self._called(place)
                moved = True
            if self._end_of(place) is None:
                return moved
            self.end[place] = self._end_of(place)
            moved = True
        return moved

    def _called(self, place: Place) -> int:
        rank, number = place
        call = self.program.call(place)
        if place in self.edits.start:
            return self.edits.start[place]
        times = [(self.end[rank, number - 1] if number else 0) + self.edits.compute.get(place, call.compute)]
        if self.gaps:
            for side in ("sends", "receives"):
                last = [other for other in range(number) if getattr(self.program.ranks[rank][other], side)]
                if last and getattr(call, side):
                    (message,) = getattr(self.program.ranks[rank][last[-1]], side)
                    times.append(self.start[rank, last[-1]] + (message.size - 1) * BYTE)
        return max(times)

    def own(self, place: Place) -> int:
        return self.edits.own.get(place, self.program.call(place).own)

    def ready(self, place: Place) -> list[int | None]:
        """Times that the call has to wait for, None for those not known yet."""
        call, start = self.program.call(place), self.start
        times: list[int | None] = [start[place]]
        if not call.posted:
            times += [_plus(start.get(message.receiver), -message.off) for message in call.sends if not message.eager]
            times += [_plus(start.get(message.sender), message.off) for message in call.receives]
        for message, side in call.waits:
            times.append(_plus(self.both_ready(message, side), message.send_ns if side == "send" else message.recv_ns))
        if call.group >= 0:
            times += self._awaited(place, self.program.groups[call.group])
        return times

    def both_ready(self, message: Message, side: str) -> int | None:
        """When a posted end's transfer begins."""
        sent, received = self.start.get(message.sender), self.start.get(message.receiver)
        if side == "send":
            times = [sent] if message.eager else [sent, _plus(received, -message.off)]
        else:
            times = [received, _plus(sent, message.off)]
        return None if None in times else max(times)

    def _awaited(self, place: Place, group: Group) -> list[int | None]:
        return [self.start.get(other) for other in group.awaited_by(place)]

    def _end_of(self, place: Place) -> int | None:
        if place in self.edits.instant:
            return self.start[place]
        times = self.ready(place)
        return None if None in times else max(times) + self.own(place)


def _plus(time: int | None, more: int) -> int | None:
    return None if time is None else time + more


def random_program(
    seed: int, acausal: bool = False, posts: bool = True, collectives: bool = True, n_steps: int = 14
) -> MadeProgram:
    """A program without deadlock: messages in one global order, eager ones received later and in another, exchanges, collectives.

    Acausal ones have calls that take less than a request needs, so that both ends of a message may wait.
    """
    rng = random.Random(seed)
    n_ranks = rng.randint(2, 6)
    program = MadeProgram([[] for _ in range(n_ranks)], [], [rng.choice((0, 0, rng.randint(0, 500))) for _ in range(n_ranks)])
    late: list[tuple[int, Call]] = []

    def add(rank: int, **what: Any) -> Place:
        own = rng.randint(0, 400) if acausal else rng.randint(1000, 4000)
        program.ranks[rank].append(Call(rng.choice((0, rng.randint(0, 6000))), own, **what))
        return rank, len(program.ranks[rank]) - 1

    def one_way() -> None:
        sender, receiver = rng.sample(range(n_ranks), 2)
        message = Message(rng.choice((1, rng.randint(1, LIMIT), LIMIT, LIMIT + 1, rng.randint(LIMIT, 3 * LIMIT))))
        message.sender = add(sender, sends=[message])
        if message.eager and rng.random() < 0.5:
            late.append((receiver, message))
        else:
            message.receiver = add(receiver, receives=[message])
        message.send_done, message.recv_done = message.sender, message.receiver

    def exchange() -> None:
        ring = rng.sample(range(n_ranks), rng.randint(2, n_ranks))
        messages = [Message(rng.randint(1, 2 * LIMIT)) for _ in ring]
        for index, rank in enumerate(ring):
            place = add(rank, sends=[messages[index]], receives=[messages[index - 1]])
            messages[index].sender = messages[index].send_done = place
            messages[index - 1].receiver = messages[index - 1].recv_done = place

    def posted() -> None:
        sender, receiver = rng.sample(range(n_ranks), 2)
        messages = [Message(rng.randint(1, 2 * LIMIT)) for _ in range(rng.randint(1, 3))]
        for message in messages:
            message.sender = add(sender, sends=[message], posted=True)
            message.receiver = add(receiver, receives=[message], posted=True)
        for rank, side in rng.sample(((sender, "send"), (receiver, "recv")), 2):
            place = add(rank, waits=[(message, side) for message in messages])
            for message in messages:
                setattr(message, f"{side}_done", place)

    def collective() -> None:
        members = sorted(rng.sample(range(n_ranks), rng.randint(2, n_ranks)))
        calls = [add(rank, group=len(program.groups)) for rank in members]
        program.groups.append(Group(calls, rng.choice(("all", "from root", "to root")), rng.choice(calls)))

    kinds = [one_way, one_way, one_way, exchange, *([posted] if posts else []), *([collective] if collectives else [])]
    for _ in range(rng.randint(1, n_steps)):
        rng.choice(kinds)()
        while late and rng.random() < 0.4:
            receiver, message = late.pop(rng.randrange(len(late)))
            message.receiver = message.recv_done = add(receiver, receives=[message])
    for receiver, message in sorted(late, key=lambda _: rng.random()):
        message.receiver = message.recv_done = add(receiver, receives=[message])
    return program


def with_partial_sums(program: MadeProgram, seed: int) -> MadeProgram:
    """The program with partial sums for its collective operations; one in front shows which ranks do not wait for higher ones."""
    rng = random.Random(seed)
    paired = frozenset(rank for rank in range(len(program.ranks)) if rng.random() < 0.3)
    messages = {id(each): each for place in program.places() for each in program.call(place).sends + program.call(place).receives}
    for message in messages.values():
        for end in ("sender", "receiver", "send_done", "recv_done"):
            rank, number = getattr(message, end)
            setattr(message, end, (rank, number + 1))
    for group in program.groups:
        group.flow, group.paired, group.calls = "up", paired, [(rank, number + 1) for rank, number in group.calls]
    for rank, calls in enumerate(program.ranks):
        calls.insert(0, Call(8000 * rank, rng.randint(0, 400), group=len(program.groups)))
    program.groups.append(Group([(rank, 0) for rank in range(len(program.ranks))], "up", paired=paired))
    return program


FLOW_NAMES = {"all": "MPI_Allreduce", "from root": "MPI_Bcast", "to root": "MPI_Reduce", "up": "MPI_Scan"}


def recorded(program: MadeProgram, run: Run) -> tuple[EventTable, dict[tuple[Place, str], int]]:
    """The table that a recorder would have written, rows shuffled, and the row of each call's send, receive or other event."""
    rows: dict[tuple[Place, str], dict[str, Any]] = {}
    strings = (*FLOW_NAMES.values(),)
    for number, place in enumerate(program.places()):
        call = program.call(place)
        base = {"start_ns": run.start[place], "duration_ns": run.end[place] - run.start[place], "rank": place[0]}
        paired = {"flags": Flag.PAIRED, "corr": 10_000 + number} if call.sends and call.receives else {}
        for message in call.sends:
            peer = {"peer": message.receiver[0], "size_bytes": message.size}
            rows[place, "send"] = {**base, **paired, **peer, "kind": Kind.ISEND if call.posted else Kind.SEND}
        for message in call.receives:
            peer = {"peer": message.sender[0], "size_bytes": message.size}
            rows[place, "recv"] = {**base, **paired, **peer, "kind": Kind.IRECV if call.posted else Kind.RECV}
        if call.waits:
            rows[place, "wait"] = {**base, "kind": Kind.WAIT, "corr": number}
            for message, side in call.waits:
                rows[message.sender if side == "send" else message.receiver, side]["corr"] = number
        if call.group >= 0:
            group = program.groups[call.group]
            name = strings.index(FLOW_NAMES[group.flow])
            rows[place, "coll"] = {**base, "kind": Kind.COLL, "corr": call.group, "name": name, "peer": group.root[0]}
    for rank, calls in enumerate(program.ranks):
        last = run.end[rank, len(calls) - 1] if calls else 0
        tail = {"start_ns": last, "duration_ns": run.rank_end[rank] - last, "rank": rank, "kind": Kind.COMPUTE}
        rows[(rank, len(calls)), "compute"] = tail
    return _table(rows, program, strings)


def _table(
    rows: dict[tuple[Place, str], dict[str, Any]], program: MadeProgram, strings: tuple[str, ...]
) -> tuple[EventTable, dict[tuple[Place, str], int]]:
    """Rows as columns in an order that no reader should rely on, but for calls of no duration: those stand in program order."""
    number = {key: index for index, key in enumerate(rows)}
    defaults = {
        "start_ns": 0,
        "duration_ns": 0,
        "rank": -1,
        "kind": 0,
        "name": -1,
        "peer": -1,
        "size_bytes": 0,
        "corr": -1,
        "flags": 0,
    }
    columns = {name: [row.get(name, default) for row in rows.values()] for name, default in defaults.items()}
    match = [-1] * len(rows)
    for place in program.places():
        for message in program.call(place).sends:
            ends = number[message.sender, "send"], number[message.receiver, "recv"]
            match[ends[0]], match[ends[1]] = ends[1], ends[0]
    table = event_table(len(rows), strings=strings, match=match, attributes={"n_ranks": len(program.ranks)}, **columns)
    return table, number


def protocol_timing(**options: Any) -> Timing:
    """The preset and parameters that `Message` reckons with."""
    parameters = LogGPS(LATENCY * 1e-9, OVERHEAD * 1e-9, gap_s_per_byte=BYTE * 1e-9, eager_limit_bytes=LIMIT)
    return Timing(find_preset("protocol"), parameters, **options)
