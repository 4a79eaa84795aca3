"""The file that one rank's recorder writes: records of 64 bytes, of which some announce a text that follows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlperf.core.errors import DataError

MAGIC, VERSION = b"MLPERFR1", 1
RECORD = np.dtype(
    [
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
        ("kind", "u1"),
        ("pad", "u1"),
        ("flags", "<u2"),
        ("peer", "<i4"),
        ("tag", "<i4"),
        ("comm", "<i4"),
        ("size", "<i8"),
        ("id", "<i8"),
        ("site", "<u8"),
        ("name", "<i4"),
        ("count", "<i4"),
    ]
)
"""As ``mr_record`` in ``recording/data/record.h`` has it."""

STRING, SITE, COMM, CLOCK, PROFILE, COUNT, END = range(100, 107)
TEXTS = (STRING, SITE, COMM)
EVENTS = (1, 2, 3, 4, 5, 6, 8)
WILDCARD, OPEN, PAIRED, POSTED, CANCELLED, READY_TEXT = 1, 2, 4, 8, 16, 32
HOST, BOOT, RECORDER = -1, -2, -3
BRACKET, TRIP = 0, 1
MOST_RANKS = 2**22
LATEST_NS = 2**61
HINT = "Is it a file that a recorder of mlperf wrote, and whole?"


@dataclass(frozen=True, slots=True, eq=False)
class RankFile:
    """What one rank recorded.

    Attributes
    ----------
    path : Path
        The file.
    rank, n_ranks : int
        Of the world.
    events : array of `RECORD`, shape (n_events,)
        Events and regions in the order in which they were written.
    clocks : array of `RECORD`
        Readings: `tag` says which kind, `id` is the other clock's, between `start_ns` and `end_ns` of this one.
    profile : array of `RECORD`
        Counts by call site: `start_ns` total time, `size` bytes, `id` calls, `comm` the string of the region (-1: none).
    strings : dict of int to str
        Names by number.
    sites : dict of int to tuple of (bool, str)
        By address: whether the text is the place itself, and the text.
    comms : dict of int to tuple of int
        Members of each communicator, ranks of the world.
    is_whole : bool
        Whether the recorder came to its end.
    n_wrong_ends : int
        Ends of regions that were not open, and regions open at the end.
    own_ns : int
        What the recorder itself took, nanoseconds; 0 where the program did not come to its end.
    run_ns : int
        From the recorder's start to its end, or to the last event where it came to none, nanoseconds.
    n_bytes : int
        Size of the file up to its last record.
    """

    path: Path
    rank: int
    n_ranks: int
    events: NDArray[Any]
    clocks: NDArray[Any]
    profile: NDArray[Any]
    strings: dict[int, str]
    sites: dict[int, tuple[bool, str]]
    comms: dict[int, tuple[int, ...]]
    is_whole: bool
    n_wrong_ends: int
    own_ns: int
    run_ns: int
    n_bytes: int

    @property
    def host(self) -> str:
        """Name of the machine."""
        return self.strings.get(HOST, "")

    @property
    def clock_name(self) -> str:
        """What ranks with one clock share: the machine and its last start."""
        return f"{self.host} {self.strings.get(BOOT, '') or self.path.name}"


def read_rank_file(path: Path) -> RankFile:
    """Read one rank's file; of one that was cut off, what is whole.

    Raises
    ------
    DataError
        It is no such file, or a record in it cannot be; names the record.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=str(path)) from None
    whole = len(content) // RECORD.itemsize
    records = np.frombuffer(content, RECORD, whole)
    _check_header(path, content, records)
    texts, is_text = _texts(path, records)
    end = _end(records, is_text)
    kept = records[:end]
    kind = np.where(is_text[:end], 0, kept["kind"])
    _check_events(path, kept, kind)
    strings, sites, comms = _named(path, texts)
    found = RankFile(
        path=path,
        rank=int(records[0]["peer"]),
        n_ranks=int(records[0]["tag"]),
        events=kept[np.isin(kind, EVENTS)],
        clocks=kept[kind == CLOCK],
        profile=kept[kind == PROFILE],
        strings=strings,
        sites=sites,
        comms=comms,
        is_whole=bool((kind == END).any()),
        n_wrong_ends=int(kept["id"][kind == COUNT].sum()),
        own_ns=int(kept["size"][kind == COUNT].sum()),
        run_ns=max(0, int(kept["end_ns"][np.isin(kind, (*EVENTS, END))].max(initial=0)) - int(records[0]["end_ns"])),
        n_bytes=end * RECORD.itemsize,
    )
    _check_names(found)
    return found


