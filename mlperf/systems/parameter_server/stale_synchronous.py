"""Bulk- and stale-synchronous workers at parameter servers: the slowest worker, a bound of clocks, and the servers' queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.systems.base.system import Setting, Solution, SystemComponent, checked_run, checked_times
from mlperf.systems.coupling.queues import closed_queue
from mlperf.systems.coupling.slowest import MOST_VARIATION, larger_of, slowest_factor, slowest_spread
from mlperf.systems.parameter_server.components import COMPONENTS, SETTINGS, Loads, server_loads, solution_of
from mlperf.systems.parameter_server.stale import CLOSED_VARIATION, stale_factor

OUTPUTS = (
    "epoch_s",
    "mean_minibatch_size",
    "samples_per_s",
    "step_s",
    "straggler_s",
    "server_wait_s",
    "largest_staleness",
    "server_utilisation",
)
BOUND = Setting("staleness_bound", 0.0, "clocks that a worker may be ahead of the slowest; 0 is bulk synchronous")
LEAST_CONTENTION = 0.25
ROOT_2_PI = np.sqrt(2.0 * np.pi)


@dataclass(frozen=True, slots=True)
class StaleSynchronousSystem:
    """Every worker adds one gradient a clock; none may be more than ``staleness_bound`` clocks ahead of the slowest.

    The step (one clock of all workers) is the longest of: the workers' own, with what waiting for the slowest costs under the bound
    (`mlperf.systems.parameter_server.stale.stale_factor`); all gradients through the servers one after the other, after the barrier
    (bound 0); the asynchronous queue (bound above 0).
    """

    name: str = "stale-synchronous"
    title: str = "Parameter servers: bulk or stale synchronous SGD, a bound on how far workers drift apart"
    components: tuple[SystemComponent, ...] = COMPONENTS
    settings: tuple[Setting, ...] = (*SETTINGS, BOUND)
    outputs: tuple[str, ...] = OUTPUTS

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """Outputs of configurations; see `mlperf.systems.base.system.System.solve`.

        ``compute_std`` (and ``pull_std``) make the stragglers. ``straggler_s`` and ``server_wait_s`` are what the slowest worker
        and the servers add to the mean step of a worker alone. The flag ``varied`` says where times vary so much that the closed
        form is off by more than 8 %, ``server_bound`` where the servers set the pace, ``contended_mixture`` where fast workers,
        released together by slow ones, make them wait at the servers: the step is then up to 30 % longer than this says.

        Raises
        ------
        DataError
            A bound that is no whole number, or times that vary more than twice their mean.
        """
        seconds, sizes = checked_times(self, times), checked_run(self, run)
        loads = server_loads(seconds, sizes)
        bound = sizes["staleness_bound"]
        if (bound != np.floor(bound)).any():
            raise DataError(
                f"got {float(bound[bound != np.floor(bound)].ravel()[0]):g}, expected 0, 1, 2, ...", place="staleness_bound"
            )
        own, variation = _own_step(loads, bound)
        alone = loads.slowest_work_s + loads.service_s
        served = np.where(bound < 1.0, _burst(loads), _drained(loads))
        step = np.maximum(own, served)
        minibatch = sizes["subbatch_size"] * loads.n_workers
        outputs = {
            "epoch_s": sizes["dataset_size"] / minibatch * step,
            "mean_minibatch_size": minibatch,
            "samples_per_s": minibatch / step,
            "step_s": step,
            "straggler_s": own - alone,
            "server_wait_s": step - own,
            # A worker alone is never ahead of another.
            "largest_staleness": np.where(loads.n_workers > 1.0, bound, 0.0),
            "server_utilisation": np.minimum(loads.n_workers * loads.service_s / step, 1.0),
        }
        flags = {
            "varied": variation > CLOSED_VARIATION,
            "server_bound": served > own,
            "contended_mixture": loads.is_mixed & (bound > 0.0) & (outputs["server_utilisation"] > LEAST_CONTENTION),
        }
        breakdown = _breakdown(seconds, sizes, loads, outputs)
        return solution_of(outputs, breakdown, flags, (*seconds.values(), *sizes.values()))


def _own_step(loads: Loads, bound: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Step of workers that never queue, seconds, and their coefficient of variation."""
    fast, slow = loads.work_s + loads.service_s, loads.slow_work_s + loads.service_s
    std = np.hypot(loads.work_std_s, loads.service_std_s)
    variation = np.divide(std, fast, out=np.zeros(np.shape(fast)), where=fast > 0.0)
    if (variation > MOST_VARIATION).any():
        worst = float(np.max(variation))
        raise DataError(
            f"got a standard deviation of {worst:.3g} times the mean, expected at most {MOST_VARIATION:g}", place="compute"
        )
    n_fast = loads.n_workers - loads.n_slow
    parts = []
    for mean, count in ((fast, n_fast), (slow, loads.n_slow)):
        there = np.maximum(count, 1.0)
        parts.append((mean * stale_factor(there, bound, variation), mean * slowest_spread(there, variation)))
    (one, one_std), (other, other_std) = parts
    both = np.where(bound < 1.0, larger_of(one, one_std, other, other_std), np.maximum(one, other))
    return np.where(loads.n_slow < 1.0, one, np.where(n_fast < 1.0, other, both)), variation


