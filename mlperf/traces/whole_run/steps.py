"""Steps of a recorded run: when each began, and where its time went."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import COMMUNICATION, UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.decomposition import device_unions, devices_of, step_means
from mlperf.traces.timeline.intervals import Intervals, clipped, joined, union, without
from mlperf.traces.timeline.iterations import outliers, repeated_steps
from mlperf.traces.timeline.windows import STEP, Windows, compiled_marker, marked_steps
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.sampled_steps import sampled_steps

STEP_MARK = r"^(?:train(?:ing)?[ _]?)?(?:step|iteration|iter)\b(?:[#_ :=]*(\d+))?$"
"""Names of marks that are a step when nothing else is asked for."""
OWN_MARKS = f"{STEP_MARK}|{STEP.pattern}"
"""Names of marks that tell a step as a whole, the program's or a profiler's: no phase of it."""
NS = 1e-9
WARM_UP = 1
"""First steps of a rank that no mean holds: caches are cold, pools are filled."""

AT_ONCE_NS = 50_000_000
"""A step that ends less than this, and than half a step, before Ctrl-C was cut by it: samples and signals are no nearer."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunSteps(Shown, frame="steps"):
    """Steps of all ranks of a recorded run, split.

    Attributes
    ----------
    source : str
        The recording.
    origin : str
        What the steps were found by.
    phases : tuple of str
        Marks directly inside a step, by first appearance.
    steps : DataFrame
        One row a rank and step, seconds: ``rank, step, start_s, step_s, is_outlier``; the marks inside it as ``<phase>_s`` and
        ``other_s``, which add up to ``step_s``; ``gpu_kernel_s, gpu_comm_s, gpu_exposed_comm_s, cpu_s`` (of which the first, third
        and fourth add up to ``step_s``: SOFA, figure 5); ``busy_s``, CPU time of the rank's threads by samples, and
        ``main_busy_s``, of the thread that marks the steps (NaN: no samples, or nobody marks).
    summary : DataFrame
        One row a rank: means over its steps after the first, ``n_steps``, ``step_std_s``.
    windows : tuple of Windows
        By rank.
    notes : tuple of str
    """

    source: str
    origin: str
    phases: tuple[str, ...]
    steps: pd.DataFrame
    summary: pd.DataFrame
    windows: tuple[Windows, ...]
    notes: tuple[str, ...]

    @property
    def settled(self) -> pd.DataFrame:
        """Rows of `steps` without each rank's first, where there are at least three."""
        order = self.steps.groupby("rank").cumcount()
        size = self.steps.groupby("rank")["step"].transform("size")
        return self.steps[(order >= WARM_UP) | (size < WARM_UP + 2)]


def find_steps(recording: Recording, *, marker: str | None = None, level: int | None = None) -> RunSteps:
    """Find the steps of a recorded run, and split each.

    By trust: marks named ``step`` or as ``marker`` says, a profiler's ``ProfilerStep#n``, marks or device work that repeat,
    functions that come back in the samples.

    Parameters
    ----------
    recording : Recording
    marker : str, optional
        Regular expression for marks that are a step each.
    level : int, optional
        Level of repetition that is a step, where none are marked.

    Raises
    ------
    DataError
        Nothing tells the steps; the message says what was looked at.
    """
    events = with_ranks(recording.events)
    windows, notes = _windows(recording, events, marker, level)
    if recording.interrupted_ns is not None:
        found, windows = windows, [_not_cut(each, recording.interrupted_ns) for each in windows]
        cut = [each for each, whole in zip(found, windows, strict=True) if len(whole) < len(each)]
        notes += [f"step {each.number[-1]} of rank {each.rank} was interrupted: it is left out" for each in cut]
    rows: list[dict[str, object]] = []
    phases: dict[str, None] = {}
    for each in windows:
        thread = step_thread(events, each)
        marks = child_marks(events, each, thread, marker or OWN_MARKS)
        phases.update(dict.fromkeys(marks))
        rows += _rows(events, each, marks, thread)
    steps = pd.DataFrame(rows)
    names = [f"{name}_s" for name in phases]
    for name in names:
        steps[name] = steps[name].fillna(0.0)
    first = ["rank", "step", "start_s", "step_s", "is_outlier"]
    steps = steps[[*first, *names, *[name for name in steps.columns if name not in first and name not in names]]]
    result = RunSteps(str(recording.folder), windows[0].origin, tuple(phases), steps, steps, tuple(windows), tuple(notes))
    return replace(result, summary=step_means(result.settled, ["rank"]))


