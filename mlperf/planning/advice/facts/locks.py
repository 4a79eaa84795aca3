"""Where threads wait for locks, by the stacks that the interpreter showed."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.planning.advice.facts.input_pipeline import within_steps
from mlperf.planning.advice.facts.stacks import LIBRARY, leaf_lines
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps

LOCK_LINE = re.compile(r"\bwith\s+[\w.\[\]()]*(?:lock|mutex|semaphore|guard)\w*|\.acquire\(|lock\w*\.__enter__", re.IGNORECASE)
"""Source lines at which a thread takes a lock."""


@dataclass(frozen=True, slots=True, eq=False)
class LockFacts:
    """The lock that most time is waited for.

    Attributes
    ----------
    line : str
        ``function (file:line)``, with the line's text.
    waiting_share : float
        Share of their time that the threads which take it wait for it, all of them together.
    n_threads : int
        Threads that were seen waiting for it.
    main_share : float
        Share of the steps' time that a thread which marks the steps waits for it.
    n_stacks : int
        Stacks that say so.
    """

    line: str
    waiting_share: float
    n_threads: int
    main_share: float
    n_stacks: int


def lock_facts(recording: Recording, steps: RunSteps) -> LockFacts | None:
    """Find the lock that most time is waited for; None without stacks, or where no thread stands at a lock."""
    events = recording.events
    rows = np.flatnonzero(events.kind == Kind.STACK)
    rows = rows[within_steps(steps, events.start_ns[rows])]
    lines = recording.events.attributes.get("lines", {})
    if not len(rows) or not lines:
        return None
    where = leaf_lines(recording, rows)
    told = {each: bool(LOCK_LINE.search(str(text))) and not LIBRARY.search(each) for each, text in lines.items()}
    at_lock = np.array([told.get(each, False) for each in where], dtype=bool) & ((events.flags[rows] & int(Flag.WAITING)) > 0)
    if not at_lock.any():
        return None
    weight = events.weight_ns[rows].astype(float)
    thread = events.pid[rows].astype(np.int64) * (1 << 32) + events.tid[rows]
    names, place = np.unique(np.array(where, dtype=object)[at_lock].astype(str), return_inverse=True)
    most = int(np.argmax(np.bincount(place.reshape(-1), weights=weight[at_lock])))
    here = at_lock & (np.array(where, dtype=object).astype(str) == names[most])
    takers = np.unique(thread[here])
    main = step_threads(recording, steps)
    on_main = np.isin(thread, main)
    function = events.text(events.name[rows[here][:1]])[0]
    return LockFacts(
        f"{function} ({names[most]}): {str(lines[names[most]]).strip()}",
        float(weight[here].sum() / weight[np.isin(thread, takers)].sum()),
        len(takers),
        float(weight[here & on_main].sum() / max(weight[on_main].sum(), 1.0)),
        int(here.sum()),
    )


def step_threads(recording: Recording, steps: RunSteps) -> IntArray:
    """Threads that mark steps, process and thread in one number."""
    events = recording.events
    starts = np.concatenate([each.start_ns for each in steps.windows])
    rows = (events.kind == Kind.REGION) & (events.tid != UNSET) & np.isin(events.start_ns, starts)
    found: IntArray = np.unique(events.pid[rows].astype(np.int64) * (1 << 32) + events.tid[rows])
    return found
