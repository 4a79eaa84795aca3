"""Recordings: a folder with one file a rank, put on one clock."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.traces.clocks import align
from mlperf.traces.clocks.constraints import Constraints, bracketed
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.matching import match_collectives, match_messages
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.readers.call_sites import call_sites
from mlperf.traces.readers.rank_file import (
    BRACKET,
    CANCELLED,
    OPEN,
    PAIRED,
    POSTED,
    RECORDER,
    TRIP,
    WILDCARD,
    RankFile,
    read_rank_file,
)

PATTERN = "rank-*.mlr"
POSTS, ENDS = (Kind.ISEND, Kind.IRECV), (Kind.SEND, Kind.RECV, Kind.ISEND, Kind.IRECV)


def read_rank_files(folder: Path) -> list[RankFile]:
    """Every rank's file of a recording, by rank.

    Raises
    ------
    DataError
        There is none, two are of one rank, or they are of runs of different sizes.
    """
    paths = sorted(folder.glob(PATTERN)) if folder.is_dir() else [folder]
    if not paths:
        hint = "mlperf trace record -o FOLDER -- mpirun -n 4 ./program writes them."
        raise DataError(f"holds no file {PATTERN}", place=str(folder), hint=hint)
    files = sorted((read_rank_file(path) for path in paths), key=lambda each: each.rank)
    ranks = [each.rank for each in files]
    if len(set(ranks)) < len(ranks) or len({each.n_ranks for each in files}) > 1:
        got = ", ".join(f"{each.path.name}: rank {each.rank} of {each.n_ranks}" for each in files[:8])
        raise DataError(f"got {got}, expected every rank of one run once", place=str(folder))
    return files


def read_recorded(path: Path | str) -> EventTable:
    """Read a recording.

    Parameters
    ----------
    path : path
        Folder with ``rank-00000.mlr``, ``rank-00001.mlr``, ...; or one such file.

    Returns
    -------
    EventTable
        Events, regions included, on one clock: ranks of one machine share its clock, those of several are aligned (`align`) by
        their messages and the recorders' exchanges of readings. Attributes: ``n_ranks``; ``clock_uncertainty_ns``; ``regions``,
        by name passes and nanoseconds in the run and in the recording; ``epoch_ns``, what the first clock lacks to the time
        since 1970; ``reordered_comms``, members by number of the communicators in which ranks have another order.

    Raises
    ------
    DataError
        A file is not what a recorder writes, or holds counts only.
    """
    folder = Path(path)
    files = read_rank_files(folder)
    if not any(len(each.events) for each in files) and any(len(each.profile) for each in files):
        raise DataError("holds counts of calls and no events", place=str(folder), hint="Record without --profile, or let it go on.")
    events = np.concatenate([each.events for each in files])
    rank = np.repeat([each.rank for each in files], [len(each.events) for each in files])
    left_out = ((events["flags"] & CANCELLED) > 0) & np.isin(events["kind"], POSTS)
    unrecorded = (events["kind"] == Kind.REGION) & ((events["flags"] & POSTED) > 0)
    kept = ~left_out & ~unrecorded
    strings, names, sites = _names(files)
    clocks = list(dict.fromkeys(each.clock_name for each in files))
    host = np.array([clocks.index(each.clock_name) for each in files])
    comms, comm, peer = _communicators(files, events, rank)
    columns = _columns(events, rank, len(comms), comm, peer)
    columns |= {"name": names, "site": sites, "host": np.repeat(host, [len(each.events) for each in files])}
    table = event_table(
        int(kept.sum()),
        strings=strings,
        sources=(f"{files[0].strings.get(RECORDER, 'recorder')} {folder.name}",),
        origin_ns=_first_ns(events),
        notes=_notes(files, events, int(left_out.sum())),
        attributes={
            "n_ranks": files[0].n_ranks,
            "hosts": tuple(name.split(" ")[0] for name in clocks),
            "regions": regions_of(files),
            "reordered_comms": {
                number: list(members) for (members, _), number in comms.items() if list(members) != sorted(members)
            },
            "epoch_ns": _epoch_ns(files[0]),
        },
        **{name: values[kept] for name, values in columns.items()},
    )
    return _on_one_clock(table, files, len(clocks)).by_rank()


def _on_one_clock(table: EventTable, files: Sequence[RankFile], n_clocks: int) -> EventTable:
    """Ranks of one machine share its clock; those of several are aligned by messages and by the recorders' readings."""
    if n_clocks < 2 or not len(table):
        return table.replace(attributes={**table.attributes, "clock_uncertainty_ns": {each.rank: 0.0 for each in files}})
    matched = match_collectives(match_messages(table, drop_unmatched=True), drop_unmatched=True)
    moved: EventTable = align(matched, readings=_readings(files))[0]
    return moved.replace(origin_ns=table.origin_ns)