def _not_cut(windows: Windows, cut_ns: int) -> Windows:
    """Steps without a last one that Ctrl-C cut short; the only one stays, and one begun later: that program went on."""
    if len(windows) < 2:
        return windows
    slack_ns = min(AT_ONCE_NS, float(np.median(windows.end_ns - windows.start_ns)) / 2)
    if not windows.start_ns[-1] <= cut_ns <= windows.end_ns[-1] + slack_ns:
        return windows
    return replace(windows, number=windows.number[:-1], start_ns=windows.start_ns[:-1], end_ns=windows.end_ns[:-1])


def with_ranks(events: EventTable) -> EventTable:
    """The table with rank 0 on all rows where no row has a rank: a program of one process."""
    if (events.rank != UNSET).any():
        return events
    return events.replace(rank=np.zeros(len(events), dtype=np.int32))


def _windows(recording: Recording, events: EventTable, marker: str | None, level: int | None) -> tuple[list[Windows], list[str]]:
    """Steps of every rank by the first way that tells them."""
    compiled_marker(marker)
    ranks = np.unique(events.rank[events.rank != UNSET]).tolist()
    if level is None:
        for pattern in (marker,) if marker is not None else (STEP_MARK, None):
            found = [
                marked_steps(events, rank, pattern, on_host=pattern is not None, own_ends=pattern is not None) for rank in ranks
            ]
            told = [each for each in found if each is not None]
            if told:
                return told, []
    if marker is not None:
        raise DataError(f"no mark fits {marker!r}", place=str(recording.folder), hint=f"Marks: {_mark_names(events)}.")
    return _structural(recording, events, ranks, level)


def _named(events: EventTable, pattern: str) -> BoolArray:
    """Which strings fit, shape (n_strings + 1,); the last answers for -1."""
    wanted = compiled_marker(pattern)
    return np.array([bool(wanted.search(text)) for text in events.strings] + [False], dtype=bool)


def _structural(
    recording: Recording, events: EventTable, ranks: Sequence[int], level: int | None
) -> tuple[list[Windows], list[str]]:
    """Steps by what repeats: marks and device work, then samples."""
    reasons, found, notes = [], [], []
    for rank in ranks:
        try:
            repeated = repeated_steps(events, rank, level)
            found.append(repeated.windows)
        except DataError as error:
            reasons.append(f"marks and device of rank {rank}: {error.message}")
            sampled = sampled_steps(events, rank)
            if sampled is None:
                continue
            found.append(sampled.windows)
            notes.append(sampled.note)
    if not found:
        mark = "Mark them: \"with mlperf.traces.recording.region('step'):\", or name marks that are there with --marker REGEX."
        raise DataError(
            f"no steps found ({'; '.join(reasons) or 'no rank has events'})",
            place=str(recording.folder),
            hint=mark if reasons else f"{mark} {events.met}".rstrip(),
        )
    return found, notes


def _mark_names(events: EventTable) -> str:
    """Names of all marks, the most frequent first."""
    rows = events.kind == Kind.REGION
    numbers, counts = np.unique(events.name[rows], return_counts=True)
    names = events.text(numbers[np.argsort(-counts, kind="stable")][:12])
    return ", ".join(names) or "none"


def step_thread(events: EventTable, windows: Windows) -> tuple[int, int]:
    """Process and thread that marked the steps, -1 where nobody did."""
    rows = np.flatnonzero((events.kind == Kind.REGION) & (events.rank == windows.rank))
    at = rows[np.isin(events.start_ns[rows], windows.start_ns)]
    return (int(events.pid[at[0]]), int(events.tid[at[0]])) if len(at) else (UNSET, UNSET)


