"""What a step waits for input, and who makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.planning.advice.facts.phases import phases_by_role, time_in
from mlperf.planning.advice.facts.stacks import in_library
from mlperf.traces.events.kinds import Kind
from mlperf.traces.timeline.intervals import Intervals, union
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, column_name

QUICK = 0.05
LEAST_MAKER = 0.02
"""Threads with fewer of the other threads' samples make no input."""
KEEPS_UP = 0.75
"""Makers that stand in queues for more of their time than the rest of it have batches ready: more of them would bring nothing."""
NEVER_WAITS = 0.9
"""Makers that stand in queues for less than the rest of their time are what the steps' pace comes from."""
LEAST_AT_WORK = 0.2
"""Nor do threads that stand in Python's own library, waiting for work, the rest of the time: feeders of queues are such."""


@dataclass(frozen=True, slots=True, eq=False)
class InputFacts:
    """The input of the steps of all ranks.

    Attributes
    ----------
    phases : tuple of str
        Marks that are input.
    step_s, load_s : array, shape (n_steps,)
        Step, and of it input.
    ready_s : float
        What the input takes where it is there already: what the thread that waits for it computes meanwhile, at most the 5 %
        quantile over the steps.
    busy_share : float
        Share of the input's time in which the thread that waits for it computes itself; NaN without samples.
    n_makers : int
        Other threads of the run: those that the interpreter showed, else those that compute.
    makers_at_work : float
        Share of their time in which they stand in code that makes input, and not in a queue of Python's own library; NaN where the
        interpreter showed none of them.
    n_stacks : int
        Stacks of theirs that this is from.
    makers_cores : float
        Cores that they keep busy during the steps; NaN without samples.
    n_cores : int
        Of the machine.
    """

    phases: tuple[str, ...]
    step_s: FloatArray
    load_s: FloatArray
    ready_s: float
    busy_share: float
    n_makers: int
    makers_at_work: float
    n_stacks: int
    makers_cores: float
    n_cores: int

    @property
    def keeps_up(self) -> bool:
        """Whether makers wait for steps, and not steps for them: what a step then spends on its input is the handing over."""
        return bool(self.n_makers and self.makers_at_work < KEEPS_UP)

    @property
    def may_keep_up(self) -> bool:
        """Whether so few stacks leave it open: the Wilson interval of 95 % of the makers' share reaches below `KEEPS_UP`."""
        least = self._least_at_work
        return self.keeps_up if np.isnan(least) else least < KEEPS_UP

    @property
    def makers_never_wait(self) -> bool:
        """Whether makers are at work nearly always, by the same interval: then the steps' pace is theirs."""
        return self._least_at_work >= NEVER_WAITS

    @property
    def _least_at_work(self) -> float:
        """Lower end of that interval; NaN where no stack shows makers."""
        from scipy.stats import binomtest

        if not self.n_makers or not self.n_stacks or np.isnan(self.makers_at_work):
            return float("nan")
        shown = binomtest(round(self.makers_at_work * self.n_stacks), self.n_stacks)
        return float(shown.proportion_ci(0.95, "wilson").low)


def input_facts(recording: Recording, steps: RunSteps) -> InputFacts | None:
    """Look at the input; None where no mark tells it."""
    names = phases_by_role(steps.phases).get("load", [])
    if not names:
        return None
    table = steps.settled
    load = time_in(table, names)
    marks, mains = _marks(recording, names)
    busy, n_busy, cores = _work(recording, steps, marks, mains)
    shown = _makers(recording, steps, mains)
    n_makers, at_work, n_stacks = (n_busy, float("nan"), 0) if shown is None else shown
    return InputFacts(
        tuple(names),
        table["step_s"].to_numpy(float),
        load,
        _ready_s(load, busy),
        busy,
        n_makers,
        at_work,
        n_stacks,
        cores,
        int(recording.about.get("host", {}).get("n_cores", 1)),
    )


