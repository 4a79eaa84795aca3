"""Chrome trace events of one rank or of all ranks of a job: files, a folder of them, or an archive with a manifest."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.events.kinds import Flag
from mlperf.traces.events.table import EventTable, concatenate
from mlperf.traces.readers.chrome.arrows import join_arrows
from mlperf.traces.readers.chrome.collectives import join_collectives, name_communicators
from mlperf.traces.readers.chrome.document import Document, read_document
from mlperf.traces.readers.chrome.launches import join_launches, repair_latencies
from mlperf.traces.readers.chrome.meaning import CORR_SPAN, flagged, table_of
from mlperf.traces.readers.chrome.names import cycles_of, rank_in
from mlperf.traces.readers.chrome.own import is_own, joined_own, own_table
from mlperf.traces.readers.chrome.pieces import pieces
from mlperf.traces.readers.chrome.raw import RawEvents
from mlperf.traces.readers.chrome.slices import slices_of
from mlperf.traces.readers.chrome.xla import with_xla_devices
from mlperf.traces.readers.content import opened

SUFFIXES = (".json", ".json.gz")
ARCHIVES = (".zip", ".tar")
TWIN = "perfetto_trace.json.gz"
NO_RANK = "the file tells no rank: it is taken as rank 0"


def read_chrome(path: Path | str) -> EventTable:
    """Read a trace of one rank, or all ranks of a folder (``*.json``, ``*.json.gz``) or an archive (``.zip``, ``.tar``).

    Notes
    -----
    Kernels of a collective library are COLL; other kernels, copies, memory sets and calls of the runtime are KERNEL, MEMCPY,
    MEMSET and API, everything else with a duration is a REGION, and what has none a MARK. ``name2`` is the category, ``site``
    the shapes of an operator's arguments, and of what runs on a device the operator that launched it. ``match`` joins a launch
    and its first activity; ``corr`` all that one launch brought, and the members of a collective operation. Times are whole
    nanoseconds, exactly. Clocks of several ranks are taken as they are.

    Raises
    ------
    DataError
        A file holds no trace events, or two files claim one rank.
    """
    path = Path(path)
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.name.lower().endswith(SUFFIXES))
        # JAX writes what it has in another file once more for Perfetto.
        found = [each for each in found if each.name != TWIN] or found
        if not found:
            raise DataError("holds no *.json or *.json.gz", place=str(path), hint="One file a rank.")
        return read_rank_files(found)
    return _read_archive(path) if path.name.lower().endswith(ARCHIVES) else read_rank_files([path])


def read_rank_files(paths: Sequence[Path | str], ranks: Sequence[int] | None = None) -> EventTable:
    """Read several files as the ranks of one job.

    Parameters
    ----------
    paths : sequence of path
    ranks : sequence of int, optional
        The rank of each; without it what the document tells, else the number after ``rank`` in its name, else 0 if it is the only
        one. Files that PyTorch's handler for TensorBoard wrote one after the other (`cycles_of`) are one rank's.

    Raises
    ------
    UsageError
        As many ranks as files are needed.
    DataError
        As `read_chrome`; a file of several tells no rank.
    """
    if ranks is not None and len(ranks) != len(paths):
        raise UsageError(f"got {len(ranks)} ranks for {len(paths)} files")
    cycles = cycles_of(paths) if ranks is None else {}
    if any(len(each) > 1 for each in cycles.values()):
        return _read_cycles(cycles)
    tables = []
    for place, path in enumerate(paths):
        with opened(Path(path)) as stream:
            asked = None if ranks is None else ranks[place]
            tables.append(_read_one(stream, str(path), asked, is_only=len(paths) == 1))
    return _joined(tables)


def _read_cycles(cycles: Mapping[str, Sequence[Path]]) -> EventTable:
    """Read what the handler for TensorBoard wrote, of each process one file after the other; DataError: two are of one rank."""
    first = {name: _read_file(paths[0], None) for name, paths in cycles.items()}
    known: dict[int, str] = {}
    for name, rank in _told_ranks(first).items():
        if rank in known:
            hint = "Are these files of two runs? Keep each run in a folder of its own."
            raise DataError(f"is of rank {rank}, as {known[rank]}", place=str(cycles[name][0]), hint=hint)
        known[rank] = str(cycles[name][0])
    return _joined_processes(cycles, first)


def read_process_files(processes: Mapping[str, Sequence[Path]]) -> EventTable:
    """Read what the processes of one command wrote: of each a file or several, one for each part of it that was profiled.

    A process has the rank that its first file tells; those that tell none get the numbers that are left, in their order. Processes
    may tell one rank, as those do that run one after the other.

    Raises
    ------
    DataError
        As `read_chrome`.
    """
    return _joined_processes(processes, {name: _read_file(paths[0], None) for name, paths in processes.items()})


def _told_ranks(first: Mapping[str, EventTable]) -> dict[str, int]:
    """Ranks that the first files of processes tell."""
    return {name: int(table.rank[0]) for name, table in first.items() if len(table) and NO_RANK not in table.notes}


def _joined_processes(processes: Mapping[str, Sequence[Path]], first: Mapping[str, EventTable]) -> EventTable:
    """All files of all processes, of which the first are read already."""
    told = _told_ranks(first)
    left = (number for number in count() if number not in told.values())
    if len(first) == 1 and all(len(paths) == 1 for paths in processes.values()):
        return _joined(list(first.values()))
    tables, n_numbered = [], len(processes) - len(told)
    for name, paths in processes.items():
        rank = told[name] if name in told else next(left)
        kept = [first[name]] if name in told else []
        tables += kept + [_read_file(path, rank) for path in paths[len(kept) :]]
    found = _joined(tables, shared=True)
    note = f"{n_numbered} of {len(processes)} processes tell no rank: they are numbered in the order of their files"
    return found.replace(notes=(*found.notes, note)) if n_numbered else found


def _read_file(path: Path, rank: int | None) -> EventTable:
    """The table of one file."""
    with opened(path) as stream:
        return _read_one(stream, str(path), rank, is_only=True)


def _read_archive(path: Path) -> EventTable:
    """Read the traces of an archive; its manifest, which is for viewers, is left alone."""
    tables = []
    try:
        for name, stream in _members(path):
            if name.lower().endswith(SUFFIXES) and "manifest" not in name.lower():
                tables.append(_read_one(stream, f"{path}, {name}", None, is_only=False))
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, RuntimeError) as error:
        raise DataError(f"is no whole archive ({error})", place=str(path)) from error
    if not tables:
        raise DataError("holds no *.json or *.json.gz", place=str(path))
    return _joined(tables)


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Names and contents of an archive's files."""
    if path.name.lower().endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                with archive.open(name) as stream:
                    yield name, stream
        return
    with tarfile.open(path) as bundle:
        for member in bundle:
            content = bundle.extractfile(member)
            if content is not None:
                yield member.name, content