def _burst(loads: Loads) -> FloatArray:
    """Step of a barrier whose gradients go through the servers one by one, seconds.

    The gradient of the j-th worker has N - j + 1 services before the barrier opens: the largest of E t_(j) + (N - j + 1) S over j,
    with normal times. Where S N exceeds sqrt(2 pi) deviations an early worker decides, at z with N S phi(z) = sd.
    """
    drain = loads.n_workers * loads.service_s
    std, mean = loads.work_std_s, np.where(loads.n_slow < loads.n_workers, loads.work_s, loads.slow_work_s)
    ratio = np.divide(std * ROOT_2_PI, drain, out=np.ones(np.shape(drain)), where=drain > 0.0)
    # No worker is earlier than the first of all.
    first = np.divide(std, mean, out=np.zeros(np.shape(mean)), where=mean > 0.0)
    depth = np.where(first > 0.0, (slowest_factor(loads.n_workers, first) - 1.0) / np.where(first > 0.0, first, 1.0), 0.0)
    z = np.minimum(np.sqrt(-2.0 * np.log(np.clip(ratio, 1e-300, 1.0))), depth)
    left = np.where(z >= depth, 1.0, np.minimum(ndtr(z) + 0.5 / loads.n_workers, 1.0))
    early = mean - std * z + left * drain
    return np.asarray(np.where(ratio < 1.0, early, mean + loads.service_s))


def _drained(loads: Loads) -> FloatArray:
    """Step of workers that never wait for one another but at the servers, seconds."""
    # All workers advance together in the long run: the slower kind's time for all.
    queue = closed_queue(loads.slowest_work_s, loads.service_s, loads.n_workers, loads.service_scv)
    return np.asarray(loads.n_workers / queue.throughput_per_s)


def _breakdown(
    times: Mapping[str, FloatArray], run: Mapping[str, FloatArray], loads: Loads, outputs: Mapping[str, FloatArray]
) -> dict[str, dict[str, FloatArray]]:
    """The step of the slower kind of worker, and the servers' share of it."""
    step = outputs["step_s"]
    ones = np.ones(step.shape)
    push, apply = (ones * times[name] / run["n_servers"] for name in ("push", "apply"))
    compute = loads.slowest_work_s - times["pull"]
    waits = {"straggler": outputs["straggler_s"], "server_wait": outputs["server_wait_s"]}
    worker = {"compute": compute, "pull": ones * times["pull"], "push": push, "apply": apply, **waits}
    busy = {"push": loads.n_workers * push, "apply": loads.n_workers * apply}
    return {"worker": worker, "server": {**busy, "idle": np.maximum(step - busy["push"] - busy["apply"], 0.0)}}


STALE_SYNCHRONOUS = StaleSynchronousSystem()