def _ready_s(load: FloatArray, busy_share: float) -> float:
    """Steps that were never quick say nothing of it, and a thread that only waits computes nothing."""
    quick = float(np.quantile(load, QUICK))
    return quick if np.isnan(busy_share) else min(quick, busy_share * float(load.mean()))


def _marks(recording: Recording, names: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Rows of the input's marks, and the threads that wait in them."""
    events = recording.events
    marks = np.flatnonzero((events.kind == Kind.REGION) & np.isin(events.name, names_of_columns(recording, names)))
    return marks, np.unique(_threads(recording, marks))


def _threads(recording: Recording, rows: IntArray) -> IntArray:
    """A number for process and thread."""
    events = recording.events
    return np.asarray(events.pid[rows].astype(np.int64) * (1 << 32) + events.tid[rows])


def _work(recording: Recording, steps: RunSteps, marks: IntArray, mains: IntArray) -> tuple[float, int, float]:
    """Busy share of the thread that loads, number of other busy threads, and the cores that they use."""
    events = recording.events
    rows = np.flatnonzero(events.kind == Kind.SAMPLE)
    rows = rows[within_steps(steps, events.start_ns[rows])]
    if not len(rows):
        return float("nan"), 0, float("nan")
    thread = _threads(recording, rows)
    weight = events.weight_ns[rows].astype(float)
    other = ~np.isin(thread, mains)
    counts = np.unique(thread[other], return_counts=True)[1]
    n_busy = int((counts >= max(3.0, LEAST_MAKER * counts.sum())).sum())
    loading = ~other & inside(union(events.start_ns[marks], events.end_ns[marks]), events.start_ns[rows])
    load_ns = float(events.duration_ns[marks].sum())
    span_ns = float(steps_union(steps).total_ns)
    busy = float(weight[loading].sum()) / load_ns if load_ns else float("nan")
    return busy, n_busy, float(weight[other].sum()) / span_ns


def _makers(recording: Recording, steps: RunSteps, mains: IntArray) -> tuple[int, float, int] | None:
    """Other threads that the interpreter showed at work during the steps, the share of their time, and of how many stacks.

    None where it showed no thread at all.
    """
    events = recording.events
    rows = np.flatnonzero(events.kind == Kind.STACK)
    rows = rows[within_steps(steps, events.start_ns[rows])]
    if not len(rows):
        return None
    thread, place, counts = np.unique(_threads(recording, rows), return_inverse=True, return_counts=True)
    n_at_work = np.bincount(place.reshape(-1), weights=~in_library(recording, rows))
    is_maker = ~np.isin(thread, mains) & (counts >= max(3.0, LEAST_MAKER * counts.max())) & (n_at_work >= LEAST_AT_WORK * counts)
    n_stacks = int(counts[is_maker].sum())
    return int(is_maker.sum()), float(n_at_work[is_maker].sum()) / n_stacks if n_stacks else float("nan"), n_stacks


def names_of_columns(recording: Recording, names: Sequence[str]) -> list[int]:
    """Numbers of the strings that become these columns."""
    return [number for number, text in enumerate(recording.events.strings) if column_name(text) in names]


def steps_union(steps: RunSteps) -> Intervals:
    """When any rank is in a step."""
    return union(np.concatenate([each.start_ns for each in steps.windows]), np.concatenate([each.end_ns for each in steps.windows]))


def within_steps(steps: RunSteps, moments: IntArray) -> BoolArray:
    """Whether each moment lies in a step of any rank."""
    return inside(steps_union(steps), moments)


def inside(when: Intervals, moments: IntArray) -> BoolArray:
    """Whether each moment lies in one of some intervals."""
    if not len(when.end_ns):
        return np.zeros(len(moments), dtype=bool)
    place = np.searchsorted(when.start_ns, moments, "right") - 1
    return np.asarray((place >= 0) & (moments < when.end_ns[np.maximum(place, 0)]))
