"""Plan of kernels and steps: every network at every sub-batch size, visited once a round."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mlperf.collect.backends.backends import Backend, Step
from mlperf.collect.campaign.sgemm import expected_time_s
from mlperf.collect.cnn_engine.timers import Timer, Timing
from mlperf.collect.protocol.protocol import Key, Rows, Visit
from mlperf.specs.kernels.kernels import KernelCall
from mlperf.specs.network.cnn import CnnSpec

LEAST_ITERATIONS = 3
MOST_ITERATIONS = 15
VISIT_S = 0.02
"""Short steps are repeated for about this long in each visit, with timers and without."""

BYTES_PER_S = 2e9
"""A rough guess for planning only: elements that memory-bound kernels access."""

LONG_STEP_S = 0.5
"""Steps longer than this are their own average: one with timers and one without in each visit."""


@dataclass(frozen=True, slots=True, eq=False)
class StepPlan:
    """Pairs of a network and a sub-batch size on one backend.

    Attributes
    ----------
    backend : Backend
        What runs them.
    configurations : sequence of (CnnSpec, int)
        Networks with the samples of a step.
    rounds : int
        Visits of each pair.
    tables : tuple of str
        ``kernels``, ``steps`` or both; both come from the same visit.
    """

    backend: Backend
    configurations: Sequence[tuple[CnnSpec, int]]
    rounds: int
    tables: tuple[str, ...] = ("kernels", "steps")
    key: tuple[str, ...] = ("backend", "cnn", "subbatch_size")

    @property
    def nominal_s(self) -> float:
        """One round of all pairs, roughly."""
        return sum(_visit_s(_step_s(self.backend.calls(cnn, size))) for cnn, size in self.configurations)

    def visits(self, number: int, done: frozenset[Key], rng: np.random.Generator) -> list[Visit]:  # noqa: ARG002 - all rounds are alike
        """One visit for each pair that is not done, in random order."""
        found = []
        for index in rng.permutation(len(self.configurations)):
            cnn, subbatch_size = self.configurations[index]
            key = (self.backend.name, cnn.name, str(subbatch_size))
            if key not in done:
                found.append(Visit((key,), partial(measure_step, self.backend, cnn, subbatch_size, self.tables)))
        return found


def _step_s(calls: Sequence[KernelCall]) -> float:
    """A training step of these calls, roughly."""
    return sum(call.access_bytes / BYTES_PER_S + call.groups * expected_time_s(call.m, call.n, call.k) for call in calls)


def _visit_s(step_s: float) -> float:
    """Warm-up, then with timers and without."""
    if step_s > LONG_STEP_S:
        return 3 * step_s
    return (2 + 2 * min(MOST_ITERATIONS, max(LEAST_ITERATIONS, VISIT_S / step_s))) * step_s


def measure_step(backend: Backend, cnn: CnnSpec, subbatch_size: int, tables: Sequence[str]) -> Rows:
    """Rows of one visit: medians over a few iterations, timers off and on in turn."""
    step, timer = backend.make_step(cnn, subbatch_size), backend.timer
    wholes, parts = [], []
    for _ in range(warm_up(step, timer)):
        if "steps" in tables:
            wholes.append(timer.time(step.run))
        if "kernels" in tables:
            parts.append(timer.time_each(step.operations))
    configuration = {"backend": backend.name, "cnn": cnn.name, "subbatch_size": subbatch_size}
    rows: dict[str, list[dict[str, Any]]] = {}
    if wholes:
        rows["steps"] = [configuration | step_times(wholes)]
    if parts:
        cpu_s, wall_s = np.median(parts, axis=0).tolist()
        rows["kernels"] = [
            configuration | call_columns(call) | {"cpu_s": cpu, "wall_s": wall}
            for call, cpu, wall in zip(backend.calls(cnn, subbatch_size), cpu_s, wall_s, strict=True)
        ]
    return rows


def warm_up(step: Step, timer: Timer) -> int:
    """Touch all buffers, and say how often the step is to be repeated."""
    if timer.time(step.run).cpu_s > LONG_STEP_S:
        return 1
    cpu_s, _ = timer.time_each(step.operations)
    return int(min(MOST_ITERATIONS, max(LEAST_ITERATIONS, np.ceil(VISIT_S / cpu_s.sum()))))


def step_times(wholes: Sequence[Timing]) -> dict[str, float]:
    """Medians of whole steps; the step's time is by the clock of its kernels, so that their sum can be held against it."""
    cpu_s = statistics.median(timing.cpu_s for timing in wholes)
    return {"step_s": cpu_s, "cpu_s": cpu_s, "wall_s": statistics.median(timing.wall_s for timing in wholes)}


def call_columns(call: KernelCall) -> dict[str, Any]:
    """The descriptive cells of a kernel call."""
    return {
        "kernel": call.kernel,
        "layer": call.layer,
        "m": call.m,
        "n": call.n,
        "k": call.k,
        "trans": call.trans,
        "access_bytes": "" if call.trans else call.access_bytes,
    }
