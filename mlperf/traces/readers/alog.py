"""ALOG, the log of MPE and PerWiz: states of every process, and the messages inside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.jit import jit
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.readers.alog_lines import N_EVENTS, N_PROCESSES, RECEIVE, SEND, Definitions, Lines, read_alog_lines

REGION_NAMES = ("PRGN", "PRGN_BEGIN", "PRGN_END")
OTHER, BEGIN, END, MESSAGE = 0, 1, 2, 3
CALLS = (
    #  words in the state's name                     kind
    (("isend", "ibsend", "issend", "irsend"), Kind.ISEND),
    (("irecv",), Kind.IRECV),
    (("wait",), Kind.WAIT),
    (("barrier", "bcast", "reduce", "gather", "scatter", "alltoall", "scan"), Kind.COLL),
)
"""What a state without messages of its own is; other states of names that begin with ``mpi_`` are API, all others REGION."""


def read_alog(path: Path | str, region_names: tuple[str, ...] = REGION_NAMES) -> EventTable:
    """Read an ALOG file.

    A send or receive gets the times of the innermost state of its process that is open. One send and one receive in a state are a
    call that does both; several messages in a state are posted at its start and complete at its end.

    Parameters
    ----------
    path : path
        Text, gzipped or not.
    region_names : tuple of str
        The name of states, or of beginning and ending events, that mark a parallel region.

    Returns
    -------
    EventTable
        Messages and collective operations not yet matched.

    Raises
    ------
    DataError
        Names file, line and column.

    References
    ----------
    Herrarte and Lusk, Studying Parallel Program Behavior with Upshot (1991), for the format; Kanbe et al. (PerWiz) for regions.
    """
    path = Path(path)
    defined, lines = read_alog_lines(path)
    _define_regions(defined, region_names)
    order = np.lexsort((np.arange(len(lines.line)), lines.time_ns, lines.process))
    role, state = _roles(defined, lines)
    names = [name for _, name in defined.states.values()]
    holds = np.array([name != region_names[0] for name in names] + [False])
    partner, owner = _nest(role[order], state[order], lines.process[order], holds, int(lines.process.max()) + 1)
    _refuse_stray_ends(path, lines, order, role, partner)
    return _table(path, defined, lines, order, role[order], state[order], partner, owner)


def _define_regions(defined: Definitions, region_names: tuple[str, ...]) -> None:
    """Make a state of the events that begin and end a region, where the file has them as two types."""
    begins = [kind for kind, text in defined.descriptions.items() if text.split() and text.split()[-1] == region_names[1]]
    ends = [kind for kind, text in defined.descriptions.items() if text.split() and text.split()[-1] == region_names[2]]
    for begin, end in zip(begins, ends, strict=False):
        defined.states.setdefault(begin, (end, region_names[0]))


def _roles(defined: Definitions, lines: Lines) -> tuple[IntArray, IntArray]:
    """What every line is (OTHER, BEGIN, END, MESSAGE), and the state that it begins or ends."""
    kinds, place = np.unique(lines.type, return_inverse=True)
    begins = {begin: number for number, begin in enumerate(defined.states)}
    ends = {end: number for number, (end, _) in enumerate(defined.states.values())}
    role_of, state_of = np.zeros(len(kinds), dtype=np.int64), np.full(len(kinds), UNSET, dtype=np.int64)
    for each, kind in enumerate(kinds.tolist()):
        if kind in (SEND, RECEIVE):
            role_of[each] = MESSAGE
        elif kind in begins:
            role_of[each], state_of[each] = BEGIN, begins[kind]
        elif kind in ends:
            role_of[each], state_of[each] = END, ends[kind]
    return role_of[place], state_of[place]


@jit
def _nest(role: IntArray, state: IntArray, process: IntArray, holds: BoolArray, n_processes: int) -> tuple[IntArray, IntArray]:
    """Partner of every beginning and end, and the innermost open state of every message that may hold one; -1: none."""
    n = len(role)
    partner = np.full(n, -1, dtype=np.int64)
    owner = np.full(n, -1, dtype=np.int64)
    below = np.full(n, -1, dtype=np.int64)
    top = np.full(n_processes, -1, dtype=np.int64)
    for row in range(n):
        own = process[row]
        if role[row] == 1:
            below[row] = top[own]
            top[own] = row
        elif role[row] == 2:
            above, found = -1, top[own]
            while found >= 0 and state[found] != state[row]:
                above, found = found, below[found]
            if found >= 0:
                partner[row], partner[found] = found, row
                if above < 0:
                    top[own] = below[found]
                else:
                    below[above] = below[found]
        elif role[row] == 3:
            found = top[own]
            while found >= 0 and not holds[state[found]]:
                found = below[found]
            owner[row] = found
    return partner, owner


def _refuse_stray_ends(path: Path, lines: Lines, order: IntArray, role: IntArray, partner: IntArray) -> None:
    """An end needs a beginning before it."""
    stray = (role[order] == END) & (partner < 0)
    if np.any(stray):
        row = int(order[np.flatnonzero(stray)[0]])
        raise DataError(
            f"type {lines.type[row]} ends a state of process {lines.process[row]} that has not begun",
            place=f"{path}, line {lines.line[row]}",
            hint="The log may lack its beginning, or its lines are of different clocks.",
        )


def _table(
    path: Path,
    defined: Definitions,
    lines: Lines,
    order: IntArray,
    role: IntArray,
    state: IntArray,
    partner: IntArray,
    owner: IntArray,
) -> EventTable:
    """Rows of states and of messages."""
    time, process = lines.time_ns[order], lines.process[order]
    # Files of our own begin with the run, others with the clock.
    origin = 0 if defined.is_own else int(time.min())
    finish = np.full(int(process.max()) + 1, 0, dtype=np.int64)
    np.maximum.at(finish, process, time)
    begins, messages = np.flatnonzero(role == BEGIN), np.flatnonzero(role == MESSAGE)
    is_send = lines.type[order][messages] == SEND
    n_sends = np.bincount(owner[messages][is_send & (owner[messages] >= 0)], minlength=len(order))
    n_receives = np.bincount(owner[messages][~is_send & (owner[messages] >= 0)], minlength=len(order))
    end = np.where(partner[begins] >= 0, time[partner[begins]], finish[process[begins]])
    duration = np.zeros(len(order), dtype=np.int64)
    duration[begins] = end - time[begins]
    strings = Strings()
    kinds, names = _kinds_of_states(defined, strings)
    many = n_sends + n_receives > 1
    exchange = (n_sends == 1) & (n_receives == 1)
    # One message in a state is that state; several are posted in it.
    shown = begins[(n_sends + n_receives)[begins] != 1]
    shown = shown[~exchange[shown]]
    of = owner[messages]
    inside = of >= 0
    posted = inside & (many & ~exchange)[of]
    kind = np.where(posted, np.where(is_send, Kind.ISEND, Kind.IRECV), np.where(is_send, Kind.SEND, Kind.RECV))
    single = inside & ~posted & ~exchange[of]
    named = np.where(single, kinds[state[of]], 0)
    kind = np.where(np.isin(named, (int(Kind.ISEND), int(Kind.IRECV))), named, kind)
    flags = np.where(inside, np.where(exchange[of], int(Flag.PAIRED), 0), int(Flag.ASSUMED_TIME)).astype(np.int64)
    corr = np.where(inside & many[of], of, UNSET)
    waits = many[shown]
    extra = _own_columns(defined, lines, order, shown, messages, of)
    columns = {
        "start_ns": np.concatenate((time[shown], np.where(inside, time[of], time[messages]))) - origin,
        "duration_ns": np.concatenate((duration[shown], np.where(inside & ~posted, duration[of], 0))),
        "rank": np.concatenate((process[shown], process[messages])),
        "kind": np.concatenate((np.where(waits, int(Kind.WAIT), kinds[state[shown]]), kind)),
        "name": np.concatenate((names[state[shown]], np.where(inside, names[state[of]], UNSET))),
        "size_bytes": np.concatenate((extra["size_bytes"], lines.size_bytes[order][messages])),
        "peer": np.concatenate((extra["peer"], lines.data[order][messages])),
        "tag": np.concatenate((np.full(len(shown), UNSET), lines.tag[order][messages])),
        "comm": extra["comm"],
        "corr": np.where(extra["corr"] >= 0, extra["corr"], np.concatenate((np.where(waits, shown, UNSET), corr))),
        "flags": np.concatenate((np.where(partner[shown] < 0, int(Flag.TRUNCATED), 0), flags)),
    }
    table = event_table(
        len(columns["kind"]),
        strings=strings.all(),
        sources=(f"alog {path.name}",),
        origin_ns=origin,
        notes=_notes(defined, lines, begins, partner, flags),
        attributes={"n_ranks": int(process.max()) + 1, "process_names": dict(defined.process_names)},
        **columns,
    )
    return number_regions(table.by_rank())


def _own_columns(
    defined: Definitions, lines: Lines, order: IntArray, shown: IntArray, messages: IntArray, of: IntArray
) -> dict[str, IntArray]:
    """What the lines of files of our own tell besides: of states size and peer, of states and messages comm and corr."""
    n_all = len(shown) + len(messages)
    if not defined.is_own:
        unset = np.full(n_all, UNSET, dtype=np.int64)
        return {"size_bytes": np.zeros(len(shown), dtype=np.int64), "peer": unset[: len(shown)], "comm": unset, "corr": unset}
    task, tag = lines.task[order], lines.tag[order]
    return {
        "size_bytes": lines.size_bytes[order][shown],
        "peer": lines.data[order][shown],
        "comm": np.concatenate((task[shown], task[messages])),
        "corr": np.concatenate((tag[shown], np.where(of >= 0, tag[of], UNSET))),
    }


def _kinds_of_states(defined: Definitions, strings: Strings) -> tuple[IntArray, IntArray]:
    """Kind and name of every state; one more, unset, for what is in none."""
    kinds, names = [], []
    for begin, (_, name) in defined.states.items():
        lower = name.lower()
        told = defined.descriptions.get(begin, "").partition(" ")[0] if defined.is_own else ""
        found = (
            Kind[told]
            if told in Kind.__members__
            else next((kind for words, kind in CALLS if any(word in lower for word in words) and _is_mpi(lower)), None)
        )
        kinds.append(int(found if found is not None else Kind.API if _is_mpi(lower) else Kind.REGION))
        names.append(strings.number(name))
    return np.array([*kinds, 0], dtype=np.int64), np.array([*names, UNSET], dtype=np.int64)


def _is_mpi(lower: str) -> bool:
    """Whether a state's name is that of a call of the library: ``mpi_send``; logs of old leave the prefix out."""
    return lower.startswith(("mpi_", "pmpi_")) or lower in {"barrier", "bcast", "reduce", "allreduce", "send", "recv", "sendrecv"}