def _columns(events: NDArray[Any], rank: IntArray, n_comms: int, comm: IntArray, peer: IntArray) -> dict[str, NDArray[Any]]:
    """Columns that records hold, and what numbers of single ranks become in the whole run."""
    kind, flags = events["kind"].astype(np.int64), events["flags"]
    operation = (kind == Kind.COLL) & ((flags & POSTED) == 0)
    kind = np.where((kind == Kind.COLL) & ~operation, int(Kind.API), kind)
    return {
        "start_ns": events["start_ns"] - _first_ns(events),
        "duration_ns": events["end_ns"] - events["start_ns"],
        "rank": rank,
        "kind": kind,
        "size_bytes": np.where(kind == Kind.REGION, 0, events["size"]),
        "peer": np.where(kind == Kind.REGION, UNSET, peer),
        "tag": events["tag"],
        "comm": comm,
        "step": np.where(kind == Kind.REGION, events["id"], UNSET),
        "corr": _belonging(kind, events, rank, comm, n_comms),
        "flags": _flags(kind, flags),
    }


def _first_ns(events: NDArray[Any]) -> int:
    """The earliest start."""
    return int(events["start_ns"].min()) if len(events) else 0


def _flags(kind: IntArray, flags: NDArray[Any]) -> IntArray:
    """Flags of the table for those of the file."""
    found = ((flags & WILDCARD) > 0) * np.int64(Flag.WILDCARD) + ((flags & PAIRED) > 0) * np.int64(Flag.PAIRED)
    is_open = ((flags & OPEN) > 0) & np.isin(kind, (*POSTS, Kind.REGION))
    return np.asarray(found + is_open * np.int64(Flag.TRUNCATED))


def _belonging(kind: IntArray, events: NDArray[Any], rank: IntArray, comm: IntArray, n_comms: int) -> IntArray:
    """One number for what belongs together: halves of a call, posts with their wait, members of an operation; -1: nothing."""
    number = events["id"].astype(np.int64)
    alone = (number == 0) | ~np.isin(kind, (*ENDS, Kind.WAIT, Kind.COLL)) | ((kind == Kind.COLL) & (comm < 0))
    owner = np.where(kind == Kind.COLL, comm, n_comms + rank)
    keys = np.stack((owner, number), axis=1)
    found = np.full(len(keys), UNSET, dtype=np.int64)
    if (~alone).any():
        found[~alone] = np.unique(keys[~alone], axis=0, return_inverse=True)[1].ravel()
    return found


def _communicators(
    files: Sequence[RankFile], events: NDArray[Any], rank: IntArray
) -> tuple[dict[tuple[tuple[int, ...], int], int], IntArray, IntArray]:
    """Communicators of the run by members and turn, the number of each event's, and its peer as a rank of the world.

    Ranks number communicators on their own; all members make those of the same members in the same order.
    """
    numbers: dict[tuple[tuple[int, ...], int], int] = {}
    comm, peer = np.full(len(events), UNSET, dtype=np.int64), events["peer"].astype(np.int64)
    for each in files:
        turns: dict[tuple[int, ...], int] = {}
        for own, members in sorted(each.comms.items()):
            turn = turns.get(members, 0)
            turns[members] = turn + 1
            number = numbers.setdefault((members, turn), len(numbers))
            rows = np.flatnonzero((rank == each.rank) & (events["comm"] == own) & np.isin(events["kind"], (*ENDS, Kind.COLL)))
            comm[rows] = number
            # Receives from anybody are answered where the recorder has no communicator at hand: their peer is a rank in it.
            late = rows[(events["kind"][rows] == Kind.IRECV) & (events["count"][rows] == 1)]
            inside = late[(peer[late] >= 0) & (peer[late] < len(members))]
            peer[inside] = np.array(members, dtype=np.int64)[peer[inside]]
    return numbers, comm, peer


def _names(files: Sequence[RankFile]) -> tuple[tuple[str, ...], IntArray, IntArray]:
    """Strings of the run, and the numbers of names and sites of all events."""
    strings = Strings()
    names, sites = [], []
    # One program has its functions at other addresses on every rank; each place is looked up once.
    known: dict[tuple[bool, str], str] = {}
    for each in files:
        unknown = {address: text for address, text in each.sites.items() if _place(text) not in known}
        known |= {_place(each.sites[address]): place for address, place in call_sites(unknown).items()}
        places = {address: known[_place(text)] for address, text in each.sites.items()}
        names.append(_numbered(each.events["name"], each.strings, strings))
        sites.append(_numbered(each.events["site"], places, strings))
    return strings.all(), np.concatenate(names), np.concatenate(sites)


def _numbered(values: NDArray[Any], texts: Mapping[int, str], strings: Strings) -> IntArray:
    """Numbers of strings for a file's own numbers of them; -1 where there is no text."""
    own, place = np.unique(values, return_inverse=True)
    known = [strings.number(texts[number]) if number in texts else UNSET for number in own.tolist()]
    return np.array(known, dtype=np.int64)[place]


