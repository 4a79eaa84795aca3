"""Steps of a program that marks none: functions that come back in its samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.windows import Windows

MOST_FUNCTIONS = 64
LEAST_SHARE = 0.02
"""A function with less of the time than this says nothing about steps."""
LEAST_TIMES = 4
LEAST_INSIDE = 0.4
"""Steps take at least this share of the recorded time."""
PRESENT = 0.75
"""A function belongs to a step if it is in this share of the steps."""
MOST_SPREAD = 0.35
"""Steps whose lengths differ more, as median deviation over median, are none."""


@dataclass(frozen=True, slots=True, eq=False)
class SampledSteps:
    """Steps that samples tell.

    Attributes
    ----------
    windows : Windows
        From one onset of the anchor to the next.
    anchor : str
        Function that opens a step.
    cover : float
        Share of the sampled time in functions that are in most steps.
    resolution_ns : int
        Time between samples: no bound of a step is known better.
    """

    windows: Windows
    anchor: str
    cover: float
    resolution_ns: int

    @property
    def note(self) -> str:
        """What was found, in words."""
        return (
            f"rank {self.windows.rank} marks no steps: {self.anchor} comes back {len(self.windows)} times in the samples, "
            f"{self.cover:.0%} of the time is in functions of most steps; ends are known to {self.resolution_ns / 1e6:.3g} ms"
        )


def sampled_steps(events: EventTable, rank: int) -> SampledSteps | None:
    """Steps of a rank from where its busiest thread was when it was sampled; None where nothing comes back regularly.

    Parameters
    ----------
    events : EventTable
        With STACK or SAMPLE rows; stacks are taken where there are any, since they tell of waiting too.
    rank : int

    Notes
    -----
    Every function with at least 2 % of the time, at any depth of the stack, is a candidate: its visits are its samples without the
    gaps between them, and their onsets may open the steps. Lengths of steps must be alike; of the candidates that are, the one
    whose steps hold most of the sampled time in functions common to most steps is taken, of equals the one with more steps.
    """
    rows = _main_thread(events, rank)
    if len(rows) < 4 * LEAST_TIMES:
        return None
    time = events.start_ns[rows]
    resolution = int(np.median(np.diff(time)))
    present, names = _functions(events, rows)
    best: tuple[float, int, int] | None = None
    chosen: IntArray = time[:0]
    for number in range(len(names)):
        onsets = _onsets(present[:, number], time, resolution)
        if len(onsets) < LEAST_TIMES or _spread(np.diff(onsets)) > MOST_SPREAD:
            continue
        explained, inside = _cover(present, time, onsets)
        score = (round(explained * inside, 2), len(onsets), -number)
        if explained >= PRESENT and inside >= LEAST_INSIDE and (best is None or score > best):
            best, chosen = score, onsets
    if best is None:
        return None
    bounds = _closed(present, time, chosen, resolution)
    windows = Windows(rank, np.arange(len(bounds) - 1), bounds[:-1], bounds[1:], "functions that come back in the samples")
    return SampledSteps(windows, names[-best[2]], best[0], resolution)


def _main_thread(events: EventTable, rank: int) -> IntArray:
    """Rows of the thread with most samples, by time: stacks where there are any."""
    for kind in (Kind.STACK, Kind.SAMPLE):
        rows = np.flatnonzero((events.kind == kind) & (events.rank == rank) & (events.name >= 0))
        # Samples of /proc name threads, in brackets, and no functions.
        is_thread = np.array([text.startswith("[") for text in events.strings] or [False], dtype=bool)
        rows = rows[(events.name2[rows] >= 0) | ~is_thread[np.minimum(events.name[rows], len(is_thread) - 1)]]
        if len(rows):
            thread = events.pid[rows].astype(np.int64) * (1 << 32) + events.tid[rows]
            found, counts = np.unique(thread, return_counts=True)
            # Threads of a sampled process have equally many stacks: the first one is the one that started the others.
            rows = rows[thread == found[np.argmax(counts)]]
            ordered: IntArray = rows[np.argsort(events.start_ns[rows], kind="stable")]
            return ordered
    return np.zeros(0, dtype=np.int64)


def _functions(events: EventTable, rows: IntArray) -> tuple[np.ndarray, list[str]]:
    """Which function is in the stack of each sample, shape (n_samples, n_functions); only those that come and go."""
    stacks, of_stack = np.unique(events.site[rows] if (events.site[rows] >= 0).all() else events.name[rows], return_inverse=True)
    members = [set(events.strings[number].split(";")) for number in stacks.tolist()]
    counts = np.bincount(of_stack.reshape(-1), minlength=len(stacks))
    weight: dict[str, int] = {}
    for held, count in zip(members, counts.tolist(), strict=True):
        for name in held:
            weight[name] = weight.get(name, 0) + count
    told = [name for name, count in weight.items() if LEAST_SHARE * len(rows) <= count < (1 - LEAST_SHARE) * len(rows)]
    names = sorted(told, key=lambda name: (-weight[name], name))[:MOST_FUNCTIONS]
    by_stack = np.array([[name in held for name in names] for held in members], dtype=bool).reshape(len(stacks), len(names))
    return by_stack[of_stack.reshape(-1)], names


def _onsets(present: np.ndarray, time: IntArray, resolution: int) -> IntArray:
    """Begins of a function's visits; an absence of one sample between two is none."""
    at = np.flatnonzero(present)
    if not len(at):
        return time[:0]
    first = np.concatenate(([True], (np.diff(at) > 2) | (np.diff(time[at]) > 3 * resolution)))
    onsets: IntArray = time[at[first]]
    return onsets


def _spread(lengths: IntArray) -> float:
    """Median deviation over median."""
    middle = float(np.median(lengths))
    return float(np.median(np.abs(lengths - middle))) / middle if middle > 0 else np.inf


def _cover(present: np.ndarray, time: IntArray, onsets: IntArray) -> tuple[float, float]:
    """Share of the steps' samples that have a function of most steps, among those that come and go; and the steps' share of all."""
    step = np.searchsorted(onsets, time, "right") - 1
    inside = (step >= 0) & (step < len(onsets) - 1)
    rows = present[inside]
    known = rows.any(axis=1)
    usual = _usual(present, step, inside, len(onsets) - 1)
    return float(rows[:, usual].any(axis=1).sum() / max(int(known.sum()), 1)), float(inside.mean())


def _usual(present: np.ndarray, step: IntArray, inside: np.ndarray, n_steps: int) -> np.ndarray:
    """Which functions are in most steps."""
    held = np.zeros((n_steps, present.shape[1]), dtype=bool)
    where = np.nonzero(present[inside])
    held[step[inside][where[0]], where[1]] = True
    share: FloatArray = held.mean(axis=0)
    return np.asarray(share >= PRESENT)


def _closed(present: np.ndarray, time: IntArray, onsets: IntArray, resolution: int) -> IntArray:
    """Bounds of the steps: the last onset opens one too where what steps do goes on for about as long as a step."""
    step = np.searchsorted(onsets, time, "right") - 1
    usual = _usual(present, step, (step >= 0) & (step < len(onsets) - 1), len(onsets) - 1)
    after = np.flatnonzero(time >= onsets[-1])
    going_on = present[after][:, usual].any(axis=1)
    stops = np.flatnonzero(~going_on)
    last = int(time[after[stops[0] - 1]] if len(stops) and stops[0] else time[after[-1]]) + resolution
    middle = float(np.median(np.diff(onsets)))
    long_enough = abs((last - onsets[-1]) / middle - 1) <= MOST_SPREAD
    return np.append(onsets, last) if long_enough else onsets
