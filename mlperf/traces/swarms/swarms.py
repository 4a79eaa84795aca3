"""Swarms of a run: groups of functions that do one thing, when they work, and which follows which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import UNSET
from mlperf.traces.events.table import EventTable
from mlperf.traces.swarms.bursts import LIMITS_NS, find_bursts, period_ns
from mlperf.traces.swarms.captions import captions
from mlperf.traces.swarms.clusters import cluster_functions, join_by_file
from mlperf.traces.swarms.functions import N_BINS, PLACES, Functions, collapse, in_steps
from mlperf.traces.swarms.keywords import Rule, fitting_rules, read_rules
from mlperf.traces.swarms.pairs import Beginnings, find_pairs, synchronisations
from mlperf.traces.timeline.intervals import Intervals
from mlperf.traces.timeline.windows import Windows

NS = 1e-9
MOST_IN_PAIRS = 40
GAPS_OF_STEP = (0.05, 0.3)
"""Shares of a step: in short steps a pause of the first may part bursts, one of the second always does."""
NAMELESS = {"packets": "packets", "messages": "messages"}
SYNCHRONISATION = "parameter synchronisation"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Swarms(Shown, frame="swarms"):
    """Swarms of a recording.

    Attributes
    ----------
    source : str
    swarms : DataFrame
        One row a swarm, the most time first: ``swarm`` (number), ``name``, ``place`` (whose time: processor, python, device, system
        calls, messages, packets), ``found_by`` (keyword, clustering), ``role`` (network, compute, idle, parameter synchronisation
        where it recurs after both), ``time_s``, ``share`` (of its place's time), ``n_functions``, ``n_events``, ``n_bursts``,
        ``period_s`` (NaN: bursts do not come regularly), ``caption``.
    functions : DataFrame
        One row a function: ``swarm, function, file, thread, place, time_s, share`` (of its swarm), ``n_events``.
    pairs : DataFrame
        Of `find_pairs`; empty where no steps are known.
    activity_s : array, shape (n_swarms, 128)
        Seconds of each swarm in each part of the run.
    start_s, end_s : float
        The run on its clock.
    notes : tuple of str
    """

    source: str
    swarms: pd.DataFrame
    functions: pd.DataFrame
    pairs: pd.DataFrame
    activity_s: FloatArray
    start_s: float
    end_s: float
    notes: tuple[str, ...]


def find_swarms(
    events: EventTable,
    start_ns: int,
    end_ns: int,
    *,
    rules: Sequence[Rule] | None = None,
    windows: Windows | None = None,
    source: str = "",
) -> Swarms:
    """Group a run's functions: by keywords first, the rest by when they work and where they come from.

    Parameters
    ----------
    events : EventTable
    start_ns, end_ns : int
        The run on the table's clock.
    rules : sequence of Rule, optional
        Those of the package by default.
    windows : Windows, optional
        Steps of a rank; with them pairs of its swarms are tested.
    source : str
        What the events are from.

    Raises
    ------
    DataError
        The run has no samples, stacks, device work, system calls, messages or packets.
    """
    functions = collapse(events, start_ns, end_ns)
    if not len(functions):
        raise DataError("has no samples, stacks, device work, system calls, messages or packets", place=source or "events")
    rules = read_rules() if rules is None else rules
    activity = [functions.activity] if windows is None else [functions.activity, in_steps(events, functions, windows)]
    swarm, keys = _grouped(functions, rules, activity)
    swarm, keys = _by_time(functions, swarm, keys)
    told = captions(functions.function, functions.time_ns, swarm, len(keys))
    limits = _limits(windows)
    bursts = _bursts(events, functions, swarm, len(keys), limits)
    frame = _frame(functions, swarm, keys, told, rules, bursts)
    pairs, notes = _pairs(events, functions, swarm, frame, windows, limits)
    role = frame["role"].mask(frame["name"].isin(_offered(pairs, frame)), SYNCHRONISATION)
    return Swarms(
        source=source or ", ".join(events.sources[:3]),
        swarms=frame.assign(role=role),
        functions=_function_frame(functions, swarm),
        pairs=pairs,
        activity_s=_activity(functions, swarm, len(keys)),
        start_s=start_ns * NS,
        end_s=end_ns * NS,
        notes=(*_notes(functions), *notes),
    )


Key = tuple[str, int, int]
"""Place, number of the rule (-1: clustered), number of the cluster (-1: rest)."""


def _grouped(functions: Functions, rules: Sequence[Rule], activity: Sequence[FloatArray]) -> tuple[IntArray, list[Key]]:
    """Swarm of each function, and what each swarm is."""
    rule = fitting_rules(functions, rules)
    place = np.array(functions.place, dtype=object)
    cluster = np.full(len(functions), UNSET, dtype=np.int64)
    n_kept = len(functions.activity)
    for each in PLACES:
        members = np.flatnonzero((rule < 0) & (place == each))
        heavy, tail = members[members < n_kept], members[members >= n_kept]
        if not len(heavy):
            continue
        files = [functions.file[at] for at in members.tolist()]
        found = cluster_functions(tuple(each[heavy] for each in activity), functions.n_events[heavy], files[: len(heavy)])
        both = np.concatenate((found, np.full(len(tail), UNSET)))
        cluster[members] = join_by_file(both, functions.time_ns[members], files)
    keys: dict[Key, int] = {}
    numbers = [keys.setdefault(key, len(keys)) for key in zip(functions.place, rule.tolist(), cluster.tolist(), strict=True)]
    return np.array(numbers, dtype=np.int64), list(keys)


def _by_time(functions: Functions, swarm: IntArray, keys: list[Key]) -> tuple[IntArray, list[Key]]:
    """Swarms numbered by place, then by time."""
    spent = np.bincount(swarm, weights=functions.time_ns, minlength=len(keys))
    places = list(PLACES)
    order = sorted(range(len(keys)), key=lambda number: (places.index(keys[number][0]), -spent[number]))
    rank = np.empty(len(keys), dtype=np.int64)
    rank[order] = np.arange(len(keys))
    return rank[swarm], [keys[number] for number in order]


def _bursts(
    events: EventTable,
    functions: Functions,
    swarm: IntArray,
    n_swarms: int,
    limits_ns: tuple[int, int],
    kept: np.ndarray | None = None,
) -> list[Intervals]:
    """Bursts of each swarm."""
    of_row = swarm[functions.of_row].astype(np.int32)
    rows = functions.rows
    if kept is not None:
        of_row, rows = of_row[kept], rows[kept]
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=n_swarms))
    ends_ns = events.end_ns
    found = []
    for first, last in zip(np.concatenate(([0], ends[:-1])), ends, strict=True):
        own = rows[order[first:last]]
        found.append(find_bursts(events.start_ns[own], ends_ns[own], limits_ns))
    return found


def _frame(
    functions: Functions,
    swarm: IntArray,
    keys: list[Key],
    told: Sequence[Sequence[str]],
    rules: Sequence[Rule],
    bursts: Sequence[Intervals],
) -> pd.DataFrame:
    """One row a swarm."""
    spent = np.bincount(swarm, weights=functions.time_ns, minlength=len(keys))
    whole: dict[str, float] = {}
    for key, time in zip(keys, spent.tolist(), strict=True):
        whole[key[0]] = whole.get(key[0], 0.0) + time
    share = [time / whole[key[0]] if whole[key[0]] else 0.0 for key, time in zip(keys, spent.tolist(), strict=True)]
    names = _names(keys, told, rules)
    frame = pd.DataFrame({"swarm": np.arange(len(keys)), "name": names, "place": [key[0] for key in keys]})
    return frame.assign(
        found_by=["keyword" if key[1] >= 0 else "clustering" for key in keys],
        role=[_role(key, rules) for key in keys],
        time_s=spent * NS,
        share=share,
        n_functions=np.bincount(swarm, minlength=len(keys)),
        n_events=np.bincount(swarm, weights=functions.n_events, minlength=len(keys)).astype(np.int64),
        n_bursts=[len(each.start_ns) for each in bursts],
        period_s=[period_ns(each) * NS for each in bursts],
        caption=[_caption(functions, swarm, number, words, share[number]) for number, words in enumerate(told)],
    )


def _names(keys: list[Key], told: Sequence[Sequence[str]], rules: Sequence[Rule]) -> list[str]:
    """A name for each swarm, no two alike: the rule's, or its telling words."""
    found: list[str] = []
    for key, words in zip(keys, told, strict=True):
        own = " ".join(words) or NAMELESS.get(key[0], "without names")
        name = rules[key[1]].name if key[1] >= 0 else "rest" if key[2] < 0 and words else own
        if name in found:
            name = f"{name} ({key[0]})"
        number = 2
        while name in found:
            name, number = f"{name.partition(' #')[0]} #{number}", number + 1
        found.append(name)
    return found


def _role(key: Key, rules: Sequence[Rule]) -> str:
    """What a swarm's work is."""
    own = rules[key[1]].role if key[1] >= 0 else ""
    if key[0] in ("messages", "packets"):
        return "network"
    return own or ("compute" if key[0] == "device" else "")


def _caption(functions: Functions, swarm: IntArray, number: int, words: Sequence[str], share: float) -> str:
    """Telling words, the file with most of the time, the share."""
    spent: dict[str, float] = {}
    for at in np.flatnonzero(swarm == number).tolist():
        file = functions.file[at].rpartition("/")[2]
        spent[file] = spent.get(file, 0.0) + float(functions.time_ns[at])
    file = max(spent, key=lambda name: spent[name])
    place = functions.place[int(np.argmax(swarm == number))]
    # A kernel's second name is its category.
    where = f" in {file}" if file and place != "device" else ""
    return f"{', '.join(words) or 'no names'}{where}, {share:.1%} of the time of {place}"


def _function_frame(functions: Functions, swarm: IntArray) -> pd.DataFrame:
    """One row a function."""
    spent = np.bincount(swarm, weights=functions.time_ns)
    share = functions.time_ns / np.where(spent > 0, spent, 1.0)[swarm]
    return pd.DataFrame(
        {
            "swarm": swarm,
            "function": functions.function,
            "file": functions.file,
            "thread": functions.thread,
            "place": functions.place,
            "time_s": functions.time_ns * NS,
            "share": share,
            "n_events": functions.n_events,
        }
    )


def _activity(functions: Functions, swarm: IntArray, n_swarms: int) -> FloatArray:
    """Seconds of each swarm in each part of the run."""
    place = swarm[functions.of_row] * N_BINS + functions.bins
    found = np.bincount(place, weights=functions.weight_ns.astype(float) * NS, minlength=n_swarms * N_BINS)
    return np.asarray(found, dtype=np.float64).reshape(n_swarms, N_BINS)


def _limits(windows: Windows | None) -> tuple[int, int]:
    """Pauses that may part bursts and those that always do, nanoseconds."""
    if windows is None or not len(windows):
        return LIMITS_NS
    step = float(np.median(windows.end_ns - windows.start_ns))
    return min(LIMITS_NS[0], int(GAPS_OF_STEP[0] * step)), int(GAPS_OF_STEP[1] * step)


def _pairs(
    events: EventTable,
    functions: Functions,
    swarm: IntArray,
    frame: pd.DataFrame,
    windows: Windows | None,
    limits_ns: tuple[int, int],
) -> tuple[pd.DataFrame, list[str]]:
    """Pairs of the swarms of the rank that the steps are of, and what is to be said about them."""
    if windows is None:
        return find_pairs((), Windows(0, *(np.zeros(0, dtype=np.int64),) * 3, "")), []
    own = np.isin(events.rank[functions.rows], (UNSET, windows.rank))
    bursts = _bursts(events, functions, swarm, len(frame), limits_ns, own)
    told = frame[frame["role"] != "idle"]
    told = told.sort_values("share", ascending=False, kind="stable").head(MOST_IN_PAIRS)
    begin = [
        Beginnings(name, bursts[number].start_ns, _resolution(functions, swarm, number, place))
        for number, name, place in zip(told["swarm"].tolist(), told["name"].tolist(), told["place"].tolist(), strict=True)
    ]
    found = find_pairs(begin, windows)
    ranks = np.unique(events.rank[events.rank != UNSET])
    return found, [f"pairs are those of rank {windows.rank}"] if len(ranks) > 1 else []


def _resolution(functions: Functions, swarm: IntArray, number: int, place: str) -> int:
    """Time between samples of a swarm; 0 where beginnings are recorded, not sampled."""
    if place not in ("processor", "python"):
        return 0
    at = int(np.argmax(swarm == number))
    return int(functions.time_ns[at] / max(int(functions.n_events[at]), 1))


def _offered(pairs: pd.DataFrame, frame: pd.DataFrame) -> tuple[str, ...]:
    """Names of swarms that may synchronise parameters."""
    compute, network = (frame.loc[frame["role"] == role, "name"].tolist() for role in ("compute", "network"))
    return synchronisations(pairs, compute, network)


def _notes(functions: Functions) -> list[str]:
    """What is to be known about the functions."""
    notes = []
    if len(functions) > len(functions.activity):
        n_tail = len(functions) - len(functions.activity)
        notes.append(f"{n_tail} functions of little time joined the swarm of their file")
    n_empty = sum(not name for name in functions.function)
    if n_empty:
        notes.append(f"{n_empty} groups of events name no function")
    return notes
