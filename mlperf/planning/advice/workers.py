"""A recorded run with other numbers of loader workers or cores: steps, what waiting costs, workers that keep up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.core.shown import Shown
from mlperf.planning.advice.facts.input_pipeline import input_facts
from mlperf.planning.advice.loading import Loading, loading_of, on_synthetic_input
from mlperf.systems.loader.equations import loaded_step_s, lost_devices, samples_per_s, workers_needed
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, find_steps

NEXT_TO_NOTHING = 0.01
"""Share of a step that may be waited for where workers are said to keep up."""
MOST_WORKERS = 10_000
OF_ANOTHER_PROGRAM = 0.1
"""How much longer, as a share, steps on synthetic input may be than those with input: runs of one program differ by less."""


@dataclass(frozen=True, slots=True)
class Storage:
    """What all workers read from: bytes of a rank's batch, and bytes a second for all of them."""

    batch_bytes: float = 0.0
    bytes_per_s: float = np.inf

    def batch_s(self, n_ranks: int) -> float:
        """Least time between the batches of a step."""
        return n_ranks * self.batch_bytes / self.bytes_per_s


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
        ``bound`` (``"training"``, ``"workers"``, ``"cores"`` or ``"storage"``) and ``as_recorded``.
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
    storage: Storage | None = None,
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
    storage : Storage, optional
        That gives no more; without it more workers always read more.
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
        loading = on_synthetic_input(loading, *synthetic)
        real_s = float(facts.step_s.mean())
        if loading.compute_s > (1 + OF_ANOTHER_PROGRAM) * real_s:
            apart = f"{1e3 * loading.compute_s:.3g} ms, longer than the {1e3 * real_s:.3g} ms with input"
            notes = [*notes, f"steps on synthetic input take {apart}: check that both are of one program, and in this order"]
    needed = int(workers_needed(loading.compute_s * (1 + NEXT_TO_NOTHING), loading.batch_s))
    asked = sorted(set(n_workers)) or sorted({*_some(needed + 1), max(loading.n_workers, 1)})
    cores = sorted(set(n_cores)) or [loading.n_cores]
    devices = n_devices or len(steps.windows)
    setting = _Setting(devices, batch_size, ahead, storage or Storage())
    rows = [_row(loading, workers, each, setting) for each in cores for workers in asked]
    return WorkerPlan(str(recording.folder), float(facts.step_s.mean()), loading, devices, pd.DataFrame(rows), needed, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Setting:
    """What stays the same in all rows."""

    n_devices: int
    batch_size: int | None
    ahead: int | None
    storage: Storage


def _row(loading: Loading, workers: int, cores: int, setting: _Setting) -> dict[str, object]:
    """The step with so many workers on so many cores."""
    made = (loading, loading.at_end(-1), loading.at_end(1))
    step, least, most = (stepped(each, workers, cores, setting.ahead, setting.storage) for each in made)
    limits = {
        "training": loading.compute_s,
        "workers": loading.batch_s / workers,
        "cores": loading.cpu_s / cores,
        "storage": setting.storage.batch_s(loading.n_ranks),
    }
    rate = {} if setting.batch_size is None else {"samples_per_s": setting.batch_size / step}
    return {
        "n_cores": cores,
        "n_workers": workers,
        "step_s": step,
        "step_lower_s": least,
        "step_upper_s": most,
        "steps_per_s": 1 / step,
        **rate,
        "lost_share": max(0.0, 1 - loading.compute_s / step),
        "lost_devices": max(0.0, float(lost_devices(step, loading.compute_s, setting.n_devices))),
        "bound": max(limits, key=lambda name: limits[name]),
        "as_recorded": (workers, cores) == (loading.n_workers, loading.n_cores),
    }


def stepped(loading: Loading, n_workers: int, n_cores: int, ahead: int | None = None, storage: Storage | None = None) -> float:
    """Mean step with so many workers on so many cores, seconds."""
    wait = max(loading.batch_s - loading.batch_cpu_s, 0.0)
    every = 1 / float(samples_per_s(n_workers, loading.batch_cpu_s, wait)) if loading.batch_s else 0.0
    if storage is not None:
        every = max(every, storage.batch_s(loading.n_ranks))
    depth = n_workers if ahead is None else ahead
    spread = loading.batch_std_s / n_workers
    return max(float(loaded_step_s(loading.compute_s, every, loading.compute_std_s, spread, depth)), loading.cpu_s / n_cores)


def _some(most: int) -> list[int]:
    """1 to 8, then 12, 16, 24, 32, ..., to the first that is no less than ``most``."""
    numbers = list(range(1, min(most, 8) + 1))
    while numbers[-1] < most:
        last = numbers[-1]
        numbers.append(last * 3 // 2 if last & (last - 1) == 0 else last * 4 // 3)
    return numbers
