"""Every change of one event, or of one call site, ranked by what it saves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.replay.run import Replay
from mlperf.traces.whatif.edits import event_number
from mlperf.traces.whatif.load import Validation, validation_of
from mlperf.traces.whatif.sweep import Sweep, sweep

NS = 1e-9
WHAT = ("duration", "processing", "compute", "wait")
"""Kinds of changes: the further behind, the less they ask."""
AFTER_LAST = "after the last call"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranking(Shown, frame="changes"):
    """Single changes by what each saves.

    Attributes
    ----------
    source : str
    time_s : float
        T of the replay without a change, seconds.
    n_what_ifs, n_saving : int
        Changes that were tried, and that shorten the run.
    changes : DataFrame
        The best: the change as ``--assume`` takes it, call and place, bytes, seconds that the event waits or lasts, T after the
        change, seconds saved and their share.
    places : DataFrame
        Per call and place: events, waits of all, the largest saving of one of them, of a WAIT that of one message it completes.
    validation : Validation
    """

    source: str
    time_s: float
    n_what_ifs: int
    n_saving: int
    changes: pd.DataFrame
    places: pd.DataFrame
    validation: Validation


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Single changes as arrays, each of shape (n_changes,).

    Attributes
    ----------
    what : array of int64
        Number into `WHAT`; of changes that save alike much the one with the larger number asks less.
    event : array of int64
        Event whose wait, call or computation before it is meant; -1 for what a rank computes after its last call.
    rank : array of int64
    own_ns, total_ns : array of int64
        How long what is taken away lasts, and T' without it, nanoseconds.
    """

    what: IntArray
    event: IntArray
    rank: IntArray
    own_ns: IntArray
    total_ns: IntArray


def rank_changes(run: Replay, top: int = 20) -> Ranking:
    """Rank every single change of a run, exactly, in one sweep.

    Changes are: an event does not wait; a call takes no time; it takes no longer than it waits; nothing is computed before it, or
    after a rank's last. Of changes that save alike much, first the one that asks least.
    """
    swept = sweep(run)
    tried = all_changes(swept)
    saving = np.flatnonzero(tried.total_ns < swept.total_ns)
    return Ranking(
        ", ".join(run.program.table.sources),
        run.total_ns * NS,
        len(tried.what),
        len(saving),
        _frame(swept, tried, _first(tried, saving, top)),
        _places(swept),
        validation_of(run),
    )


def single_changes(swept: Sweep) -> pd.DataFrame:
    """Every single change that can change anything, one row each, in no order."""
    tried = all_changes(swept)
    return _frame(swept, tried, np.arange(len(tried.what)))


def all_changes(swept: Sweep) -> Changes:
    """Every single change that can change anything, in no order."""
    run, calls = swept.run, swept.run.program.calls
    waits, length = swept.waits.wait_ns, run.end_ns - run.start_ns
    # A WAIT waits for the partners of what it completes, whose own changes these are.
    waiting, lasting = np.flatnonzero(swept.waits.zero_call >= 0), np.flatnonzero(length > 0)
    computing = np.flatnonzero(run.times.compute_ns > 0)
    event = np.concatenate((calls.event, np.full(run.program.n_ranks, UNSET)))
    rank = np.concatenate((calls.rank, np.arange(run.program.n_ranks)))
    parts = (
        (waiting, calls.event_rank[waiting], waits[waiting], swept.wait_zero_ns[waiting]),
        (calls.event[lasting], calls.rank[lasting], length[lasting], swept.duration_zero_ns[lasting]),
        (calls.event[lasting], calls.rank[lasting], length[lasting], swept.processing_zero_ns[lasting]),
        (event[computing], rank[computing], run.times.compute_ns[computing], swept.compute_zero_ns[computing]),
    )
    what = np.repeat([WHAT.index(name) for name in ("wait", "duration", "processing", "compute")], [len(part[0]) for part in parts])
    return Changes(what, *(np.concatenate(each) for each in zip(*parts, strict=True)))


def _first(tried: Changes, chosen: IntArray, top: int) -> IntArray:
    """The best of some changes."""
    if len(chosen) > top:
        worst = np.partition(tried.total_ns[chosen], top - 1)[top - 1]
        chosen = chosen[tried.total_ns[chosen] <= worst]
    return chosen[np.lexsort((chosen, -tried.what[chosen], tried.total_ns[chosen]))][:top]


def _frame(swept: Sweep, tried: Changes, chosen: IntArray) -> pd.DataFrame:
    """Some changes as a table."""
    table, calls = swept.run.program.table, swept.run.program.calls
    event, total = tried.event[chosen], tried.total_ns[chosen]
    rows = calls.rows[event]
    number = np.where(event >= 0, event_number(swept.run, event), UNSET).tolist()
    words = zip(tried.what[chosen].tolist(), tried.rank[chosen].tolist(), number, strict=True)
    return pd.DataFrame(
        {
            "change": [f"{WHAT[what]}({rank}:{index if index >= 0 else 'end'})=0" for what, rank, index in words],
            "place": np.where(event >= 0, _names(swept.run, rows), AFTER_LAST),
            "size_bytes": np.where(event >= 0, table.size_bytes[rows], 0),
            "own_s": tried.own_ns[chosen] * NS,
            "time_s": total * NS,
            "saved_s": (swept.total_ns - total) * NS,
            "saved_share": (swept.total_ns - total) / max(swept.total_ns, 1),
        }
    )


def _names(run: Replay, rows: IntArray) -> list[str]:
    """Call and place of some rows, or their kinds."""
    table = run.program.table
    words = zip(table.text(table.name[rows]), table.text(table.site[rows]), table.kind[rows].tolist(), strict=True)
    return [f"{name} {site}".strip() or Kind(kind).name.lower() for name, site, kind in words]


def _places(swept: Sweep) -> pd.DataFrame:
    """Waits by call and place."""
    run, table = swept.run, swept.run.program.table
    rows = run.program.calls.rows
    keys = np.stack(
        (table.name[rows], table.site[rows], np.where((table.name[rows] < 0) & (table.site[rows] < 0), table.kind[rows], 0))
    )
    _, first, place = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    saved = np.zeros(len(first), dtype=np.int64)
    total, (posted, done) = swept.wait_zero_ns.copy(), run.program.messages.posted()
    np.minimum.at(total, run.program.calls.event[done], swept.wait_zero_ns[posted])
    np.maximum.at(saved, place.ravel(), swept.total_ns - total)
    found = pd.DataFrame(
        {
            "place": _names(run, rows[first]),
            "n_events": np.bincount(place.ravel(), minlength=len(first)),
            "wait_s": np.bincount(place.ravel(), swept.waits.wait_ns, minlength=len(first)) * NS,
            "most_saved_s": saved * NS,
        }
    )
    return found.sort_values("wait_s", ascending=False, kind="stable", ignore_index=True)


def longest_wait(run: Replay) -> int:
    """The event that waits longest for a partner: what one would fix without a tool."""
    return int(np.where(run.waits.zero_call >= 0, run.waits.wait_ns, 0).argmax())
