"""What the step of every synchronous system has: settings, spread between workers, input, outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.systems.base.system import Setting, Solution, System, SystemComponent, checked_run, checked_times
from mlperf.systems.coupling.barrier import straggler_excess
from mlperf.systems.coupling.input_stall import input_stall
from mlperf.systems.data_parallel.columns import n_workers
from mlperf.systems.data_parallel.configuration import check_configuration
from mlperf.systems.data_parallel.memory import memory_of_run, memory_risk

STEP = "step"
NEGLIGIBLE = 1e-12
"""Share of a step's work below which a wait for input is none: the tail of a normal distribution has no end."""
OUTPUTS = (
    "epoch_s",
    "mean_minibatch_size",
    "step_s",
    "samples_per_s",
    "exposed_exchange_s",
    "efficiency",
    "input_stall_s",
    "straggler_s",
)

INPUT = SystemComponent(
    "input", STEP, "work", "loading one sub-batch by one loader", ("subbatch_size", "n_gpus_per_node * subbatch_size")
)
FORWARD = SystemComponent("forward", STEP, "work", "forward pass of one sub-batch", ("subbatch_size",), needed=True)
BACKWARD = SystemComponent("backward", STEP, "work", "backward pass of one sub-batch, nothing recomputed", ("subbatch_size",))
OPTIMIZER = SystemComponent("optimizer", STEP, "work", "the optimizer's update of this worker's share", ("n_params",))
OVERHEAD = SystemComponent("overhead", STEP, "work", "launches and the framework, once a step")
SPREAD = SystemComponent(STEP, STEP, "coupling", "the whole step of one worker; only its spread is given")
COUPLED = (
    SystemComponent("recomputation", STEP, "coupling", "forward passes repeated for the backward pass"),
    SystemComponent("straggler", STEP, "coupling", "wait for the slowest worker"),
    SPREAD,
)

INPUT_SETTINGS = (
    Setting("loader_workers", 1.0, "loaders of one worker that work at the same time", 1.0),
    Setting("input_overlap", 1.0, "1: the next sub-batches load while this step computes; 0: loading is part of the step"),
)
ACCUMULATION = Setting("accumulation", 1.0, "sub-batches of one step and worker", 1.0)
RECOMPUTED = Setting("recomputed", 0.0, "share of the forward pass repeated in the backward pass, 0 to 1")
OVERLAP_SETTINGS = (
    Setting("n_buckets", 25.0, "parts in which gradients are exchanged during the backward pass", 1.0),
    Setting("overlap", 1.0, "1: gradients are exchanged during the backward pass; 0: after it"),
    Setting("overlap_slowdown", 1.0, "how many times longer kernels take while an exchange runs", 1.0),
)


@dataclass(frozen=True, slots=True, eq=False)
class Step(Shown):
    """One step of a worker before it waits for input and for others; arrays broadcast with the configurations.

    Attributes
    ----------
    parts_s : mapping of str to array
        Seconds by component; they sum to the step.
    work : tuple of str
        Those that a worker alone would have, too.
    exchanged : tuple of str
        Those that are exposed communication.
    loads : array
        Sub-batches loaded by one worker in a step.
    samples : array
        Samples of one step, all workers together.
    flags : mapping of str to array of bool
        Where the equations are less sure.
    outputs : mapping of str to array
        Outputs beyond `OUTPUTS`.
    """

    parts_s: Mapping[str, FloatArray]
    work: tuple[str, ...]
    exchanged: tuple[str, ...]
    loads: FloatArray
    samples: FloatArray
    flags: Mapping[str, BoolArray]
    outputs: Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Asked(Shown):
    """What a system was asked: seconds by component, the run, and the components whose times were given."""

    seconds: Mapping[str, FloatArray]
    run: Mapping[str, FloatArray]
    given: frozenset[str]


