"""What differs between two recordings of one program: what is new, gone, more, slower."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.own_time import own_time_ns
from mlperf.traces.timeline.windows import DEVICE_KINDS, STEP, marked_steps

NS = 1e-9
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
SHOWN = (Kind.KERNEL, Kind.COLL, Kind.MEMCPY, Kind.MEMSET, Kind.API, Kind.REGION, Kind.SEND, Kind.RECV, Kind.WAIT, Kind.COMPUTE)
GROUPS = {
    Kind.KERNEL: "kernels",
    Kind.COLL: "collective operations",
    Kind.MEMCPY: "copies",
    Kind.MEMSET: "memory sets",
    Kind.API: "calls of the runtime",
    Kind.REGION: "functions and marks",
    Kind.SEND: "sends",
    Kind.RECV: "receives",
    Kind.WAIT: "waits",
    Kind.COMPUTE: "computation",
}
SYNCHRONISATIONS = "synchronisations on the device"
LEAST_COUNT = 1.0
"""Added to both counts before they are divided, so that one event more or less than none is no infinite factor."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TraceDifference(Shown, frame="groups"):
    """Two traces beside each other.

    Attributes
    ----------
    sources : tuple of str
        The first and the second.
    groups : DataFrame
        One row a kind of event, the most different first: ``what, n_first, n_second, time_first_s, time_second_s, count_ratio,
        time_ratio, mean_ratio`` (second by first; NaN where there is none), ``difference`` (in words).
    names : DataFrame
        One row a name of what ran on a device, the largest change of time first: ``what, name``, counts, times, ``change_s``, and
        ``difference``: new, gone, more, fewer, slower, faster. Where neither trace has a device, of functions on the host, by the
        time that they spent themselves, without those that they called.
    n_ranks, n_steps : tuple of int
        Of both.
    notes : tuple of str
    """

    sources: tuple[str, str]
    groups: pd.DataFrame
    names: pd.DataFrame
    n_ranks: tuple[int, int]
    n_steps: tuple[int, int]
    notes: tuple[str, ...]


def difference(first: EventTable, second: EventTable) -> TraceDifference:
    """Compare two traces: counts and times by kind of event, and by name on the device.

    Counts and times are sums over all ranks and steps; where the traces have different numbers of them, a note says so.
    """
    pairs = [_passes(table) for table in (first, second)]
    groups = _joined([_grouped(table, by_name=False) for table in (first, second)])
    has_device = any(_on_device(table).any() for table in (first, second))
    names = _joined([_grouped(table, by_name=True) if has_device else _host_functions(table) for table in (first, second)])
    groups["difference"] = [_words(row) for row in groups.itertuples()]
    surprise = np.maximum(
        _distance(groups["n_first"], groups["n_second"]), _distance(groups["mean_first"], groups["mean_second"], 0.0)
    )
    groups = groups.assign(surprise=surprise).sort_values("surprise", ascending=False, kind="stable")
    names["change_s"] = names["time_second_s"] - names["time_first_s"]
    names["difference"] = [_words(row) for row in names.itertuples()]
    names = names.iloc[np.argsort(-names["change_s"].abs().to_numpy(), kind="stable")]
    return TraceDifference(
        sources=(_source(first), _source(second)),
        groups=groups.drop(columns=["mean_first", "mean_second", "surprise", "name"]).reset_index(drop=True),
        names=names.drop(columns=["mean_first", "mean_second"]).reset_index(drop=True),
        n_ranks=(pairs[0][0], pairs[1][0]),
        n_steps=(pairs[0][1], pairs[1][1]),
        notes=_notes(pairs, first, second),
    )


def _passes(table: EventTable) -> tuple[int, int]:
    """Ranks and steps of a trace."""
    ranks = np.unique(table.rank[table.rank >= 0]).tolist()
    windows = [marked_steps(table, rank, on_host=True) for rank in ranks]
    n_steps = max((len(each) for each in windows if each is not None), default=1)
    return max(len(ranks), 1), n_steps


def _grouped(table: EventTable, *, by_name: bool) -> pd.DataFrame:
    """Counts and times of each kind, or of each name on a device."""
    wanted = np.isin(table.kind, [int(kind) for kind in SHOWN])
    if by_name:
        wanted &= _on_device(table)
    rows = np.flatnonzero(wanted)
    words = {int(kind): name for kind, name in GROUPS.items()}
    what = np.array([words[number] for number in table.kind[rows].tolist()], dtype=object)
    what[(table.kind[rows] == Kind.API) & (table.device[rows] != UNSET)] = SYNCHRONISATIONS
    names = np.array(table.text(table.name[rows]), dtype=object) if by_name else np.full(len(rows), "", dtype=object)
    frame = pd.DataFrame({"what": what, "name": names, "time_s": table.duration_ns[rows] * NS})
    return frame.groupby(["what", "name"])["time_s"].agg(["size", "sum"]).rename(columns={"size": "n", "sum": "time_s"})


