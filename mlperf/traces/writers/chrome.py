"""Chrome trace events, which chrome://tracing and Perfetto open; read back, they are the same table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mlperf.core.files import replacing
from mlperf.core.shown import plain
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import COLUMNS, EventTable
from mlperf.traces.readers.chrome.own import MEMBER, NUMBERS, VERSION

NS_PER_US = 1000
LINES_AT_ONCE = 4096
ARROW = "arrow"


class Stream(Protocol):
    """Something that takes bytes."""

    def write(self, content: bytes, /) -> Any:
        """Take them."""


def write_chrome(table: EventTable, path: Path | str) -> None:
    """Write a table as one document; gzipped where the name ends in ``.gz``.

    Notes
    -----
    A process of the viewer is a rank, or a process or device of one; a thread is a thread or stream. Messages and launches are
    arrows. Everything else of a row stands in the event's arguments, so that the reader gives the same table back.
    """
    with written(Path(path)) as stream:
        write_document(stream, table, np.arange(len(table)), 0)


@contextmanager
def written(path: Path) -> Iterator[Stream]:
    """A document to write, whole or not at all; gzipped where its name ends in ``.gz``."""
    with replacing(path) as stream:
        if path.name.lower().endswith(".gz"):
            import gzip

            # No time in the header: the same table makes the same file.
            with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=6, mtime=0) as packed:
                yield packed
        else:
            yield stream


def write_document(stream: Stream, table: EventTable, rows: np.ndarray, zero_ns: int, *, with_base: bool = True) -> None:
    """Write some rows of a table as one document.

    Parameters
    ----------
    stream : binary stream
    table : EventTable
    rows : array of int64
        Which, ascending.
    zero_ns : int
        Moment of the table's clock that is 0 in the document.
    with_base : bool
        Tell the table's origin as ``baseTimeNanoseconds``, as profilers do.
    """
    write_lines(stream, table, event_lines(table, rows, zero_ns), len(rows), zero_ns, with_base=with_base)


def write_lines(
    stream: Stream, table: EventTable, lines: Iterable[str], n_events: int, zero_ns: int, *, with_base: bool = True
) -> None:
    """Write a document of such events, ``n_events`` of them rows of a table: see `write_document`."""
    head: dict[str, Any] = {"schemaVersion": 1, "displayTimeUnit": "ns"}
    if with_base:
        head["baseTimeNanoseconds"] = table.origin_ns + zero_ns
    head[MEMBER] = {
        "version": VERSION,
        "n_events": n_events,
        "origin_ns": table.origin_ns,
        "zero_ns": zero_ns,
        "sources": list(table.sources),
        "notes": list(table.notes),
        "attributes": plain(table.attributes),
    }
    stream.write(f"{json.dumps(head)[:-1]}, ".encode())
    stream.write(b'"traceEvents": [\n')
    buffer: list[str] = []
    first = True
    for line in lines:
        buffer.append(line)
        if len(buffer) == LINES_AT_ONCE:
            stream.write((("" if first else ",\n") + ",\n".join(buffer)).encode())
            buffer, first = [], False
    if buffer:
        stream.write((("" if first else ",\n") + ",\n".join(buffer)).encode())
    stream.write(b"\n]}\n")


def metadata(kind: str, pid: int, tid: int, **arguments: Any) -> dict[str, Any]:
    """One event that names a process or thread, or says where it stands."""
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": arguments}


def event_lines(table: EventTable, rows: np.ndarray, zero_ns: int) -> Iterator[str]:
    """Names of processes and threads, then every event and its arrow."""
    process, thread, names = _lanes(table, rows)
    for name in names:
        yield json.dumps(name)
    texts = [json.dumps(text) for text in table.strings]
    held = [name for name in NUMBERS if np.any(getattr(table, name)[rows] != COLUMNS[name][1])]
    columns = [getattr(table, name)[rows].tolist() for name in held]
    start = (table.start_ns[rows] - zero_ns).tolist()
    lanes = list(zip(process.tolist(), thread.tolist(), strict=True))
    arrows = _arrows(table, rows)
    defaults = [COLUMNS[name][1] for name in held]
    always = zip(
        rows.tolist(), start, table.duration_ns[rows].tolist(), table.kind[rows].tolist(), table.name[rows].tolist(),
        table.name2[rows].tolist(), table.site[rows].tolist(), table.device[rows].tolist(), table.stream[rows].tolist(),
        strict=True,
    )  # fmt: skip
    for place, (row, begin, length, kind, name, name2, site, device, lane) in enumerate(always):
        pid, tid = lanes[place]
        what = Kind(kind).name
        told = [f'"row": {row}, "kind": "{what}"']
        told += [f'"{key}": {texts[number]}' for key, number in (("name2", name2), ("site", site)) if number >= 0]
        told += [f'"{key}": {number}' for key, number in (("device", device), ("stream", lane)) if number != -1]
        told += [
            f'"{key}": {values[place]}'
            for key, values, default in zip(held, columns, defaults, strict=True)
            if values[place] != default
        ]
        category = texts[name2] if name2 >= 0 else f'"{what.lower()}"'
        where = f'"pid": {pid}, "tid": {tid}, "ts": {microseconds(begin)}'
        yield (
            f'{{"ph": "X", "name": {texts[name] if name >= 0 else chr(34) * 2}, "cat": {category}, {where}, '
            f'"dur": {microseconds(length)}, "args": {{{", ".join(told)}}}}}'
        )
        if row in arrows:
            yield f'{{"ph": "{arrows[row][0]}", "bp": "e", "id": {arrows[row][1]}, "name": "{ARROW}", "cat": "{ARROW}", {where}}}'


def microseconds(time_ns: int) -> str:
    """Nanoseconds as decimal microseconds, exactly."""
    sign, size = ("-", -time_ns) if time_ns < 0 else ("", time_ns)
    return f"{sign}{size // NS_PER_US}.{size % NS_PER_US:03d}"


def _arrows(table: EventTable, rows: np.ndarray) -> dict[int, tuple[str, int]]:
    """Rows where an arrow begins (``s``) or ends (``f``), with its number: that of the row where it begins."""
    inside = np.zeros(len(table) + 1, dtype=bool)
    inside[rows] = True
    mutual = rows[(table.match[rows] >= 0) & inside[table.match[rows]]]
    mutual = mutual[table.match[table.match[mutual]] == mutual]
    begins = np.isin(table.kind[mutual], [int(kind) for kind in (Kind.SEND, Kind.ISEND, Kind.API)])
    found: dict[int, tuple[str, int]] = {}
    for row, other in zip(mutual[begins].tolist(), table.match[mutual[begins]].tolist(), strict=True):
        found[row], found[other] = ("s", row), ("f", row)
    return found


def _lanes(table: EventTable, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[dict[str, Any]]]:
    """Process and thread of each row as the viewer shows them, and their names."""
    columns = np.stack([getattr(table, name)[rows].astype(np.int64) for name in ("rank", "device", "pid", "stream", "tid")], axis=1)
    on_device = columns[:, 1] != -1
    # A device's stream is its thread, whatever process number the profiler gave it.
    columns[on_device, 2] = columns[on_device, 4] = -1
    columns[~on_device, 3] = -1
    lanes, which = np.unique(columns, axis=0, return_inverse=True)
    processes, process = np.unique(lanes[:, :3], axis=0, return_inverse=True)
    process = process.reshape(-1)
    first = np.concatenate(([0], np.flatnonzero(np.diff(process)) + 1)) if len(process) else np.zeros(0, dtype=np.int64)
    thread = np.arange(len(lanes)) - first[process] if len(process) else process
    named = table.attributes.get("process_names", {})
    names = [
        metadata("process_name", place + 1, 0, name=_process_name(each, named)) for place, each in enumerate(processes.tolist())
    ]
    names += [metadata("process_sort_index", place + 1, 0, sort_index=place) for place in range(len(processes))]
    labels = table.attributes.get("thread_names", {})
    names += [
        metadata("thread_name", owner + 1, number, name=_thread_name(lane, labels))
        for lane, owner, number in zip(lanes.tolist(), process.tolist(), thread.tolist(), strict=True)
    ]
    which = which.reshape(-1)
    return (process + 1)[which], thread[which], names


def _process_name(process: Sequence[int], named: Any) -> str:
    """Rank, and what of it."""
    rank, device, pid = process
    of = f"rank {rank}" if rank >= 0 else "no rank"
    if device != -1:
        return f"{of}, {'host memory' if device == -2 else f'device {device}'}"
    label = named.get(f"{rank}/{pid}", "") if isinstance(named, dict) else ""
    return f"{of}, {label or 'process'} {pid}" if pid != -1 else of


def _thread_name(lane: Sequence[int], labels: Any) -> str:
    """Stream or thread."""
    rank, device, pid, stream, tid = lane
    if device != -1:
        return f"stream {stream}"
    label = labels.get(f"{rank}/{pid}/{tid}", "") if isinstance(labels, dict) else ""
    return label or (f"thread {tid}" if tid != -1 else "events")