def _read_one(stream: IO[bytes], place: str, asked: int | None, *, is_only: bool) -> EventTable:
    """The table of one document."""
    raw = RawEvents()
    document = read_document(pieces(stream), raw.take, place)
    base_ns = document.members.get("baseTimeNanoseconds", 0)
    if type(base_ns) is not int or not 0 <= base_ns < 2**62:
        raise DataError(f"got {base_ns!r}, expected nanoseconds since the epoch", place=f"{place}, baseTimeNanoseconds")
    if is_own(document):
        return own_table(raw, document, place)
    rank, note = _rank(document, place, asked, is_only=is_only)
    slices = slices_of(raw)
    table = join_arrows(table_of(raw, slices, rank, base_ns, place), raw, slices, base_ns)
    table = repair_latencies(join_launches(with_xla_devices(table, rank)))
    notes = [*([note] if note else []), *table.notes]
    if document.fault:
        notes.append(f"the file {place} is cut off: {document.fault}; {document.n_events} events before that are kept")
        if len(table):
            table = flagged(table, np.array([table.end_ns.argmax()]), Flag.TRUNCATED)
    return table.replace(notes=tuple(notes), attributes={**table.attributes, **_about(document, rank)})


def _about(document: Document, rank: int) -> dict[str, Any]:
    """What the document tells of the run and the rank's device."""
    told = document.members.get("distributedInfo")
    found: dict[str, Any] = {}
    if isinstance(told, dict) and type(told.get("world_size")) is int:
        found["world_size"] = told["world_size"]
    devices = document.members.get("deviceProperties")
    if isinstance(devices, list) and devices and isinstance(devices[0], dict) and isinstance(devices[0].get("name"), str):
        found["device_names"] = {rank: devices[0]["name"]}
    return found


def _rank(document: Document, place: str, asked: int | None, *, is_only: bool) -> tuple[int, str]:
    """The document's rank, and what is to be said about it."""
    if asked is not None:
        return asked, ""
    told = document.members.get("distributedInfo")
    rank = told.get("rank") if isinstance(told, dict) else None
    if type(rank) is int and 0 <= rank < 2**31:
        return rank, ""
    named = rank_in(Path(place).name)
    if named is not None:
        return named, f"{place} tells no rank: it is {named} by its name"
    if is_only:
        return 0, NO_RANK
    raise DataError(
        "tells no rank, neither in distributedInfo nor in its name",
        place=place,
        hint="Call the files rank_0.json, rank_1.json, ... or give --rank once for each file.",
    )


def _joined(tables: list[EventTable], *, shared: bool = False) -> EventTable:
    """One table of all ranks; a rank may have several only where that is said."""
    if all("own_rows" in table.attributes for table in tables):
        return joined_own(tables)
    seen: dict[int, str] = {}
    for table in tables:
        rank = int(table.rank[0]) if len(table) else -1
        if rank in seen and len(table) and not shared:
            raise DataError(f"is of rank {rank}, as {seen[rank]}", place=table.sources[0], hint="Give --rank once for each file.")
        seen[rank] = table.sources[0]
    tables = [
        table.replace(corr=table.corr + (table.corr >= 0) * (place * CORR_SPAN)) if place else table
        for place, table in enumerate(tables)
    ]
    return join_collectives(concatenate(name_communicators(tables)))