def _on_device(table: EventTable) -> BoolArray:
    """What a device did, and collective operations."""
    found: BoolArray = np.isin(table.kind, [int(kind) for kind in DEVICE_KINDS])
    return found


def _host_functions(table: EventTable) -> pd.DataFrame:
    """Counts and own times of each function, the marks of steps aside: their numbers tell two traces apart, not their work."""
    is_step = np.array([bool(STEP.fullmatch(text)) for text in table.strings] + [False], dtype=bool)
    rows = np.flatnonzero(np.isin(table.kind, (int(Kind.REGION), int(Kind.API))) & ~is_step[table.name])
    # A method of an object is one function, wherever a run puts the object.
    texts = np.array([ADDRESS.sub("0x...", text) for text in table.strings] + [""], dtype=object)
    what = np.where(table.kind[rows] == Kind.API, GROUPS[Kind.API], GROUPS[Kind.REGION])
    frame = pd.DataFrame({"what": what, "name": texts[table.name[rows]], "time_s": own_time_ns(table, rows) * NS})
    return frame.groupby(["what", "name"])["time_s"].agg(["size", "sum"]).rename(columns={"size": "n", "sum": "time_s"})


def _joined(both: list[pd.DataFrame]) -> pd.DataFrame:
    """The two side by side; what one lacks has counts of 0."""
    sides = [frame.add_suffix(suffix) for frame, suffix in zip(both, ("_first", "_second"), strict=True)]
    found = sides[0].join(sides[1], how="outer").fillna(0.0).reset_index()
    found = found.rename(columns={"time_s_first": "time_first_s", "time_s_second": "time_second_s"})
    for name in ("n_first", "n_second"):
        found[name] = found[name].astype(int)
    for which in ("first", "second"):
        found[f"mean_{which}"] = found[f"time_{which}_s"] / found[f"n_{which}"].where(found[f"n_{which}"] > 0)
    found["count_ratio"] = found["n_second"] / found["n_first"].where(found["n_first"] > 0)
    found["time_ratio"] = found["time_second_s"] / found["time_first_s"].where(found["time_first_s"] > 0)
    found["mean_ratio"] = found["mean_second"] / found["mean_first"].where(found["mean_first"] > 0)
    return found


def _distance(one: pd.Series, other: pd.Series, least: float = LEAST_COUNT) -> np.ndarray:
    """How many times as large one is as the other, whichever way, as a logarithm; 0 where that is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.abs(np.log((other.to_numpy(float) + least) / (one.to_numpy(float) + least)))
    return np.asarray(np.nan_to_num(found, nan=0.0, posinf=0.0))


def _words(row: object) -> str:
    """New, gone, or how many times as many and as slow."""
    n_first, n_second = row.n_first, row.n_second  # type: ignore[attr-defined]
    if not n_first or not n_second:
        return "new" if n_second else "gone"
    told = []
    if n_first != n_second:
        told.append(f"{_factor(n_second / n_first)} {'as many' if n_second > n_first else 'as many (fewer)'}")
    mean = row.mean_ratio  # type: ignore[attr-defined]
    if np.isfinite(mean) and abs(mean - 1) >= 0.005:
        told.append(f"each {_factor(mean)} as long")
    return ", ".join(told) or "as before"


def _counted(number: int, one: str) -> str:
    """A count with its noun."""
    return f"{number} {one}{'' if number == 1 else 's'}"


def _factor(ratio: float) -> str:
    """A factor in words."""
    return f"{ratio:.3g} x"


def _source(table: EventTable) -> str:
    """The files, shortly."""
    first = table.sources[0] if table.sources else "a table"
    return first if len(table.sources) < 2 else f"{first} and {len(table.sources) - 1} more"


def _notes(pairs: list[tuple[int, int]], *tables: EventTable) -> tuple[str, ...]:
    """What makes the two no equals."""
    found = [note for table in tables for note in table.notes]
    if pairs[0] != pairs[1]:
        first, second = (f"{_counted(ranks, 'rank')} and {_counted(steps, 'step')}" for ranks, steps in pairs)
        found.append(f"the first has {first}, the second {second}: counts and times are sums")
    devices = [tuple(sorted(set(map(str, dict(table.attributes.get("device_names", {})).values())))) for table in tables]
    if all(devices) and devices[0] != devices[1]:
        found.append(f"devices differ: {', '.join(devices[0])} and {', '.join(devices[1])}")
    worlds = [table.attributes.get("world_size") for table in tables]
    if None not in worlds and worlds[0] != worlds[1]:
        found.append(f"the jobs have {worlds[0]} and {worlds[1]} ranks")
    return tuple(found)
