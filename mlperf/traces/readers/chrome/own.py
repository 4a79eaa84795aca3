"""Trace events that our own writer made: the table exactly as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import COLUMNS, EventTable, concatenate, event_table
from mlperf.traces.readers.chrome.document import Document
from mlperf.traces.readers.chrome.raw import ABSENT, RawEvents, present
from mlperf.traces.readers.store import check_numbers, with_numbers

VERSION = 1
MEMBER = "mlperf"
ROWS = "own_rows"
NUMBERS = tuple(
    name
    for name in COLUMNS
    if name not in ("start_ns", "duration_ns", "device", "stream", "kind", "name", "name2", "site", "source")
)
HINT = "Was it written by mlperf trace export, and copied whole?"


def is_own(document: Document) -> bool:
    """Whether our own writer made a document, and it is whole."""
    told = document.members.get(MEMBER)
    return isinstance(told, dict) and told.get("version") == VERSION and not document.fault


def own_table(raw: RawEvents, document: Document, place: str) -> EventTable:
    """The rows of one document; the attribute `ROWS` holds their places in the whole table.

    Raises
    ------
    DataError
        What the writer says of the table is not what the document holds.
    """
    told = document.members[MEMBER]
    rows = np.flatnonzero(present(raw.column("args.row")))
    n_events, origin_ns, zero_ns, attributes = (told.get(name) for name in ("n_events", "origin_ns", "zero_ns", "attributes"))
    numbers = (n_events, origin_ns, zero_ns)
    if not all(type(each) is int and abs(each) < 2**62 for each in numbers) or not isinstance(attributes, dict):
        raise DataError("lacks n_events, origin_ns, zero_ns or attributes", place=f"{place}, {MEMBER}", hint=HINT)
    if len(rows) != n_events:
        raise DataError(f"has {len(rows)} events, expected {n_events}", place=place, hint=HINT)
    strings = [*raw.strings(), *(kind.name for kind in Kind)]
    columns: dict[str, NDArray[Any]] = {
        "start_ns": raw.column("ts")[rows] + zero_ns,
        "duration_ns": np.maximum(raw.column("dur")[rows], 0),
        "kind": _kinds(raw.column("args.kind")[rows], strings, place),
        "name": _texts(raw.column("name")[rows], strings),
        "name2": raw.column("args.name2")[rows],
        "site": raw.column("args.site")[rows],
    }
    for name in ("device", "stream", *NUMBERS):
        columns[name] = _numbers(raw.column(f"args.{name}")[rows], name, place)
    table = event_table(
        n_events,
        strings=strings,
        sources=_words(told.get("sources")) or (place,),
        origin_ns=origin_ns,
        notes=_words(told.get("notes")),
        attributes={**{name: with_numbers(value) for name, value in attributes.items()}, ROWS: raw.column("args.row")[rows]},
        **columns,
    )
    check_numbers(place, table.replace(match=np.full(n_events, UNSET)))  # type: ignore[arg-type]
    return table


def joined_own(tables: list[EventTable]) -> EventTable:
    """The whole table from its parts, in its own order.

    Raises
    ------
    DataError
        Parts are missing or of another table.
    """
    rows = np.concatenate([table.attributes[ROWS] for table in tables])
    if not np.array_equal(np.sort(rows), np.arange(len(rows))):
        raise DataError("the files are not all of one trace", place=tables[0].sources[0], hint=HINT)
    attributes = {name: value for name, value in tables[0].attributes.items() if name != ROWS}
    match = np.concatenate([table.match for table in tables])
    if len(match) and int(match.max()) >= len(rows):
        raise DataError(f"points to {int(match.max())} of {len(rows)}", place=f"{tables[0].sources[0]}, match", hint=HINT)
    alone = [table.replace(match=np.full(len(table), UNSET), attributes=attributes) for table in tables]
    whole = concatenate(alone).replace(match=match, notes=tables[0].notes, sources=tables[0].sources)
    whole = whole.replace(source=np.zeros(len(whole), dtype=np.uint8))
    # Rows are put in place without `take`, which would take match for places in what it is given.
    order = np.argsort(rows)
    kept = whole.match[order]
    return whole.replace(match=np.full(len(whole), UNSET)).take(order).replace(match=kept)


def _numbers(values: NDArray[Any], name: str, place: str) -> NDArray[Any]:
    """A column; what is absent has its default."""
    kind, default = COLUMNS[name]
    found = np.where(values == ABSENT, default, values)
    bounds = np.iinfo(kind)
    if len(found) and not (bounds.min <= int(found.min()) and int(found.max()) <= bounds.max):
        raise DataError(f"a number does not fit into {np.dtype(kind)}", place=f"{place}, column {name}", hint=HINT)
    return found.astype(kind)


def _kinds(values: NDArray[Any], strings: list[str], place: str) -> NDArray[np.uint8]:
    """Kinds by their names."""
    names = {
        number: Kind[strings[number]] for number in np.unique(values[values >= 0]).tolist() if strings[number] in Kind.__members__
    }
    if len(values) and not set(np.unique(values).tolist()) <= set(names):
        raise DataError("an event has no kind, or an unknown one", place=f"{place}, kind", hint=HINT)
    table = np.zeros(len(strings), dtype=np.uint8)
    for number, kind in names.items():
        table[number] = kind
    found: NDArray[np.uint8] = table[values]
    return found


def _texts(values: NDArray[Any], strings: list[str]) -> NDArray[Any]:
    """Names; an empty one is none."""
    empty = [number for number, text in enumerate(strings) if not text]
    return np.where(np.isin(values, empty), UNSET, values)


def _words(value: Any) -> tuple[str, ...]:
    """A list of strings, or nothing."""
    return tuple(value) if isinstance(value, list) and all(isinstance(each, str) for each in value) else ()