def child_marks(events: EventTable, windows: Windows, thread: tuple[int, int], marker: str) -> dict[str, Intervals]:
    """Marks of a thread directly inside its steps, by name; ``marker`` tells the steps' own from one that fills a step."""
    own = (events.kind == Kind.REGION) & (events.rank == windows.rank)
    own &= (events.pid == thread[0]) & (events.tid == thread[1]) & (events.device == UNSET)
    rows = np.flatnonzero(own)
    rows = rows[np.lexsort((-events.duration_ns[rows], events.start_ns[rows]))]
    place = np.searchsorted(windows.start_ns, events.start_ns[rows], "right") - 1
    inside = (place >= 0) & (events.end_ns[rows] <= windows.end_ns[np.maximum(place, 0)])
    is_step = _named(events, marker)[events.name[rows]] & np.isin(events.start_ns[rows], windows.start_ns)
    rows = rows[inside & ~is_step]
    rows = rows[_outermost(events.start_ns[rows], events.end_ns[rows])]
    found = {}
    for number in dict.fromkeys(events.name[rows].tolist()):
        of_name = rows[events.name[rows] == number]
        found[column_name(events.strings[number])] = union(events.start_ns[of_name], events.end_ns[of_name])
    return found


def column_name(text: str) -> str:
    """A mark's name as the name of a column: words joined by underscores."""
    return re.sub(r"[^0-9a-z]+", "_", text.lower()).strip("_") or "unnamed"


def _outermost(start_ns: IntArray, end_ns: IntArray) -> np.ndarray:
    """Of nested intervals in order of their starts, longer ones first, those inside no other."""
    latest = np.maximum.accumulate(np.concatenate(([np.iinfo(np.int64).min], end_ns[:-1]))) if len(end_ns) else end_ns
    return np.asarray(start_ns >= latest)


def _rows(events: EventTable, windows: Windows, marks: dict[str, Intervals], thread: tuple[int, int]) -> list[dict[str, object]]:
    """One row a step."""
    kernel, comm = _device_work(events, windows.rank)
    busy, main = _cpu_ns(events, windows, thread)
    unusual = outliers((windows.end_ns - windows.start_ns).astype(float)) if len(windows) > 2 else np.zeros(len(windows), bool)
    found: list[dict[str, object]] = []
    for at in range(len(windows)):
        start, end = int(windows.start_ns[at]), int(windows.end_ns[at])
        inside = {f"{name}_s": clipped(each, start, end).total_ns for name, each in marks.items()}
        own_kernel, own_comm = clipped(kernel, start, end), clipped(comm, start, end)
        exposed = without(own_comm, own_kernel).total_ns
        parts = {
            **inside,
            "other_s": end - start - sum(inside.values()),
            "gpu_kernel_s": own_kernel.total_ns,
            "gpu_comm_s": own_comm.total_ns,
            "gpu_exposed_comm_s": exposed,
            "cpu_s": end - start - own_kernel.total_ns - exposed,
            "busy_s": busy[at],
            "main_busy_s": main[at],
        }
        head = {"rank": windows.rank, "step": int(windows.number[at]), "start_s": start * NS, "step_s": (end - start) * NS}
        found.append({**head, "is_outlier": bool(unusual[at]), **{name: value * NS for name, value in parts.items()}})
    return found


def _device_work(events: EventTable, rank: int) -> tuple[Intervals, Intervals]:
    """When any device of a rank computes; when it, or the host by messages, communicates."""
    found = [device_unions(events, rank, device) for device in devices_of(events, rank)]
    kernel = joined(*(each["kernel"] for each in found))
    host = (events.rank == rank) & np.isin(events.kind, [int(kind) for kind in COMMUNICATION])
    messages = union(events.start_ns[host], events.end_ns[host])
    return kernel, joined(messages, *(each[name] for each in found for name in ("collective", "copy")))


def _cpu_ns(events: EventTable, windows: Windows, thread: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """CPU time by samples in each step: of the rank's process, and of the thread that marks; NaN: no samples, or nobody marks."""
    rows = np.flatnonzero(events.kind == Kind.SAMPLE)
    rows = rows[events.pid[rows] == thread[0]] if thread[0] != UNSET else rows[events.rank[rows] == windows.rank]
    if not len(rows):
        nothing = np.full(len(windows), np.nan)
        return nothing, nothing
    place = np.searchsorted(windows.start_ns, events.start_ns[rows], "right") - 1
    inside = (place >= 0) & (events.start_ns[rows] < windows.end_ns[np.maximum(place, 0)])
    rows, place = rows[inside], place[inside]
    weight = events.weight_ns[rows].astype(float)
    on_main = events.tid[rows] == thread[1]
    busy = np.bincount(place, weights=weight, minlength=len(windows))
    if thread[1] == UNSET:
        return busy, np.full(len(windows), np.nan)
    return busy, np.bincount(place[on_main], weights=weight[on_main], minlength=len(windows))
