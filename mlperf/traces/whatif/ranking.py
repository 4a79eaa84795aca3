"""Every change of one event, or of one call site, ranked by what it saves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import Kind
from mlperf.traces.replay.run import Replay
from mlperf.traces.whatif.edits import event_number, event_places
from mlperf.traces.whatif.load import Validation, validation_of
from mlperf.traces.whatif.sweep import Sweep, sweep

NS = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranking(Shown):
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
        Per call and place: events, waits of all, the largest saving of one of them.
    validation : Validation
    """

    source: str
    time_s: float
    n_what_ifs: int
    n_saving: int
    changes: pd.DataFrame
    places: pd.DataFrame
    validation: Validation

    def to_frame(self) -> pd.DataFrame:
        """The changes."""
        return self.changes


def rank_changes(run: Replay, top: int = 20) -> Ranking:
    """Rank every single change of a run, exactly, in one sweep.

    Changes are: an event does not wait; a call takes no time; it takes no longer than it waits; nothing is computed before it. Of
    changes that save alike much, first the one that asks least.
    """
    swept = sweep(run)
    frame = single_changes(swept)
    best = frame.nlargest(top, ["saved_s", "order"]).drop(columns=["order", "event"])
    return Ranking(
        ", ".join(run.program.table.sources),
        run.total_ns * NS,
        len(frame),
        int((frame["saved_s"] > 0).sum()),
        best[best["saved_s"] > 0].reset_index(drop=True),
        _places(swept, frame),
        validation_of(run),
    )


def single_changes(swept: Sweep) -> pd.DataFrame:
    """Every single change that can change anything, one row each, in no order."""
    run, calls = swept.run, swept.run.program.calls
    waits = swept.waits.wait_ns
    length = run.end_ns - run.start_ns
    by_call = calls.event
    compute = run.times.compute_ns[: len(calls)]
    parts = (
        ("wait", np.flatnonzero(waits > 0), swept.wait_zero_ns, waits, 3),
        ("duration", by_call[length > 0], _of_events(swept, swept.duration_zero_ns), _of_events(swept, length), 0),
        ("processing", by_call[length > 0], _of_events(swept, swept.processing_zero_ns), _of_events(swept, length), 1),
        ("compute", by_call[compute > 0], _of_events(swept, swept.compute_zero_ns[: len(calls)]), _of_events(swept, compute), 2),
    )
    frames = [_part(swept, *part) for part in parts]
    return pd.concat(frames, ignore_index=True)


def _of_events(swept: Sweep, of_calls: IntArray) -> IntArray:
    """Values of calls for their events."""
    return of_calls[swept.run.program.calls.call]


def _part(swept: Sweep, what: str, events: IntArray, total_ns: IntArray, own_ns: IntArray, order: int) -> pd.DataFrame:
    """Rows of one kind of change."""
    run, calls, table = swept.run, swept.run.program.calls, swept.run.program.table
    rank, number = calls.event_rank[events], event_number(run, events)
    places = event_places(run)
    rows = calls.rows[events]
    return pd.DataFrame(
        {
            "change": [f"{what}({r}:{n})=0" for r, n in zip(rank.tolist(), number.tolist(), strict=True)],
            "place": [
                places[event] or Kind(int(table.kind[row])).name.lower()
                for event, row in zip(events.tolist(), rows.tolist(), strict=True)
            ],
            "size_bytes": table.size_bytes[rows],
            "own_s": own_ns[events] * NS,
            "time_s": total_ns[events] * NS,
            "saved_s": (swept.total_ns - total_ns[events]) * NS,
            "saved_share": (swept.total_ns - total_ns[events]) / max(swept.total_ns, 1),
            "order": order,
            "event": events,
        }
    )


def _places(swept: Sweep, frame: pd.DataFrame) -> pd.DataFrame:
    """Waits by call and place."""
    places = event_places(swept.run)
    found = pd.DataFrame({"place": places, "wait_s": swept.waits.wait_ns * NS})
    grouped = found.groupby("place", sort=False)["wait_s"].agg(n_events="size", wait_s="sum").reset_index()
    best = frame[frame["change"].str.startswith("wait")].groupby("place")["saved_s"].max()
    grouped["most_saved_s"] = grouped["place"].map(best).fillna(0.0)
    return grouped.sort_values("wait_s", ascending=False, ignore_index=True)


def longest_wait(run: Replay) -> int:
    """The event that waits longest: what one would fix without a tool."""
    return int(run.waits.wait_ns.argmax())