def _notes(defined: Definitions, lines: Lines, begins: IntArray, partner: IntArray, flags: IntArray) -> list[str]:
    """Sentences about what the file has wrong."""
    found = []
    n_events, n_processes = defined.counts.get(N_EVENTS), defined.counts.get(N_PROCESSES)
    if n_events not in (None, 0, len(lines.line)):
        found.append(f"the head says {n_events} events, the file holds {len(lines.line)}")
    if n_processes not in (None, 0, len(np.unique(lines.process))):
        found.append(f"the head says {n_processes} processes, {len(np.unique(lines.process))} have events")
    open_states = int(np.count_nonzero(partner[begins] < 0))
    if open_states:
        found.append(f"{open_states} states are never left; they end with the last event of their process")
    assumed = int(np.count_nonzero(flags & int(Flag.ASSUMED_TIME)))
    if assumed:
        found.append(f"{assumed} messages are in no state; they take no time")
    return found


def number_regions(table: EventTable) -> EventTable:
    """Count the passes of every region on every rank into `step`; rows by rank and time."""
    rows = np.flatnonzero(table.kind == Kind.REGION)
    if not len(rows):
        return table
    order = rows[np.lexsort((rows, table.start_ns[rows], table.name[rows], table.rank[rows]))]
    new = (np.diff(table.rank[order]) != 0) | (np.diff(table.name[order]) != 0)
    firsts = np.concatenate(([0], np.flatnonzero(new) + 1))
    counts = np.diff(np.concatenate((firsts, [len(order)])))
    step = np.full(len(table), UNSET, dtype=np.int32)
    step[order] = np.arange(len(order)) - np.repeat(firsts, counts)
    return table.replace(step=step)
