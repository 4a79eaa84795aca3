"""Execution traces: what depends on what in one iteration, as Chakra and PyTorch write them in JSON."""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.readers.content import read_content

KINDS: Mapping[str, Kind] = {
    "COMP_NODE": Kind.KERNEL,
    "MEM_LOAD_NODE": Kind.MEMCPY,
    "MEM_STORE_NODE": Kind.MEMCPY,
    "COMM_SEND_NODE": Kind.SEND,
    "COMM_RECV_NODE": Kind.RECV,
    "COMM_COLL_NODE": Kind.COLL,
}
"""Types of Chakra's nodes; other nodes, and PyTorch's, are calls of operators: REGION."""
TYPE_NUMBERS = (
    *("INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE"),
    *("COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"),
)
METADATA = "METADATA_NODE"
DEPENDENCIES = ("ctrl_deps", "data_deps", "ctrlDeps", "dataDeps")
STARTS, DURATIONS = ("start_time_micros", "startTimeMicros"), ("duration_micros", "durationMicros")
NS_PER_US = 1000
LARGEST_US = 2**52
HINT = 'An execution trace in JSON is an object with a list "nodes", each with an id and a name.'


@dataclass(slots=True)
class _Node:
    """One node as it is read."""

    number: int
    name: str
    kind: Kind
    lane: tuple[int, int]
    before: list[int]
    duration_ns: int
    start_ns: int | None
    size_bytes: int
    parent: int


def read_chakra(path: Path | str) -> EventTable:
    """Read an execution trace.

    Times that the file gives are kept. Nodes of one stream (of one thread where no stream is named) run one after another: one that
    begins before the one in front of it ends is moved behind it, is REPAIRED, and counted. Where a file gives no starts, a node
    starts when all that it depends on, and the node in front of it on its stream, are done, and is ASSUMED_TIME; nodes without a
    duration last 0. PyTorch's control dependency is the node that called another, no order: callers contain what they call, and
    only the order of numbers is kept.

    Raises
    ------
    DataError
        It is no such trace, a number is none, two nodes have one number, or nodes wait for each other in a circle.
    """
    path = Path(path)
    content = read_content(path)
    try:
        document = json.loads(content, strict=False)
    except (ValueError, RecursionError) as error:
        raise DataError(f"is no JSON ({error})", place=str(path), hint=HINT) from None
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        raise DataError("has no list of nodes", place=str(path), hint=HINT)
    read = [_node(path, place, each) for place, each in enumerate(document["nodes"])]
    nodes = [node for node in read if node is not None]
    if len({node.number for node in nodes}) < len(nodes):
        raise DataError("two nodes have one id", place=f"{path}, nodes", hint=HINT)
    rank = document.get("rank", 0)
    return _table(path, nodes, rank if type(rank) is int and 0 <= rank < 2**31 else 0)


def _node(path: Path, place: int, node: Any) -> _Node | None:
    """One node; None for what describes the file."""
    where = f"{path}, nodes, {place}"
    if not isinstance(node, dict) or not isinstance(node.get("name"), str):
        raise DataError("is no node with a name", place=where, hint=HINT)
    attributes = _attributes(node)
    kind = node.get("type", attributes.get("type"))
    kind = TYPE_NUMBERS[kind] if type(kind) is int and 0 <= kind < len(TYPE_NUMBERS) else kind
    if kind == METADATA:
        return None
    number = _whole(where, "id", node.get("id"))
    kind = kind if isinstance(kind, str) else ""
    is_call = kind not in KINDS
    dependencies = [each for name in DEPENDENCIES for each in _several(where, name, node.get(name, []))]
    start = _microseconds(where, STARTS, node)
    stream, thread = (_lane(attributes.get(name)) for name in ("stream", "tid"))
    return _Node(
        number=number,
        name=node["name"],
        kind=KINDS.get(kind, Kind.REGION),
        lane=(stream, thread),
        before=[] if is_call else dependencies,
        duration_ns=_microseconds(where, DURATIONS, node) or 0,
        start_ns=start if start else None,
        size_bytes=_lane(attributes.get("comm_size", attributes.get("tensor_size")), 0),
        parent=dependencies[0] if is_call and dependencies else UNSET,
    )


