"""Collective operations over ranks: which kernels are members of one."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, column
from mlperf.traces.readers.chrome.categories import operation_of
from mlperf.traces.readers.chrome.meaning import flagged


def join_collectives(table: EventTable) -> EventTable:
    """Give the members of each collective operation one `corr`.

    By process group and sequence number where the events tell both; else the i-th of a group and kind on each rank. Where ranks
    have different numbers of them, those that not all have are UNMATCHED.
    """
    rows = np.flatnonzero(table.kind == Kind.COLL)
    if not len(rows):
        return table
    operations = {number: operation_of(text) for number, text in enumerate(table.strings)}
    known: dict[tuple[int, str], int] = {}
    numbers = [known.setdefault((comm, operations.get(name, "")), len(known)) for comm, name in _pairs(table, rows)]
    group: IntArray = np.array(numbers, dtype=np.int64)
    told = (table.tag[rows] >= 0) & (table.comm[rows] >= 0)
    order = _order_on_rank(table, rows, group)
    key = np.stack((np.where(told, table.comm[rows], -2), group, np.where(told, table.tag[rows], order)), axis=1)
    _, instance, n_members = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    instance = instance.reshape(-1)
    corr = column(table.corr).copy()
    corr[rows] = instance + int(corr.max(initial=-1)) + 1
    whole = _ranks_of(group, table.rank[rows])
    alone = rows[n_members[instance] < whole]
    if len(alone):
        note = f"{len(alone)} collective calls lack members on other ranks: not all ranks were recorded for as long"
        table = flagged(table.replace(notes=(*table.notes, note)), alone, Flag.UNMATCHED)
    if not told.all() and len(np.unique(table.rank)) > 1:
        note = f"{int((~told).sum())} collective calls tell no sequence number: they are joined by their order on each rank"
        table = table.replace(notes=(*table.notes, note))
    return table.replace(corr=corr)


def _pairs(table: EventTable, rows: IntArray) -> list[tuple[int, int]]:
    """Communicator and name of each row."""
    return list(zip(table.comm[rows].tolist(), table.name[rows].tolist(), strict=True))


def _order_on_rank(table: EventTable, rows: IntArray, group: IntArray) -> IntArray:
    """How many of its group came before each on its rank."""
    order = np.lexsort((table.start_ns[rows], table.rank[rows], group))
    changes = (np.diff(group[order]) != 0) | (np.diff(table.rank[rows][order]) != 0)
    first = np.concatenate(([0], np.flatnonzero(changes) + 1))
    sizes = np.diff(np.concatenate((first, [len(rows)])))
    found = np.empty(len(rows), dtype=np.int64)
    found[order] = np.arange(len(rows)) - np.repeat(first, sizes)
    return found


def _ranks_of(group: IntArray, rank: np.ndarray) -> IntArray:
    """How many ranks have operations of each row's group."""
    pairs = np.unique(np.stack((group, rank), axis=1), axis=0)
    return np.bincount(pairs[:, 0])[group]


def name_communicators(tables: list[EventTable]) -> list[EventTable]:
    """Number process groups by name over all ranks: 0, 1, ... in the order of their first appearance, with their names."""
    known: dict[str, int] = {}
    found = []
    for table in tables:
        used = np.unique(table.comm[table.comm >= 0])
        new = np.full(int(used.max(initial=-1)) + 2, UNSET, dtype=np.int32)
        for number in used.tolist():
            new[number] = known.setdefault(table.strings[number], len(known))
        found.append(table.replace(comm=new[table.comm]) if len(used) else table)
    names = {number: name for name, number in known.items()}
    return [table.replace(attributes={**table.attributes, "communicators": names}) if names else table for table in found]
