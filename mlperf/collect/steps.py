"""Plan of kernels and steps: every network at every sub-batch size, visited once a round."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mlperf.collect.clocks import Timing
from mlperf.collect.engine import TrainingStep, training_step
from mlperf.collect.protocol import Key, Rows, Visit
from mlperf.specs.cnn import CnnSpec
from mlperf.specs.kernels import kernel_calls

BACKEND = "numpy"
LEAST_ITERATIONS = 3
MOST_ITERATIONS = 15
VISIT_S = 0.02
"""Short steps are repeated for about this long in each visit, with timers and without."""

LONG_STEP_S = 0.5
"""Steps longer than this are their own average: one with timers and one without in each visit."""


@dataclass(frozen=True, slots=True, eq=False)
class StepPlan:
    """All (network, sub-batch size) pairs on the NumPy engine.

    Attributes
    ----------
    cnns : sequence of CnnSpec
        Networks.
    subbatch_sizes : sequence of int
        Samples in a step.
    rounds : int
        Visits of each pair.
    tables : tuple of str
        ``kernels``, ``steps`` or both; both come from the same visit.
    """

    configurations: Sequence[tuple[CnnSpec, int]]
    rounds: int
    tables: tuple[str, ...] = ("kernels", "steps")
    key: tuple[str, ...] = ("backend", "cnn", "subbatch_size")

    def visits(self, number: int, done: frozenset[Key], rng: np.random.Generator) -> list[Visit]:  # noqa: ARG002 - all rounds are alike
        """One visit for each pair that is not done, in random order."""
        found = []
        for index in rng.permutation(len(self.configurations)):
            cnn, subbatch_size = self.configurations[index]
            key = (BACKEND, cnn.name, str(subbatch_size))
            if key not in done:
                found.append(Visit((key,), partial(measure_step, cnn, subbatch_size, self.tables)))
        return found


def measure_step(cnn: CnnSpec, subbatch_size: int, tables: Sequence[str]) -> Rows:
    """Rows of one visit: medians over a few iterations, timers off and on in turn."""
    step = training_step(cnn, subbatch_size)
    wholes, parts = [], []
    for _ in range(warm_up(step)):
        if "steps" in tables:
            wholes.append(timed_step(step))
        if "kernels" in tables:
            parts.append(step.run_timed())
    configuration = {"backend": BACKEND, "cnn": cnn.name, "subbatch_size": subbatch_size}
    rows: dict[str, list[dict[str, Any]]] = {}
    if wholes:
        rows["steps"] = [configuration | step_times(wholes)]
    if parts:
        cpu_s = np.median([cpu_ns for cpu_ns, _ in parts], axis=0) * 1e-9
        wall_s = np.median([wall_ns for _, wall_ns in parts], axis=0) * 1e-9
        described = kernel_columns(cnn, subbatch_size)
        rows["kernels"] = [
            configuration | columns | {"cpu_s": cpu, "wall_s": wall}
            for columns, cpu, wall in zip(described, cpu_s.tolist(), wall_s.tolist(), strict=True)
        ]
    return rows


def warm_up(step: TrainingStep) -> int:
    """Touch all buffers, and say how often the step is to be repeated."""
    cold = timed_step(step)
    if cold.cpu_s > LONG_STEP_S:
        return 1
    return int(min(MOST_ITERATIONS, max(LEAST_ITERATIONS, np.ceil(VISIT_S / timed_step(step).cpu_s))))


def timed_step(step: TrainingStep) -> Timing:
    """One whole step, timers inside it off."""
    wall_start, cpu_start = time.perf_counter_ns(), time.thread_time_ns()
    step.run()
    cpu_ns = time.thread_time_ns() - cpu_start
    return Timing(cpu_ns * 1e-9, (time.perf_counter_ns() - wall_start) * 1e-9)


def step_times(wholes: Sequence[Timing]) -> dict[str, float]:
    """Medians of whole steps; on a CPU the step's time is its CPU time."""
    cpu_s = statistics.median(timing.cpu_s for timing in wholes)
    return {"step_s": cpu_s, "cpu_s": cpu_s, "wall_s": statistics.median(timing.wall_s for timing in wholes)}


def kernel_columns(cnn: CnnSpec, subbatch_size: int) -> list[dict[str, Any]]:
    """The descriptive cells of each kernel call, in execution order."""
    return [
        {
            "kernel": call.kernel,
            "layer": call.layer,
            "m": call.m,
            "n": call.n,
            "k": call.k,
            "trans": call.trans,
            "access_bytes": "" if call.trans else call.access_bytes,
        }
        for call in kernel_calls(cnn, subbatch_size)
    ]
