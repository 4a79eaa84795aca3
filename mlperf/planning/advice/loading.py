"""What a recorded run tells of its loader: who makes batches, how long one takes, what a step does beside."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown
from mlperf.planning.advice.facts.input_pipeline import InputFacts, input_facts
from mlperf.planning.advice.gains import BETWEEN_RUNS, NORMAL, half_width
from mlperf.planning.advice.thresholds import Thresholds
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps

BUSY_CORES = 0.9
"""Share of the cores' time above which a worker may have waited for a core, and not for storage."""


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

    @property
    def cpu_s(self) -> float:
        """Processor time of a step of all ranks."""
        return self.n_ranks * self.batch_cpu_s + self.other_cpu_s

    def at_end(self, sign: int) -> Loading:
        """The least (-1) or the most (1) that all times may be."""
        made, computed = 1 + sign * self.batch_error, 1 + sign * self.compute_error
        return replace(
            self,
            compute_s=self.compute_s * computed,
            batch_s=(self.batch_lower_s if sign < 0 else self.batch_s) * made,
            batch_cpu_s=self.batch_cpu_s * made,
            other_cpu_s=self.other_cpu_s * computed,
        )


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


def on_synthetic_input(loading: Loading, recording: Recording, steps: RunSteps) -> Loading:
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


def _spread_of(values: FloatArray) -> float:
    """Standard deviation from step to step."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _relative(values: FloatArray) -> float:
    """Half the 95 % interval of a mean, as a share of it, at most nine tenths."""
    mean = float(values.mean())
    return min(half_width(values) / mean, 0.9) if mean > 0 else 0.0


def _error(values: FloatArray) -> float:
    """The same with what another run may differ."""
    return float(np.hypot(_relative(values), NORMAL * BETWEEN_RUNS))
