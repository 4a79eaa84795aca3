"""A recorded run with other numbers of loader workers or cores: steps, what waiting costs, workers that keep up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.core.shown import Shown
from mlperf.planning.advice.facts.input_pipeline import InputFacts, input_facts
from mlperf.planning.advice.gains import BETWEEN_RUNS, NORMAL, half_width
from mlperf.planning.advice.thresholds import Thresholds
from mlperf.systems.loader.equations import loaded_step_s, lost_devices, samples_per_s, workers_needed
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, find_steps

BUSY_CORES = 0.9
"""Share of the cores' time above which a worker may have waited for a core, and not for storage."""
NEXT_TO_NOTHING = 0.01
"""Share of a step that may be waited for where workers are said to keep up."""
MOST_WORKERS = 10_000


@dataclass(frozen=True, slots=True)
class Loading(Shown):
    """What a recording tells of its loader, means of a step.

    Attributes
    ----------
    n_ranks : int
    n_workers : int
        Threads or processes beside a rank's training thread that make its input; 0 where it makes it itself.
    n_cores : int
        That the run might use, all ranks together.
    compute_s, compute_std_s : float
        A step without waiting for input, and its standard deviation.
    batch_s, batch_std_s, batch_lower_s : float
        One worker's time for a batch, and its least where workers kept up or the cores were full.
    batch_cpu_s, other_cpu_s : float
        Processor time of a rank's batch, and of all the rest of a step of all ranks; 0 without samples.
    compute_error, batch_error : float
        Half a 95 % interval of both as a share: of the mean over steps, and what another run may differ.
    """

    n_ranks: int
    n_workers: int
    n_cores: int
    compute_s: float
    compute_std_s: float
    batch_s: float
    batch_std_s: float
    batch_lower_s: float
    batch_cpu_s: float
    other_cpu_s: float
    compute_error: float
    batch_error: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WorkerPlan(Shown):
    """Steps of a recorded run with other numbers of workers or cores.

    Attributes
    ----------
    source : str
        The recording.
    step_s : float
        Mean step as recorded.
    loading : Loading
        What the recording tells of its loader.
    n_devices : int
        Devices whose work waiting costs.
    plan : DataFrame
        One row a number of cores and of workers: ``n_cores, n_workers, step_s, step_lower_s, step_upper_s`` (95 %),
        ``steps_per_s``, with a batch's size also ``samples_per_s``, ``lost_share`` of a step, ``lost_devices``,
        ``bound`` (``"training"``, ``"workers"`` or ``"cores"``) and ``as_recorded``.
    workers_needed : int
        Least number with which mean steps wait for less than 1 % of their time, if the cores allow.
    notes : tuple of str
    """

    source: str
    step_s: float
    loading: Loading
    n_devices: int
    plan: pd.DataFrame
    workers_needed: int
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row a number of cores and of workers."""
        return self.plan


def plan_workers(
    recording: Recording,
    steps: RunSteps | None = None,
    *,
    n_workers: Sequence[int] = (),
    n_cores: Sequence[int] = (),
    n_devices: int | None = None,
    batch_size: int | None = None,
    ahead: int | None = None,
    synthetic: tuple[Recording, RunSteps] | None = None,
) -> WorkerPlan:
    """Say how long steps take with other numbers of loader workers or cores.

    Parameters
    ----------
    recording : Recording
        With a mark, or a profiler's, around what a step waits for its input.
    steps : RunSteps, optional
        Its steps; found where they are not given.
    n_workers : sequence of int, optional
        Numbers for each rank; without them 1 up to one more than keep up, and those recorded.
    n_cores : sequence of int, optional
        Cores asked for; without them those recorded.
    n_devices : int, optional
        Devices whose work waiting costs; without it one for each rank.
    batch_size : int, optional
        Samples of a step, over all ranks.
    ahead : int, optional
        Batches that may be ready; without it one for each worker.
    synthetic : (Recording, RunSteps), optional
        The same program with input that is always there: its steps are what nothing is lost of. Without it they are the recorded
        ones less their waiting, in which the training thread may have shared its cores with the workers.

    Raises
    ------
    DataError
        Nothing tells the steps, or what of them is input.
    UsageError
        A number below 1.

    Notes
    -----
    W workers make a batch a step: each has W steps for one and works on it for the share of the time in which the interpreter's
    stacks do not show it in a queue; the samples tell the processor time of it. Batches come every batch_s / w from w workers, and
    not faster than the cores compute all that a step needs; the wait for them is that of `mlperf.systems.loader`. Without stacks a
    worker that kept up may have worked all the time, or only as long as it computed: the step is told for the first, the interval
    holds both.
    """
    steps = find_steps(recording) if steps is None else steps
    facts = input_facts(recording, steps)
    if facts is None:
        hint = "Mark what waits for the input: with mlperf.traces.recording.region('load'): ..."
        raise DataError("no mark tells what of a step is input", place=str(recording.folder), hint=hint)
    for name, numbers in (("workers", n_workers), ("cores", n_cores), ("devices", () if n_devices is None else (n_devices,))):
        if any(not 1 <= each <= MOST_WORKERS for each in numbers):
            raise UsageError(f"got {min(numbers)}, expected numbers from 1 to {MOST_WORKERS:,}", place=name)
    loading, notes = loading_of(facts, steps)
    if synthetic is not None:
        loading = _on_synthetic_input(loading, *synthetic)
    needed = int(workers_needed(loading.compute_s * (1 + NEXT_TO_NOTHING), loading.batch_s))
    asked = sorted(set(n_workers)) or sorted({*_some(needed + 1), max(loading.n_workers, 1)})
    cores = sorted(set(n_cores)) or [loading.n_cores]
    devices = n_devices or len(steps.windows)
    rows = [_row(loading, workers, each, devices, batch_size, ahead) for each in cores for workers in asked]
    return WorkerPlan(str(recording.folder), float(facts.step_s.mean()), loading, devices, pd.DataFrame(rows), needed, tuple(notes))


def loading_of(facts: InputFacts, steps: RunSteps) -> tuple[Loading, list[str]]:
    """What a recording tells of its loader, and what is to be known about that."""
    n_ranks = len(steps.windows)
    is_own = not facts.n_makers or (facts.busy_share > 0.5 and not facts.keeps_up)
    n_workers = 0 if is_own else max(1, round(facts.n_makers / n_ranks))
    mean_step, mean_load = float(facts.step_s.mean()), float(facts.load_s.mean())
    ready = 0.0 if is_own else mean_load if facts.keeps_up else min(facts.ready_s, mean_load)
    compute = facts.step_s - np.maximum(facts.load_s - ready, 0.0)
    at_work = 1.0 if np.isnan(facts.makers_at_work) else facts.makers_at_work
    made = n_workers * at_work * facts.step_s if n_workers else facts.load_s
    cpu = float(np.nan_to_num(facts.makers_cores * mean_step / n_ranks if n_workers else facts.busy_share * mean_load))
    least, busy, notes = float(made.mean()), _busy_s(steps), []
    if not np.isfinite(busy):
        notes.append("no samples tell processor time: cores are taken to suffice")
    if n_workers and busy / mean_step >= BUSY_CORES * facts.n_cores:
        made, least = np.full_like(made, cpu), cpu
        notes.append("its cores were full: workers are taken to have waited for cores alone, and the training thread may have too")
    elif n_workers and np.isnan(facts.makers_at_work) and mean_load / mean_step < Thresholds().waiting_for_input:
        least = min(cpu, least)
        notes.append("its workers kept up, so that a batch of theirs may take less than is taken here: record with fewer")
    batch = float(made.mean())
    loading = Loading(
        n_ranks,
        n_workers,
        facts.n_cores,
        float(compute.mean()),
        _spread_of(compute),
        batch,
        _spread_of(made),
        least,
        min(cpu, batch),
        max(busy - n_ranks * cpu, 0.0) if np.isfinite(busy) else 0.0,
        _error(compute),
        float(np.hypot(_error(facts.step_s), _shown_error(at_work, facts.n_stacks))),
    )
    return loading, notes


def _on_synthetic_input(loading: Loading, recording: Recording, steps: RunSteps) -> Loading:
    """The loader beside the training of another recording, in which nothing waits for input."""
    facts, busy = input_facts(recording, steps), _busy_s(steps)
    step_s = steps.settled["step_s"].to_numpy(float) if facts is None else facts.step_s
    return replace(
        loading,
        compute_s=float(step_s.mean()),
        compute_std_s=_spread_of(step_s),
        compute_error=_error(step_s),
        other_cpu_s=busy if np.isfinite(busy) else loading.other_cpu_s,
    )


def _shown_error(share: float, n_stacks: int) -> float:
    """Half the 95 % interval of a share of so many stacks, as a share of it."""
    return NORMAL * float(np.sqrt((1 - share) / (share * n_stacks))) if n_stacks else 0.0


def _busy_s(steps: RunSteps) -> float:
    """Processor time of a step of all ranks together; NaN without samples."""
    means = steps.settled.groupby("rank")["busy_s"].mean()
    return float(means.sum(min_count=1))


def _row(
    loading: Loading, workers: int, cores: int, n_devices: int, batch_size: int | None, ahead: int | None
) -> dict[str, object]:
    """The step with so many workers on so many cores."""
    step = stepped(loading, workers, cores, ahead)
    limits = {"training": loading.compute_s, "workers": loading.batch_s / workers, "cores": _cpu_s(loading) / cores}
    rate = {} if batch_size is None else {"samples_per_s": batch_size / step}
    return {
        "n_cores": cores,
        "n_workers": workers,
        "step_s": step,
        "step_lower_s": stepped(_other(loading, -1), workers, cores, ahead),
        "step_upper_s": stepped(_other(loading, 1), workers, cores, ahead),
        "steps_per_s": 1 / step,
        **rate,
        "lost_share": max(0.0, 1 - loading.compute_s / step),
        "lost_devices": max(0.0, float(lost_devices(step, loading.compute_s, n_devices))),
        "bound": max(limits, key=lambda name: limits[name]),
        "as_recorded": (workers, cores) == (loading.n_workers, loading.n_cores),
    }


def _other(loading: Loading, sign: int) -> Loading:
    """The least, or the most, that all times may be."""
    made, computed = 1 + sign * loading.batch_error, 1 + sign * loading.compute_error
    return replace(
        loading,
        compute_s=loading.compute_s * computed,
        batch_s=(loading.batch_lower_s if sign < 0 else loading.batch_s) * made,
        batch_cpu_s=loading.batch_cpu_s * made,
        other_cpu_s=loading.other_cpu_s * computed,
    )


def stepped(loading: Loading, n_workers: int, n_cores: int, ahead: int | None = None) -> float:
    """Mean step with so many workers on so many cores, seconds."""
    wait = max(loading.batch_s - loading.batch_cpu_s, 0.0)
    every = 1 / float(samples_per_s(n_workers, loading.batch_cpu_s, wait)) if loading.batch_s else 0.0
    depth = n_workers if ahead is None else ahead
    spread = loading.batch_std_s / n_workers
    return max(float(loaded_step_s(loading.compute_s, every, loading.compute_std_s, spread, depth)), _cpu_s(loading) / n_cores)


def _cpu_s(loading: Loading) -> float:
    """Processor time of a step of all ranks."""
    return loading.n_ranks * loading.batch_cpu_s + loading.other_cpu_s


def _some(most: int) -> list[int]:
    """1 to 8, then 12, 16, 24, 32, ..., to the first that is no less than ``most``."""
    numbers = list(range(1, min(most, 8) + 1))
    while numbers[-1] < most:
        last = numbers[-1]
        numbers.append(last * 3 // 2 if last & (last - 1) == 0 else last * 4 // 3)
    return numbers


def _spread_of(values: np.ndarray) -> float:
    """Standard deviation from step to step."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _relative(values: np.ndarray) -> float:
    """Half the 95 % interval of a mean, as a share of it, at most nine tenths."""
    mean = float(values.mean())
    return min(half_width(values) / mean, 0.9) if mean > 0 else 0.0


def _error(values: np.ndarray) -> float:
    """The same with what another run may differ."""
    return float(np.hypot(_relative(values), NORMAL * BETWEEN_RUNS))