def _attributes(node: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by name: PyTorch's have ``value``, Chakra's one field for each type."""
    found = {}
    for name in ("attrs", "attr"):
        for each in node.get(name) or []:
            if isinstance(each, dict) and isinstance(each.get("name"), str):
                values = [value for key, value in each.items() if key not in ("name", "type", "docString")]
                found[each["name"]] = each.get("value", values[0] if values else None)
    return found


def _whole(where: str, name: str, value: Any) -> int:
    """A whole number; protobuf's JSON has those of 64 bits in quotes."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    if type(value) is not int or not 0 <= value < 2**62:
        raise DataError(f"got {value!r}, expected a whole number", place=f"{where}, {name}", hint=HINT)
    return value


def _several(where: str, name: str, value: Any) -> list[int]:
    """Whole numbers of a list, or one."""
    values = value if isinstance(value, list) else [value]
    return [_whole(where, name, each) for each in values]


def _microseconds(where: str, names: Sequence[str], node: Mapping[str, Any]) -> int | None:
    """A time in whole nanoseconds; None where there is none."""
    value = next((node[name] for name in names if name in node), None)
    if value is None:
        return None
    if isinstance(value, str):
        value = _whole(where, names[0], value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < LARGEST_US:
        raise DataError(f"got {value!r}, expected microseconds >= 0", place=f"{where}, {names[0]}", hint=HINT)
    return round(value * NS_PER_US)


def _lane(value: Any, default: int = UNSET) -> int:
    """A number of a stream, thread or size; the default where there is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 9:
        return int(value)
    return value if type(value) is int and 0 <= value < 2**31 else default


def _table(path: Path, nodes: list[_Node], rank: int) -> EventTable:
    """The table, in the order of the file."""
    place = {node.number: index for index, node in enumerate(nodes)}
    n_missing = sum(each not in place for node in nodes for each in node.before)
    timed = bool(nodes) and all(node.start_ns is not None for node in nodes)
    start, repaired = _placed(nodes) if timed else (_scheduled(path, nodes, place), np.zeros(len(nodes), dtype=bool))
    flags = np.where(repaired, int(Flag.REPAIRED), 0) | (0 if timed else int(Flag.ASSUMED_TIME))
    strings = Strings()
    notes = []
    if repaired.any():
        notes.append(
            f"{int(repaired.sum())} nodes began before the one in front of them on their stream ended, and are moved behind it"
        )
    if not timed:
        notes.append("the trace gives no starts: they follow from dependencies and the order of streams")
    if n_missing:
        notes.append(f"{n_missing} dependencies name nodes that are not there")
    parent = np.array([place.get(node.parent, UNSET) for node in nodes], dtype=np.int64)
    origin = int(start.min(initial=np.iinfo(np.int64).max)) if len(nodes) else 0
    columns = _columns(nodes, strings, start - origin, flags)
    return event_table(
        len(nodes),
        strings=strings.all(),
        sources=(str(path),),
        notes=notes,
        origin_ns=origin,
        rank=rank,
        match=parent,
        **columns,
    )


def _columns(nodes: list[_Node], strings: Strings, start: np.ndarray, flags: np.ndarray) -> dict[str, Any]:
    """Columns of the nodes."""
    kind = np.array([int(node.kind) for node in nodes], dtype=np.uint8)
    stream = np.array([node.lane[0] for node in nodes], dtype=np.int32)
    return {
        "start_ns": start,
        "duration_ns": np.array([node.duration_ns for node in nodes], dtype=np.int64),
        "kind": kind,
        "name": np.array([strings.number(node.name) for node in nodes], dtype=np.int32),
        "stream": stream,
        "tid": np.array([node.lane[1] for node in nodes], dtype=np.int32),
        "device": np.where(kind == int(Kind.REGION), UNSET, 0).astype(np.int32),
        "size_bytes": np.array([node.size_bytes for node in nodes], dtype=np.int64),
        "flags": flags.astype(np.uint16),
    }


def _placed(nodes: list[_Node]) -> tuple[np.ndarray, np.ndarray]:
    """Starts as given, behind the node in front on the stream; which were moved."""
    start = np.array([node.start_ns for node in nodes], dtype=np.int64)
    moved = np.zeros(len(nodes), dtype=bool)
    free: dict[tuple[int, int], int] = {}
    for index in np.argsort(start, kind="stable").tolist():
        node = nodes[index]
        if node.kind == Kind.REGION:
            continue
        moved[index] = start[index] < free.get(node.lane, 0)
        start[index] = max(int(start[index]), free.get(node.lane, 0))
        free[node.lane] = int(start[index]) + node.duration_ns
    return start, moved


def _scheduled(path: Path, nodes: list[_Node], place: Mapping[int, int]) -> np.ndarray:
    """Starts by dependencies, the order of numbers on each stream, and nothing else."""
    before: list[set[int]] = [{place[each] for each in node.before if each in place} for node in nodes]
    last: dict[tuple[int, int], int] = {}
    for index in sorted(range(len(nodes)), key=lambda index: nodes[index].number):
        lane = nodes[index].lane
        if nodes[index].kind != Kind.REGION and lane in last:
            before[index].add(last[lane])
        last[lane] = index
    after: list[list[int]] = [[] for _ in nodes]
    n_before = [len(each) for each in before]
    for index, each in enumerate(before):
        for other in each:
            after[other].append(index)
    start = np.zeros(len(nodes), dtype=np.int64)
    ready = [index for index, number in enumerate(n_before) if not number]
    heapq.heapify(ready)
    n_done = 0
    while ready:
        index = heapq.heappop(ready)
        n_done += 1
        for other in after[index]:
            start[other] = max(int(start[other]), int(start[index]) + nodes[index].duration_ns)
            n_before[other] -= 1
            if not n_before[other]:
                heapq.heappush(ready, other)
    if n_done < len(nodes):
        stuck = [nodes[index].name for index, number in enumerate(n_before) if number]
        raise DataError(f"{len(stuck)} nodes wait for each other in a circle, such as {stuck[0]!r}", place=str(path))
    return start
