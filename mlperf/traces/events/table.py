"""The columnar store: one row an event, numpy columns, names as numbers into one table of strings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import UNSET, Kind

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Mapping[str, tuple[type, int]] = {
    "start_ns": (np.int64, 0),
    "duration_ns": (np.int64, 0),
    "rank": (np.int32, UNSET),
    "host": (np.int32, UNSET),
    "device": (np.int32, UNSET),
    "stream": (np.int32, UNSET),
    "pid": (np.int32, UNSET),
    "tid": (np.int32, UNSET),
    "cpu": (np.int32, UNSET),
    "kind": (np.uint8, 0),
    "name": (np.int32, UNSET),
    "name2": (np.int32, UNSET),
    "site": (np.int32, UNSET),
    "size_bytes": (np.int64, 0),
    "weight_ns": (np.int64, 0),
    "peer": (np.int32, UNSET),
    "tag": (np.int32, UNSET),
    "comm": (np.int32, UNSET),
    "step": (np.int32, UNSET),
    "iteration": (np.int32, UNSET),
    "match": (np.int64, UNSET),
    "corr": (np.int64, UNSET),
    "source": (np.uint8, 0),
    "flags": (np.uint16, 0),
}
"""Type and default of every column; a column that nobody gave takes no memory."""

NAMES = ("name", "name2", "site")
"""Columns that hold numbers of strings."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EventTable:
    """Events of one run on one clock.

    Attributes
    ----------
    start_ns, duration_ns : array of int64, shape (n_events,)
        Nanoseconds since `origin_ns`; durations are 0 or more.
    rank, host, device, stream, pid, tid, cpu : array of int32
        Where; -1 unset, device -2 the host's memory.
    kind : array of uint8
        `Kind`.
    name, name2, site : array of int32
        Numbers into `strings`: what the event is called, its library or communicator's name, its place in the program.
    size_bytes : array of int64
        Payload of a message, bytes moved by a copy.
    weight_ns : array of int64
        CPU time that a sample stands for.
    peer, tag, comm : array of int32
        Other end of a message (a rank of the run, not of the communicator), root of a collective operation; tag; communicator.
    step, iteration : array of int32
        Pass through a parallel region; iteration of a training loop.
    match : array of int64
        Row of the message's other end.
    corr : array of int64
        What belongs together: see `Kind`, and a launch with its kernel.
    source, flags : array of uint8, uint16
        Number into `sources`; `Flag`.
    strings : tuple of str
        What the numbers of names stand for.
    sources : tuple of str
        Reader or recorder of the rows, with its file.
    origin_ns : int
        Time of 0 on the reference clock (since the epoch where that is known).
    notes : tuple of str
        What a reader met and put right, counted, one sentence each.
    attributes : mapping
        Of the whole run: ``n_ranks``, ``clock_uncertainty_ns`` by rank, what else a format tells.
    """

    start_ns: IntArray
    duration_ns: IntArray
    rank: NDArray[np.int32]
    host: NDArray[np.int32]
    device: NDArray[np.int32]
    stream: NDArray[np.int32]
    pid: NDArray[np.int32]
    tid: NDArray[np.int32]
    cpu: NDArray[np.int32]
    kind: NDArray[np.uint8]
    name: NDArray[np.int32]
    name2: NDArray[np.int32]
    site: NDArray[np.int32]
    size_bytes: IntArray
    weight_ns: IntArray
    peer: NDArray[np.int32]
    tag: NDArray[np.int32]
    comm: NDArray[np.int32]
    step: NDArray[np.int32]
    iteration: NDArray[np.int32]
    match: IntArray
    corr: IntArray
    source: NDArray[np.uint8]
    flags: NDArray[np.uint16]
    strings: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    origin_ns: int = 0
    notes: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of events."""
        return len(self.start_ns)

    @property
    def end_ns(self) -> IntArray:
        """Ends of all events, nanoseconds."""
        return self.start_ns + self.duration_ns

    @property
    def n_ranks(self) -> int:
        """Ranks of the run: what the format says, at least the largest that has an event."""
        return max(int(self.attributes.get("n_ranks", 0)), int(self.rank.max(initial=-1)) + 1)

    @property
    def place(self) -> str:
        """What the table was read from, as errors name it."""
        return ", ".join(self.sources)

    @property
    def met(self) -> str:
        """What reading met, as sentences of a hint; empty where it met nothing."""
        return " ".join(f"{note[:1].upper()}{note[1:]}." for note in self.notes)

    def take(self, rows: NDArray[Any]) -> EventTable:
        """The rows of an index or a mask in that order; `match` follows them, and is unset where the partner is left out."""
        index = np.flatnonzero(rows) if rows.dtype == bool else np.asarray(rows)
        place = np.full(len(self) + 1, UNSET, dtype=np.int64)
        place[index] = np.arange(len(index))
        picked = {name: column(getattr(self, name))[index] if is_held(getattr(self, name)) else None for name in COLUMNS}
        if picked["match"] is not None:
            # The last place answers for -1.
            picked["match"] = place[picked["match"]]
        return self.with_columns(len(index), {name: values for name, values in picked.items() if values is not None})

    def with_columns(self, n_events: int, columns: Mapping[str, NDArray[Any]]) -> EventTable:
        """Another set of rows with this table's strings, sources, origin, notes and attributes."""
        return event_table(
            n_events,
            strings=self.strings,
            sources=self.sources,
            origin_ns=self.origin_ns,
            notes=self.notes,
            attributes=self.attributes,
            **columns,
        )

    def replace(self, **changes: Any) -> EventTable:
        """A copy with some columns or attributes changed."""
        return dataclasses.replace(self, **changes)

    def by_time(self) -> EventTable:
        """Sorted by start; of equal starts the longer first, so that a call stands before what it contains; else as they stood."""
        return self.take(np.lexsort((-self.duration_ns, self.start_ns)))

    def by_rank(self) -> EventTable:
        """Sorted by rank, then as `by_time`."""
        return self.take(np.lexsort((-self.duration_ns, self.start_ns, self.rank)))

    def of_kind(self, *kinds: Kind) -> EventTable:
        """The events of some kinds."""
        return self.take(np.isin(self.kind, [int(kind) for kind in kinds]))

    def text(self, numbers: NDArray[Any]) -> list[str]:
        """What the numbers of names stand for; empty where unset."""
        return [self.strings[number] if number >= 0 else "" for number in numbers.tolist()]

    def to_frame(self) -> pd.DataFrame:
        """All columns that hold something, names as text and kinds by name."""
        import pandas as pd

        held = {name: getattr(self, name) for name in COLUMNS if is_held(getattr(self, name))}
        for name in NAMES:
            if name in held:
                held[name] = pd.Categorical(self.text(held[name]))
        held["kind"] = pd.Categorical([Kind(number).name for number in self.kind.tolist()])
        return pd.DataFrame(held)