def _check_header(path: Path, content: bytes, records: NDArray[Any]) -> None:
    """The first record says what the others are."""
    if content[: len(MAGIC)] != MAGIC or not len(records):
        raise DataError(f"begins with {content[:8]!r}, expected {MAGIC!r}", place=str(path), hint=HINT)
    head = records[0]
    if int(head["id"]) != VERSION or int(head["comm"]) != RECORD.itemsize:
        got = f"version {head['id']} with records of {head['comm']} bytes"
        raise DataError(f"got {got}, expected version {VERSION} with {RECORD.itemsize}", place=str(path), hint=HINT)
    if not 0 <= int(head["peer"]) < int(head["tag"]) <= MOST_RANKS:
        raise DataError(f"got rank {head['peer']} of {head['tag']}", place=f"{path}, record 0", hint=HINT)


def _texts(path: Path, records: NDArray[Any]) -> tuple[list[tuple[Any, bytes]], NDArray[np.bool_]]:
    """Texts with their heads, and which records are heads or text."""
    found, is_text = [], np.zeros(len(records), dtype=bool)
    is_text[0] = True
    after = 1
    for at in np.flatnonzero(np.isin(records["kind"], TEXTS)).tolist():
        # What looks like a head inside a text is a part of it.
        if at < after:
            continue
        length = int(records[at]["count"])
        after = at + 1 - (-length // RECORD.itemsize)
        if length < 0:
            raise DataError(f"got a text of {length} bytes", place=f"{path}, record {at}", hint=HINT)
        if after > len(records):
            is_text[at:] = True
            break
        is_text[at:after] = True
        found.append((records[at], records[at + 1 : after].tobytes()[:length]))
    return found, is_text


def _end(records: NDArray[Any], is_text: NDArray[np.bool_]) -> int:
    """Records that were written: the file of a program that was killed ends in zeros."""
    empty = np.flatnonzero((records["kind"] == 0) & ~is_text)
    return int(empty[0]) if len(empty) else len(records)


def _check_events(path: Path, records: NDArray[Any], kind: NDArray[Any]) -> None:
    """Kinds, times and sizes that can be."""
    is_timed = np.isin(kind, (*EVENTS, CLOCK))
    wrong = (kind != 0) & ~is_timed & ~np.isin(kind, (PROFILE, COUNT, END))
    late = is_timed & ((records["start_ns"] < 0) | (records["end_ns"] < records["start_ns"]) | (records["end_ns"] > LATEST_NS))
    sized = np.isin(kind, (*EVENTS, PROFILE)) & ((records["size"] < 0) | (records["id"] < 0))
    for what, bad in (
        ("is of no known kind", wrong),
        ("ends before it starts, or at no time", late),
        ("has a negative size", sized),
    ):
        if bad.any():
            at = int(np.argmax(bad))
            values = ", ".join(f"{name} {records[at][name]}" for name in ("kind", "start_ns", "end_ns", "size", "id"))
            raise DataError(f"{what}: {values}", place=f"{path}, record {at}", hint=HINT)


def _named(
    path: Path, texts: list[tuple[Any, bytes]]
) -> tuple[dict[int, str], dict[int, tuple[bool, str]], dict[int, tuple[int, ...]]]:
    """Strings, sites and communicators."""
    strings: dict[int, str] = {}
    sites: dict[int, tuple[bool, str]] = {}
    comms: dict[int, tuple[int, ...]] = {}
    for head, content in texts:
        if head["kind"] == COMM:
            if len(content) % 4:
                raise DataError(f"got {len(content)} bytes of members", place=f"{path}, communicator {head['name']}", hint=HINT)
            comms[int(head["name"])] = tuple(np.frombuffer(content, "<i4").tolist())
        elif head["kind"] == SITE:
            sites[int(head["site"])] = (bool(head["flags"] & READY_TEXT), content.decode("utf-8", "replace"))
        else:
            strings[int(head["name"])] = content.decode("utf-8", "replace")
    return strings, sites, comms


def _check_names(found: RankFile) -> None:
    """Every number stands for something in the file."""
    for rows in (found.events, found.profile):
        unknown = set(rows["name"].tolist()) - set(found.strings)
        if unknown:
            raise DataError(f"no text for name {min(unknown)}", place=str(found.path), hint=HINT)
    messages = found.events[np.isin(found.events["kind"], (1, 2, 3, 4, 6))]
    unknown = set(messages["comm"].tolist()) - set(found.comms)
    if unknown:
        raise DataError(f"no members of communicator {min(unknown)}", place=str(found.path), hint=HINT)
    peers = messages["peer"]
    if len(peers) and not (int(peers.min()) >= -1 and int(peers.max()) < found.n_ranks):
        raise DataError(f"got peers {peers.min()} to {peers.max()} among {found.n_ranks} ranks", place=str(found.path), hint=HINT)
