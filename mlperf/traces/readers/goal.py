"""GOAL, the schedules of LogGOPSim: what every rank does after what, without times of messages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.readers.content import line_error, read_lines, whole_number

LABEL = r"[A-Za-z][A-Za-z0-9_]*"
TIMES = re.compile(rf"(?:(?P<label>{LABEL})\s*:\s*)?calc\s+(?P<time>\S+)(?P<rest>.*)")
SENDS = re.compile(
    rf"(?:(?P<label>{LABEL})\s*:\s*)?(?P<what>send|recv)\s+(?P<size>[^\s]+?)b\s+(?:to|from)\s+(?P<peer>\S+)(?P<rest>.*)"
)
ORDERS = re.compile(rf"(?P<after>{LABEL})\s+(?P<how>i?requires)\s+(?P<before>{LABEL})")
EXTRAS = re.compile(r"(?:\s+(?:cpu|nic|tag)\s+-?\d+)*\s*;?")


@dataclass(slots=True)
class Statement:
    """One line of a rank.

    Attributes
    ----------
    line : int
        In the file, from 1.
    kind : Kind
        COMPUTE, SEND or RECV.
    number : int
        Nanoseconds of a computation, bytes of a message.
    peer, tag : int
    after : list of int
        Statements that must have ended before this one starts.
    beside : list of int
        Statements that must have started.
    """

    line: int
    kind: Kind
    number: int
    peer: int = UNSET
    tag: int = UNSET
    after: list[int] = field(default_factory=list)
    beside: list[int] = field(default_factory=list)


def read_goal(path: Path | str) -> EventTable:
    """Read a GOAL schedule as a trace in which messages take no time (flag ASSUMED_TIME): only its replay has times.

    A rank must be one chain of ``requires``, as programs without threads are; a message that another statement only ``irequires``
    is posted, and the first statement that requires it waits for it.

    Raises
    ------
    DataError
        Names file and line; a rank's statements are in no single order.

    References
    ----------
    Hoefler, Siebert and Lumsdaine, Group Operation Assembly Language (2009).
    """
    path = Path(path)
    n_ranks, ranks = _statements(path, [_without_comment(line) for line in read_lines(path)])
    rows: list[tuple[int, ...]] = []
    for rank in sorted(ranks):
        rows += _rank_rows(path, rank, ranks[rank])
    names = ("start_ns", "duration_ns", "rank", "kind", "size_bytes", "peer", "tag", "corr", "flags")
    columns: dict[str, Any] = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(names, ())
    wrong = [peer for peer in columns["peer"] if peer >= n_ranks]
    if wrong:
        raise DataError(f"got a message with rank {wrong[0]} of {n_ranks}", place=str(path))
    return event_table(
        len(rows),
        sources=(f"goal {path.name}",),
        notes=("GOAL tells no times of messages: the recorded ones are 0, a replay gives them",),
        attributes={"n_ranks": n_ranks},
        comm=0,
        **columns,
    )


def _without_comment(line: str) -> str:
    """A line without ``//`` and ``/* */`` on it."""
    return re.sub(r"/\*.*?\*/", " ", line).partition("//")[0].strip()


def _statements(path: Path, lines: list[str]) -> tuple[int, dict[int, list[Statement]]]:
    """Statements of every rank with their orders resolved."""
    n_ranks, rank = UNSET, UNSET
    ranks: dict[int, list[Statement]] = {}
    labels: dict[str, int] = {}
    for number, text in enumerate(lines, 1):
        head, block = re.fullmatch(r"num_ranks\s+(\S+)", text), re.fullmatch(r"rank\s+(\S+)\s*\{", text)
        if not text:
            continue
        if head:
            n_ranks = whole_number(path, number, "num_ranks", head.group(1), least=1)
        elif block:
            rank = whole_number(path, number, "rank", block.group(1), least=0)
            if not rank < n_ranks or rank in ranks:
                raise line_error(path, number, text, f"each rank below num_ranks ({n_ranks}) once")
            ranks[rank], labels = [], {}
        elif text == "}" and rank != UNSET:
            rank = UNSET
        elif rank == UNSET:
            raise line_error(path, number, text, "num_ranks N, then rank R { ... }", "Is this a GOAL file?")
        else:
            _read_statement(path, number, text, ranks[rank], labels)
    if n_ranks == UNSET or rank != UNSET:
        raise DataError("ends inside a rank" if rank != UNSET else "has no num_ranks", place=str(path), hint="It may be cut off.")
    return n_ranks, ranks


