"""A run before and after changes as bars of every rank, with its messages and the first domino path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.traces.replay.run import Replay
from mlperf.traces.whatif.assumed import Assumed, assume
from mlperf.traces.whatif.combine import edited
from mlperf.traces.whatif.domino import domino_search
from mlperf.traces.whatif.edits import Edit
from mlperf.traces.whatif.load import Validation, validation_of
from mlperf.traces.whatif.sweep import sweep

NS = 1e-9
MOST_BARS = 20_000
"""More bars than that nobody sees: the shortest calls are left out, and counted."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunTimeline(Shown, frame="bars"):
    """Bars and arrows of a run.

    Attributes
    ----------
    source : str
    n_ranks : int
    bars : DataFrame
        One row a stretch: ``run`` (``before`` or ``after``), rank, ``what`` (``wait``, ``message``, ``collective``), begin, end.
    arrows : DataFrame
        Messages: run, from rank and time to rank and time, seconds.
    dominoes : DataFrame
        The waits of the best domino path, the first to push first: number, rank, begin, seconds of wait; of the run before.
    n_hidden : int
        Calls too short to be drawn.
    assumed : Assumed or None
        What the changes bring, where there are any.
    validation : Validation
    """

    source: str
    n_ranks: int
    bars: pd.DataFrame
    arrows: pd.DataFrame
    dominoes: pd.DataFrame
    n_hidden: int
    assumed: Assumed | None
    validation: Validation


def run_timeline(run: Replay, edits: Sequence[Edit] = ()) -> RunTimeline:
    """Bars and arrows of a run, and of the same run under changes."""
    runs = [("before", run), *([("after", edited(run, edits))] if edits else [])]
    room = MOST_BARS // len(runs)
    drawn = [_bars(name, each, room) for name, each in runs]
    return RunTimeline(
        ", ".join(run.program.table.sources),
        run.program.n_ranks,
        pd.concat([bars for bars, _ in drawn], ignore_index=True),
        pd.concat([_arrows(name, each, room) for name, each in runs], ignore_index=True),
        _dominoes(run),
        sum(hidden for _, hidden in drawn),
        assume(run, edits) if edits else None,
        validation_of(run),
    )


def _bars(name: str, run: Replay, room: int) -> tuple[pd.DataFrame, int]:
    """Waits and the rest of the longest calls, and how many calls are left out."""
    calls = run.program.calls
    length = run.end_ns - run.start_ns
    chosen = np.sort(np.argsort(-length, kind="stable")[: room // 2])
    wait = np.clip(run.waits.call_ns[chosen], 0, np.maximum(length[chosen], 0))
    start, end = run.start_ns[chosen], run.end_ns[chosen]
    collective = np.isin(chosen, run.program.groups.call)
    parts = (
        pd.DataFrame({"what": "wait", "rank": calls.rank[chosen], "begin_s": start * NS, "end_s": (start + wait) * NS})[wait > 0],
        pd.DataFrame(
            {
                "what": np.where(collective, "collective", "message"),
                "rank": calls.rank[chosen],
                "begin_s": (start + wait) * NS,
                "end_s": end * NS,
            }
        )[end > start + wait],
    )
    bars = pd.concat(parts, ignore_index=True)
    bars.insert(0, "run", name)
    return bars, len(calls) - len(chosen)


def _arrows(name: str, run: Replay, room: int) -> pd.DataFrame:
    """The largest messages from their sends to the ends of their receives."""
    messages, calls = run.program.messages, run.program.calls
    chosen = np.sort(np.argsort(-messages.size_bytes, kind="stable")[: room // 8])
    done = np.where(messages.recv_done < 0, messages.recv_call, messages.recv_done)[chosen]
    return pd.DataFrame(
        {
            "run": name,
            "from_rank": calls.rank[messages.send_call[chosen]],
            "from_s": run.start_ns[messages.send_call[chosen]] * NS,
            "to_rank": calls.rank[messages.recv_call[chosen]],
            "to_s": run.end_ns[done] * NS,
        }
    )


def _dominoes(run: Replay) -> pd.DataFrame:
    """The waits of the best domino path."""
    swept = sweep(run)
    paths = domino_search(swept, 1).paths
    events = list(reversed(paths[0].events)) if paths else []
    calls = run.program.calls
    call = calls.call[events] if events else np.zeros(0, dtype=np.int64)
    return pd.DataFrame(
        {
            "number": np.arange(1, len(events) + 1),
            "rank": calls.rank[call],
            "begin_s": run.start_ns[call] * NS,
            "wait_s": swept.waits.wait_ns[events] * NS if events else np.zeros(0),
        }
    )