def asked(system: System, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Asked:
    """Checked times and run.

    Raises
    ------
    UsageError
        Unknown or missing names; a mean of what the equations compute.
    DataError
        Values that make no sense, or a configuration that cannot run.
    """
    seconds, sizes = checked_times(system, times), checked_run(system, run)
    given = frozenset(name.removesuffix("_s") for name in times)
    computed = [each.name for each in system.components if each.kind == "coupling" and each.name in given]
    if computed:
        raise UsageError(f"got a time of {computed[0]!r}, which the system {system.name!r} computes")
    check_configuration(sizes, place=f"system {system.name!r}")
    return Asked(seconds, sizes, given)


def _memory_outputs(run: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    # Only where the run says how large the network is, and the device.
    found = {"memory_bytes": memory_of_run(run).total_bytes} if "n_params" in run else {}
    return found | ({"out_of_memory_probability": memory_risk(run)} if found and "device_memory_bytes" in run else {})


def step_spread_s(question: Asked, loads: FloatArray) -> FloatArray:
    """Standard deviation of one worker's step: ``step_std``, else of its passes, drawn anew for every sub-batch; seconds."""
    seconds = question.seconds
    if "step_std" in seconds:
        return seconds["step_std"]
    passes = [seconds[f"{name}_std"] ** 2 for name in ("forward", "backward") if f"{name}_std" in seconds]
    return np.asarray(np.sqrt(loads * sum(passes, np.zeros(())) + tail_variance_s2(question)))


def tail_variance_s2(question: Asked) -> FloatArray:
    """Variance of what comes once a step, optimizer and overhead; seconds squared."""
    seconds = question.seconds
    parts = [seconds[f"{name}_std"] ** 2 for name in ("optimizer", "overhead") if f"{name}_std" in seconds]
    return np.asarray(sum(parts, np.zeros(())))


def solution(question: Asked, step: Step, spread_s: FloatArray | None = None, n_independent: FloatArray | None = None) -> Solution:
    """Input stall, the wait for the slowest, and all outputs.

    Parameters
    ----------
    question : Asked
        Times and run.
    step : Step
        What a worker does.
    spread_s : array, optional
        Standard deviation of a worker's step, seconds; None: :func:`step_spread_s`.
    n_independent : array, optional
        Workers whose steps vary independently; None: all.

    Returns
    -------
    Solution
        The breakdown of ``step`` sums to ``step_s``. With ``n_params`` in the run also ``memory_bytes``, with
        ``device_memory_bytes`` also ``out_of_memory_probability``.
    """
    run, seconds = question.run, question.seconds
    core = np.asarray(sum(step.parts_s.values()))
    spread = step_spread_s(question, step.loads) if spread_s is None else spread_s
    load = step.loads * seconds["input"] / run["loader_workers"]
    load_std = np.sqrt(step.loads / run["loader_workers"]) * seconds.get("input_std", np.zeros(()))
    stall = np.where(run["input_overlap"] > 0.0, input_stall(core, load, spread, load_std), load)
    stall = np.where(stall < NEGLIGIBLE * core, 0.0, stall)
    straggler = straggler_excess(spread, n_workers(run) if n_independent is None else n_independent)
    whole = core + stall + straggler
    parts = {"input": stall, **step.parts_s, "straggler": straggler}
    exposed = np.asarray(sum((step.parts_s[name] for name in step.exchanged), np.zeros(())))
    outputs = {
        "epoch_s": run["dataset_size"] / step.samples * whole,
        "mean_minibatch_size": step.samples,
        "step_s": whole,
        "samples_per_s": step.samples / whole,
        "exposed_exchange_s": exposed,
        "efficiency": np.asarray(sum(step.parts_s[name] for name in step.work)) / whole,
        "input_stall_s": stall,
        "straggler_s": straggler,
        **step.outputs,
        **_memory_outputs(run),
    }
    flags = {"input_bound": np.asarray(load > core), **step.flags}
    shape = np.broadcast_shapes(*(np.shape(each) for each in outputs.values()))

    def full(values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        return {name: np.array(np.broadcast_to(each, shape)) for name, each in values.items()}

    return Solution(
        full(outputs), {STEP: full(parts)}, {name: np.array(np.broadcast_to(each, shape)) for name, each in flags.items()}
    )
