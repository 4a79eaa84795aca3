"""Collective operations as the messages of a usual algorithm: for what-ifs about the network, where a node keeps its cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from mlperf.core.errors import UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import COLUMNS, EventTable, column
from mlperf.traces.graph.calls import calls_of
from mlperf.traces.graph.groups import Flow, groups_of


@dataclass(frozen=True, slots=True)
class Transfer:
    """One message of an algorithm.

    Attributes
    ----------
    round : int
        Calls of one member and round are one call: it sends and receives at once.
    sender, receiver : int
        Members, counted from the root where there is one.
    share : float
        Its part of the operation's bytes.
    """

    round: int
    sender: int
    receiver: int
    share: float


Algorithm = Callable[[int], Iterator[Transfer]]


def binomial(n_members: int) -> Iterator[Transfer]:
    """From member 0 to all, doubling the members that have it: ceil(log2 n) rounds of the whole."""
    step = 1
    while step < n_members:
        for member in range(min(step, n_members - step)):
            yield Transfer(step.bit_length() - 1, member, member + step, 1.0)
        step *= 2


def binomial_to_root(n_members: int) -> Iterator[Transfer]:
    """`binomial` backwards: from all to member 0."""
    transfers = list(binomial(n_members))
    last = max((each.round for each in transfers), default=0)
    for each in reversed(transfers):
        yield Transfer(last - each.round, each.receiver, each.sender, each.share)


def recursive_doubling(n_members: int) -> Iterator[Transfer]:
    """Exchanges of the whole with partners 1, 2, 4 ... away; members beyond a power of two hand in first and are told last."""
    power = 1 << (n_members.bit_length() - 1)
    extra = n_members - power
    n_rounds = power.bit_length() - 1
    for member in range(extra):
        yield Transfer(0, power + member, member, 1.0)
    for number in range(n_rounds):
        for member in range(power):
            yield Transfer(1 + number, member, member ^ (1 << number), 1.0)
    for member in range(extra):
        yield Transfer(1 + n_rounds, member, power + member, 1.0)


def ring(n_members: int) -> Iterator[Transfer]:
    """Reduce-scatter and all-gather round a ring: 2 (n - 1) rounds of 1/n (Patarasuk and Yuan, 2009)."""
    for number in range(2 * (n_members - 1)):
        for member in range(n_members):
            yield Transfer(number, member, (member + 1) % n_members, 1.0 / n_members)


def dissemination(n_members: int) -> Iterator[Transfer]:
    """Empty messages to the members 1, 2, 4 ... on: after ceil(log2 n) rounds everyone has heard of everyone."""
    step = 1
    while step < n_members:
        for member in range(n_members):
            yield Transfer(step.bit_length() - 1, member, (member + step) % n_members, 0.0)
        step *= 2


ALGORITHMS: Mapping[str, tuple[Algorithm, Flow]] = MappingProxyType(
    {
        "binomial": (binomial, Flow.FROM_ROOT),
        "binomial-to-root": (binomial_to_root, Flow.TO_ROOT),
        "recursive-doubling": (recursive_doubling, Flow.ALL),
        "ring": (ring, Flow.ALL),
        "dissemination": (dissemination, Flow.ALL),
    }
)
"""Algorithms, and the operations that each can stand for."""


def find_algorithm(name: str, flow: Flow) -> Algorithm:
    """The algorithm of a name, for operations of one flow.

    Raises
    ------
    UsageError
        There is none, or it moves the data another way.
    """
    known = [each for each, (_, own) in ALGORITHMS.items() if own == flow]
    if name not in known:
        raise UsageError(f"got algorithm {name!r}, expected one of {', '.join(known)}", hint=did_you_mean(name, known))
    return ALGORITHMS[name][0]


def expand_collectives(
    table: EventTable, to_all: str = "recursive-doubling", from_root: str = "binomial", to_root: str = "binomial-to-root"
) -> EventTable:
    """The table with messages in the place of collective operations.

    Parameters
    ----------
    table : EventTable
        Members of an operation share `corr`.
    to_all, from_root, to_root : str
        Algorithm for operations where all wait for all (barriers, all-reduces ...), for the root, or the root for all.

    Returns
    -------
    EventTable
        Messages carry `Flag.ASSUMED_TIME`: a replay gives them the preset's times and no longer ends as recorded. What follows an
        operation keeps its distance from the recorded end. A note says how many operations were expanded.
    """
    calls = calls_of(table)
    groups = groups_of(table, calls)
    names = {Flow.ALL: to_all, Flow.FROM_ROOT: from_root, Flow.TO_ROOT: to_root}
    algorithms = {flow: find_algorithm(name, flow) for flow, name in names.items()}
    made = _Messages(len(table), int(table.corr.max(initial=0)) + 1)
    first = np.searchsorted(groups.operation, np.arange(len(groups) + 1))
    for operation in range(len(groups)):
        members = groups.call[first[operation] : first[operation + 1]]
        rows = calls.rows[calls.event[members]]
        if groups.root[operation] >= 0:
            rows = np.roll(rows, -int(np.flatnonzero(members == groups.root[operation])[0]))
        made.add(rows, list(algorithms[Flow(int(groups.flow[operation]))](len(rows))))
    return _joined(table, calls.rows[calls.event[groups.call]], made, len(groups))


class _Messages:
    """Rows of messages as they are made: from which row each is copied, and what it has otherwise."""

    def __init__(self, n_rows: int, corr: int) -> None:
        self.n_rows, self.corr = n_rows, corr
        self.like: list[int] = []
        self.kind: list[int] = []
        self.peer_like: list[int] = []
        self.share: list[float] = []
        self.number: list[int] = []
        self.last: list[bool] = []
        self.match: list[int] = []

    def add(self, rows: np.ndarray[Any, np.dtype[np.int64]], transfers: list[Transfer]) -> None:
        """The messages of one operation, between members that have these rows."""
        transfers = sorted(transfers, key=lambda one: one.round)
        last = {member: each.round for each in transfers for member in (each.sender, each.receiver)}
        numbers: dict[tuple[int, int], int] = {}
        for each in transfers:
            for kind, own, other in ((Kind.SEND, each.sender, each.receiver), (Kind.RECV, each.receiver, each.sender)):
                self.like.append(int(rows[own]))
                self.peer_like.append(int(rows[other]))
                self.kind.append(int(kind))
                self.share.append(each.share)
                self.number.append(numbers.setdefault((own, each.round), self.corr + len(numbers)))
                self.last.append(last[own] == each.round)
                self.match.append(self.n_rows + len(self.like) - (0 if kind == Kind.SEND else 2))
        self.corr += len(numbers)


def _joined(table: EventTable, replaced: np.ndarray[Any, np.dtype[np.int64]], made: _Messages, n_operations: int) -> EventTable:
    """The table without the rows of operations, and with those of their messages behind the rest."""
    like = np.array(made.like, dtype=np.int64)
    held = {name: np.concatenate((column(getattr(table, name)), getattr(table, name)[like])) for name in COLUMNS}
    new = slice(len(table), None)
    # Every message starts with the operation; the last of each rank ends with it, so that what follows stays as far behind.
    held["duration_ns"][new] *= np.array(made.last, dtype=np.int64)
    held["kind"][new] = made.kind
    held["peer"][new] = table.rank[np.array(made.peer_like, dtype=np.int64)]
    held["size_bytes"][new] = np.rint(held["size_bytes"][new] * np.array(made.share)).astype(np.int64)
    held["match"][new] = made.match
    held["corr"][new] = made.number
    held["flags"][new] |= np.uint16(Flag.ASSUMED_TIME | Flag.PAIRED)
    keep = np.ones(len(held["kind"]), dtype=bool)
    keep[replaced] = False
    alone = np.setdiff1d(replaced, like)
    keep[alone] = True
    # An operation of one member sends nothing: it is a call of its own.
    held["corr"][alone] = UNSET
    # Messages stand where their operation stood: what starts at the same time comes in the order of the table.
    order = np.argsort(np.concatenate((np.arange(len(table)), like)), kind="stable")
    every = table.with_columns(len(keep), held).take(order[keep[order]])
    note = f"{n_operations} collective operations were replaced by {len(like) // 2} messages with the preset's times"
    return every.replace(notes=(*table.notes, note))