def event_table(
    n_events: int,
    *,
    strings: Sequence[str] = (),
    sources: Sequence[str] = (),
    origin_ns: int = 0,
    notes: Sequence[str] = (),
    attributes: Mapping[str, Any] | None = None,
    **columns: Any,
) -> EventTable:
    """An `EventTable` of ``n_events`` rows from the columns that there are; a single number stands for all rows.

    Raises
    ------
    TypeError
        There is no such column.
    ValueError
        A column is not of that length.
    """
    unknown = sorted(set(columns) - set(COLUMNS))
    if unknown:
        raise TypeError(f"an event has no column {', '.join(unknown)}")
    arrays = {}
    for name, (kind, default) in COLUMNS.items():
        values: NDArray[Any] = np.asarray(columns.get(name, default), dtype=kind)
        if values.ndim == 0:
            values = np.full(n_events, values) if name in columns else np.broadcast_to(values, n_events)
        arrays[name] = values
        if arrays[name].shape != (n_events,):
            raise ValueError(f"column {name} has shape {values.shape}, expected ({n_events},)")
    return EventTable(
        **arrays,
        strings=tuple(strings),
        sources=tuple(sources),
        origin_ns=int(origin_ns),
        notes=tuple(notes),
        attributes=dict(attributes or {}),
    )


def concatenate(tables: Sequence[EventTable]) -> EventTable:
    """One table of the rows of several on the same clock: strings and sources joined, `match` moved, the earliest origin.

    ``corr`` numbers are the caller's: they must already tell apart what does not belong together.
    """
    origin = min((each.origin_ns for each in tables), default=0)
    strings: dict[str, int] = {}
    sources: list[str] = []
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in COLUMNS}
    before = 0
    for each in tables:
        numbers = np.array([strings.setdefault(text, len(strings)) for text in each.strings] + [UNSET], dtype=np.int32)
        for name in COLUMNS:
            parts[name].append(getattr(each, name))
        parts["start_ns"][-1] = each.start_ns + (each.origin_ns - origin)
        for name in NAMES:
            parts[name][-1] = numbers[getattr(each, name)]
        parts["match"][-1] = np.where(each.match >= 0, each.match + before, UNSET)
        parts["source"][-1] = each.source + len(sources)
        sources += each.sources
        before += len(each)
    columns = {name: np.concatenate(arrays) for name, arrays in parts.items() if any(is_held(array) for array in arrays)}
    return event_table(
        before,
        strings=tuple(strings),
        sources=sources,
        origin_ns=origin,
        notes=[note for each in tables for note in each.notes],
        attributes=_joined_attributes(tables),
        **columns,
    )


def _joined_attributes(tables: Sequence[EventTable]) -> dict[str, Any]:
    """Attributes of all tables: mappings are joined, of other values the largest number or the first word is kept."""
    found: dict[str, Any] = {}
    for each in tables:
        for name, value in each.attributes.items():
            if isinstance(value, Mapping):
                found[name] = {**found.get(name, {}), **value}
            elif isinstance(value, (int, float)):
                found[name] = max(found.get(name, value), value)
            else:
                found.setdefault(name, value)
    return found


class Strings:
    """Numbers for strings as they come.

    Examples
    --------
    >>> strings = Strings()
    >>> strings.number("solve"), strings.number("exchange"), strings.number("solve")
    (0, 1, 0)
    """

    __slots__ = ("_numbers",)

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._numbers = {text: number for number, text in enumerate(known)}

    def number(self, text: str) -> int:
        """The string's number, a new one if it was not met before."""
        return self._numbers.setdefault(text, len(self._numbers))

    def all(self) -> tuple[str, ...]:
        """The strings by number."""
        return tuple(self._numbers)


def column(values: NDArray[Any]) -> NDArray[Any]:
    """A column as an array of its own memory where it is one value for all rows."""
    return values if is_held(values) else np.array(values)


def is_held(values: NDArray[Any]) -> bool:
    """Whether a column has a value of its own for each row."""
    return values.size == 0 or values.strides != (0,)