def _place(site: tuple[bool, str]) -> tuple[bool, str]:
    """What a site is on every rank: without the address, which differs."""
    is_ready, text = site
    parts = text.split("\t")
    return (is_ready, text) if is_ready or len(parts) != 4 else (False, "\t".join((*parts[:2], parts[3])))


def regions_of(files: Sequence[RankFile]) -> dict[str, dict[str, float]]:
    """Of every region its passes and nanoseconds, in the run and in what was recorded, means over the ranks."""
    found: dict[str, dict[str, float]] = {}
    for each in files:
        rows = each.events[each.events["kind"] == Kind.REGION]
        for row in rows:
            region = found.setdefault(each.strings[int(row["name"])], {"passes": 0, "recorded": 0, "ns": 0, "recorded_ns": 0})
            recorded = (int(row["flags"]) & POSTED) == 0
            time_ns = int(row["end_ns"] - row["start_ns"])
            region["passes"] += 1
            region["ns"] += time_ns
            region["recorded"] += recorded
            region["recorded_ns"] += recorded * time_ns
    return {name: {key: value / len(files) for key, value in region.items()} for name, region in found.items()}


def clock_readings(path: Path | str) -> tuple[Constraints, ...]:
    """What the recorder's exchanges of clock readings say: with `mlperf.traces.clocks.align`, one clock a host.

    Ranks on one machine since its last start share its clock; between machines every exchange bounds the offset of two.
    """
    return _readings(read_rank_files(Path(path)))


def _readings(files: Sequence[RankFile]) -> tuple[Constraints, ...]:
    """One constraint from before and one from after each exchange."""
    clocks = list(dict.fromkeys(each.clock_name for each in files))
    zero = clocks.index(files[0].clock_name)
    found = []
    for each in files:
        rows = each.clocks[each.clocks["tag"] == TRIP]
        found.append(bracketed(clocks.index(each.clock_name), rows["start_ns"], zero, rows["id"], rows["end_ns"]))
    return tuple(found)


def _epoch_ns(file: RankFile) -> int:
    """What the first rank's clock lacks to the time since 1970, nanoseconds; 0 where it took no reading."""
    rows = file.clocks[file.clocks["tag"] == BRACKET]
    if not len(rows):
        return 0
    return int(rows["id"][0]) - (int(rows["start_ns"][0]) + int(rows["end_ns"][0])) // 2


def _notes(files: Sequence[RankFile], events: NDArray[Any], n_cancelled: int) -> tuple[str, ...]:
    """What is missing or was left out, counted."""
    notes = []
    missing = sorted(set(range(files[0].n_ranks)) - {each.rank for each in files})
    if missing:
        notes.append(f"{len(missing)} of {files[0].n_ranks} ranks left no file: {', '.join(map(str, missing[:8]))}")
    torn = [each for each in files if not each.is_whole]
    if torn:
        kept = sum(len(each.events) for each in torn)
        ranks = ", ".join(str(each.rank) for each in torn[:8])
        notes.append(f"{len(torn)} ranks ended before MPI did ({ranks}); the {kept} events that they had recorded are kept")
    counts = (
        (n_cancelled, "cancelled messages are left out"),
        *_timed_alone(files),
        (
            int((np.isin(events["kind"], POSTS) & ((events["flags"] & OPEN) > 0)).sum()),
            "posted messages are waited for by no recorded call",
        ),
        (sum(each.n_wrong_ends for each in files), "ends of regions without a beginning, or beginnings without an end"),
        (int(((events["kind"] == Kind.REGION) & ((events["flags"] & POSTED) > 0)).sum()), "passes of regions were not recorded"),
    )
    return (*notes, *(f"{number} {text}" for number, text in counts if number))


POSTED_NOTE = "non-blocking collective operations are kept as the calls that post them: who waits for whom in them is not known"
OTHER_NOTE = "are kept by their time alone: who waits for whom in them is not known"
POSTING = re.compile(r"MPI_I(?!sendrecv|neighbor)\w+")


def _timed_alone(files: Sequence[RankFile]) -> tuple[tuple[int, str], ...]:
    """Calls that stand for no message and no operation, counted: operations that are posted, and others, by their names."""
    names: Counter[str] = Counter()
    for each in files:
        alone = (each.events["kind"] == Kind.COLL) & ((each.events["flags"] & POSTED) > 0)
        names.update(each.strings.get(number, "") for number in each.events["name"][alone].tolist())
    others = {name: count for name, count in sorted(names.items()) if not POSTING.fullmatch(name)}
    n_others = sum(others.values())
    return (names.total() - n_others, POSTED_NOTE), (n_others, f"calls of {', '.join(others)} {OTHER_NOTE}")


def share_recorded(regions: Mapping[str, Mapping[str, float]]) -> float:
    """How many times longer the run was in its recorded regions than the recording is; 1 where all passes were recorded."""
    recorded = sum(each["recorded_ns"] for each in regions.values() if each["recorded"])
    total = sum(each["ns"] for each in regions.values() if each["recorded"])
    return total / recorded if recorded else 1.0