def _read_statement(path: Path, number: int, text: str, found: list[Statement], labels: dict[str, int]) -> None:
    """Add one line to a rank."""
    calc, message, order = TIMES.fullmatch(text), SENDS.fullmatch(text), ORDERS.fullmatch(text.rstrip("; "))
    if order:
        unknown = [name for name in (order["after"], order["before"]) if name not in labels]
        if unknown:
            raise line_error(path, number, text, f"labels of this rank; {unknown[0]} is none before this line")
        after = found[labels[order["after"]]]
        (after.after if order["how"] == "requires" else after.beside).append(labels[order["before"]])
        return
    made = calc or message
    if made is None or not EXTRAS.fullmatch(made["rest"]):
        raise line_error(path, number, text, "calc T, send Kb to Q, recv Kb from Q, or a requires b")
    if made["label"]:
        labels[made["label"]] = len(found)
    if calc:
        found.append(Statement(number, Kind.COMPUTE, whole_number(path, number, "calc", calc["time"], least=0)))
    elif message:
        tag = re.search(r"\btag\s+(-?\d+)", message["rest"])
        size = whole_number(path, number, "size", message["size"], least=0)
        peer = whole_number(path, number, "peer", message["peer"], least=-1)
        kind = Kind.SEND if message["what"] == "send" else Kind.RECV
        found.append(Statement(number, kind, size, peer, whole_number(path, number, "tag", tag[1]) if tag else 0))


def _rank_rows(path: Path, rank: int, statements: list[Statement]) -> list[tuple[int, ...]]:
    """Events of a rank: computations, messages, and a WAIT before what requires posted messages."""
    now = 0
    rows: list[tuple[int, ...]] = []
    posted = {before for each in statements for before in each.beside if statements[before].kind != Kind.COMPUTE}
    waited = [[before for before in each.after if before in posted] for each in statements]
    completes = {before: befores[0] for befores in reversed(waited) for before in befores}
    order = _order(path, statements)
    exchange = {place: min(pair) for pair in pairwise(order) if _is_exchange(statements, *pair) for place in pair}
    for place in order:
        each = statements[place]
        rows += [(now, 0, rank, int(Kind.WAIT), 0, UNSET, UNSET, before, int(Flag.ASSUMED_TIME)) for before in waited[place][:1]]
        if each.kind == Kind.COMPUTE:
            rows.append((now, each.number, rank, int(Kind.COMPUTE), 0, UNSET, UNSET, UNSET, 0))
            now += each.number
            continue
        kind = {Kind.SEND: Kind.ISEND, Kind.RECV: Kind.IRECV}[each.kind] if place in posted else each.kind
        corr = completes.get(place, UNSET) if place in posted else exchange.get(place, UNSET)
        flags = int(Flag.ASSUMED_TIME) | (int(Flag.PAIRED) if place in exchange and place not in posted else 0)
        rows.append((now, 0, rank, int(kind), each.number, each.peer, each.tag, corr, flags))
    return rows


def _is_exchange(statements: list[Statement], one: int, other: int) -> bool:
    """Whether two statements are halves of one call: a send and a receive that come after the same statements."""
    first, second = statements[one], statements[other]
    return {first.kind, second.kind} == {Kind.SEND, Kind.RECV} and (first.after, first.beside) == (second.after, second.beside)


def _order(path: Path, statements: list[Statement]) -> list[int]:
    """The one order of a rank's statements."""
    missing = [len(each.after) + len(each.beside) for each in statements]
    following: list[list[int]] = [[] for _ in statements]
    for place, each in enumerate(statements):
        for before in (*each.after, *each.beside):
            following[before].append(place)
    ready = [place for place, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        exchange = len(ready) == 2 and _is_exchange(statements, ready[0], ready[1])
        if len(ready) > 1 and not exchange:
            lines = ", ".join(str(statements[place].line) for place in sorted(ready)[:5])
            raise DataError(
                f"statements of lines {lines} are in no order",
                place=f"{path}, line {statements[min(ready)].line}",
                hint="Ranks must be one chain of requires and irequires.",
            )
        taken, ready = sorted(ready), []
        order += taken
        for place in (place for before in taken for place in following[before]):
            missing[place] -= 1
            if missing[place] == 0:
                ready.append(place)
    if len(order) < len(statements):
        stuck = next(place for place, count in enumerate(missing) if count > 0)
        raise DataError("statements require each other in a circle", place=f"{path}, line {statements[stuck].line}")
    return order
