"""Discrete-event simulation of SPRINT's Algorithms 1 and 2: the reference for the equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.systems.base.distributions import Distribution
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint import events
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.timeline import EventLog, Timeline, timeline

N_BATCHES = 20
LOST_SHARE = 0.01
SPARE_ITERATIONS = 1.15
N_OCCURRENCES = 65_521
"""Drawn durations of one kind, taken in turn by the number of the event: a prime, so that no period of the run repeats them."""

JITTERS = ("gamma", "lognormal")


@dataclass(frozen=True, slots=True, eq=False)
class Simulation(Shown):
    """What a simulated run did after its warm-up; times in seconds, sizes in samples, staleness in updates.

    ``*_std_err`` are standard errors from 20 batch means. Lock waits are means per GPU iteration or per update, as in
    `mlperf.systems.sprint.equations.State`. ``conservation`` is N_mb / (M n b U/G) - 1.
    ``timeline`` holds what was recorded from the start.
    """

    gpu_iteration_s: float
    update_iteration_s: float
    mean_minibatch_size: float
    mean_staleness: float
    gpu_iteration_std_err_s: float
    update_iteration_std_err_s: float
    mean_minibatch_std_err: float
    mean_staleness_std_err: float
    ready_probability: float
    fetch_probability: float
    lock_weights_gpu_s: float
    lock_gradient_gpu_s: float
    lock_gradient_update_s: float
    lock_weights_update_s: float
    barrier_wait_s: float
    conservation: float
    n_updates: int
    n_gpu_iterations: int
    minibatch: Distribution
    buffers: Distribution
    staleness: Distribution
    timeline: Timeline


@dataclass(frozen=True, slots=True, eq=False)
class SimulationPlan:
    """How to simulate.

    Parameters
    ----------
    n_updates, warmup : int
        Updates counted, and updates before them.
    jitter : {"gamma", "lognormal"}
        Distribution of the GPU work, whose deviation is ``gpu_work_std_s``, and of all else that varies.
    allreduce_variation : float
        Coefficient of variation of the all-reduce payload.
    speed : array, shape (n_gpus,), optional
        Factor on the work of each GPU (2 is half as fast), node by node.
    n_recorded : int
        Events to keep for the timeline, from the start.
    """

    n_updates: int = 2000
    warmup: int = 100
    jitter: str = "gamma"
    allreduce_variation: float = 0.0
    speed: FloatArray | None = None
    n_recorded: int = 0


@dataclass(frozen=True, slots=True)
class _Room:
    """Array sizes: drawn iterations of a GPU, gradients in one buffer, largest staleness."""

    n_iterations: int
    n_buffered: int
    n_ages: int

    def enlarged(self, status: int) -> _Room:
        grow = {events.MORE_JITTER: (2, 1, 1), events.MORE_BUFFER: (1, 8, 1), events.MORE_STALENESS: (1, 1, 8)}[status]
        return _Room(self.n_iterations * grow[0], self.n_buffered * grow[1], self.n_ages * grow[2])


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """The arrays of one run; see :mod:`mlperf.systems.sprint.events`."""

    state: IntArray
    clock: FloatArray
    tree: IntArray
    counts: IntArray
    seconds: FloatArray
    work_s: FloatArray
    buffer: IntArray
    update: IntArray
    update_s: FloatArray
    staleness: IntArray
    fresh: IntArray
    log: FloatArray

    def finish(self) -> int:
        """Run to the end or until an array is full; the status."""
        events.run_events(*(getattr(self, name) for name in self.__slots__))
        return int(self.counts[events.STATUS])


def simulate_iterations(times: ComponentTimes, run: RunGrid, seed: int, plan: SimulationPlan | None = None) -> Simulation:
    """Run Algorithms 1 and 2 with their mutexes and barrier for one configuration.

    Parameters
    ----------
    times, run
        One configuration: shape () or one element.
    seed : int
        One generator per GPU for its work, one for start phases and all-reduces; same seed, same result.
    plan : SimulationPlan, optional

    Raises
    ------
    UsageError
        More than one configuration, a wrong plan, or a run so short that gradients in flight are more than 1 %.
    """
    plan = plan or SimulationPlan()
    _check_request(times, run, plan)
    room = _first_room(times, run, plan)
    while True:
        world = _new_run(times, run, seed, plan, room)
        status = world.finish()
        if status == events.DONE:
            return _simulation(world, run, plan)
        room = room.enlarged(status)


def _check_request(times: ComponentTimes, run: RunGrid, plan: SimulationPlan) -> None:
    if np.prod(np.broadcast_shapes(times.shape, run.shape)) != 1:
        shapes = f"times of shape {times.shape} and a run of shape {run.shape}"
        raise UsageError(f"got {shapes}, expected one configuration", hint="Simulate row by row: times.take([i]), run.take([i]).")
    if plan.jitter not in JITTERS:
        raise UsageError(f"got jitter {plan.jitter!r}, expected {' or '.join(JITTERS)}")
    if plan.speed is not None and np.shape(plan.speed) != (run.n_gpus.item(),):
        raise UsageError(f"got speed of shape {np.shape(plan.speed)}, expected one factor for each of {run.n_gpus.item()} GPUs")
    if plan.n_updates < 2 * N_BATCHES or plan.warmup < 1:
        raise UsageError(f"got n_updates = {plan.n_updates}, warmup = {plan.warmup}, expected at least {2 * N_BATCHES} and 1")


def _first_room(times: ComponentTimes, run: RunGrid, plan: SimulationPlan) -> _Room:
    ratio = solve_iterations(times, run, "second_moment").ratio.item()
    n_iterations = int(SPARE_ITERATIONS * ratio * (plan.warmup + plan.n_updates)) + 64
    return _Room(n_iterations, n_buffered=int(4 * ratio) + 16, n_ages=int(8 / ratio) + 32)


def _new_run(times: ComponentTimes, run: RunGrid, seed: int, plan: SimulationPlan, room: _Room) -> _Run:
    n_nodes, n_gpus = run.n_nodes.item(), run.n_gpus.item()
    *own, shared = (np.random.Generator(np.random.PCG64(child)) for child in np.random.SeedSequence(seed).spawn(n_gpus + 1))
    n_releases = plan.warmup + 1 + plan.n_updates
    n_leaves = 1 << (n_gpus + n_nodes - 1).bit_length()
    start_s = shared.uniform(0.0, 1.0, n_gpus) * times.gpu_work_s.item()
    fresh_run = _Run(
        state=_zeros(events.N_STATE_ROWS, n_leaves),
        clock=np.full((events.N_CLOCK_ROWS, n_leaves), float(events.NOBODY)),
        tree=_first_tree(n_leaves),
        counts=_zeros(events.N_COUNTS),
        seconds=_durations(times, plan.jitter, shared),
        work_s=_work(times, own, plan, room.n_iterations),
        buffer=_zeros(n_gpus, room.n_buffered),
        update=_zeros(events.N_UPDATE_ROWS, n_releases),
        update_s=np.zeros((events.N_UPDATE_TIMES, n_releases)),
        staleness=_zeros(room.n_ages),
        fresh=_zeros(run.n_gpus_per_node.item() + 1),
        log=np.zeros((plan.n_recorded, 4)),
    )
    for place, count in ((events.WARMUP, plan.warmup), (events.N_GPUS, n_gpus), (events.N_NODES, n_nodes)):
        fresh_run.counts[place] = count
    fresh_run.counts[events.GPUS_OF_NODE] = run.n_gpus_per_node.item()
    fresh_run.update_s[events.COMBINE_FACTOR] = _factors(shared, plan.jitter, plan.allreduce_variation, n_releases)
    _schedule_start(fresh_run, start_s, n_nodes)
    return fresh_run


def _schedule_start(world: _Run, start_s: FloatArray, n_nodes: int) -> None:
    world.state[events.FIRST] = events.NOBODY
    world.clock[events.NEXT_S] = np.inf
    starts = [(start_s.size + node, 0.0, events.UPDATE_START) for node in range(n_nodes)]
    starts += [(gpu, float(begin_s), events.GRADIENT_READY) for gpu, begin_s in enumerate(start_s)]
    for thread, at_s, kind in starts:
        events.schedule(world.state, world.clock, world.tree, world.counts, thread, at_s, kind)


def _first_tree(n_leaves: int) -> IntArray:
    """A tournament in which nobody has an event yet: the first leaf below each place wins."""
    tree = np.concatenate((_zeros(n_leaves), np.arange(n_leaves)))
    for place in range(n_leaves - 1, 0, -1):
        tree[place] = tree[2 * place]
    return tree


def _zeros(*shape: int) -> IntArray:
    return np.zeros(shape, dtype=np.int64)


def _work(times: ComponentTimes, streams: list[np.random.Generator], plan: SimulationPlan, size: int) -> FloatArray:
    """Drawn work of every GPU; a longer row begins with the shorter one."""
    work_s = times.gpu_work_s.item()
    variation = times.gpu_work_std_s.item() / work_s if work_s > 0.0 else 0.0
    speed = np.ones(len(streams)) if plan.speed is None else np.asarray(plan.speed, dtype=np.float64)
    drawn = np.empty((len(streams), size))
    for row, stream in enumerate(streams):
        drawn[row] = work_s * speed[row] * _factors(stream, plan.jitter, variation, size)
    return drawn


def _factors(rng: np.random.Generator, jitter: str, variation: float, size: int) -> FloatArray:
    """Random factors with mean 1 and this coefficient of variation."""
    if variation == 0.0:
        return np.ones(size)
    if jitter == "gamma":
        return rng.gamma(variation**-2, variation**2, size)
    spread = np.log1p(variation**2)
    return rng.lognormal(-0.5 * spread, np.sqrt(spread), size)


def _durations(times: ComponentTimes, jitter: str, rng: np.random.Generator) -> FloatArray:
    """Durations by what is done and, in columns, drawn occurrences; and the totals of the waits, at first 0."""
    before_s = times.update_old_weights_s.item() + times.add_momentum_s.item()
    after_s = times.update_momentum_s.item()
    work_std_s = times.spread_s("update_work").item()
    # Variances add up: each of the two parts gets its share of them by its length.
    own_s = max(before_s + after_s, np.finfo(float).tiny)
    kinds = {
        events.FETCH: (times.fetch_weights_s.item(), times.spread_s("fetch_weights").item()),
        events.DEPOSIT: (times.update_gradient_s.item(), times.spread_s("update_gradient").item()),
        events.SUM: (times.sum_gradient_s.item(), times.spread_s("sum_gradient").item()),
        events.PREPARE: (before_s, work_std_s * np.sqrt(before_s / own_s)),
        events.COMBINE: (times.allreduce_s.item(), 0.0),
        events.FINISH: (after_s, work_std_s * np.sqrt(after_s / own_s)),
        events.OVERWRITE: (times.update_weights_s.item(), times.spread_s("update_weights").item()),
    }
    varies = any(std_s > 0.0 for _, std_s in kinds.values())
    seconds = np.zeros((events.N_SECONDS, N_OCCURRENCES if varies else 1))
    for kind, (mean_s, std_s) in kinds.items():
        seconds[kind] = mean_s * _factors(rng, jitter, std_s / mean_s if mean_s > 0.0 else 0.0, seconds.shape[1])
    return seconds


def _simulation(world: _Run, run: RunGrid, plan: SimulationPlan) -> Simulation:
    n_updates, n_gpus, subbatch = plan.n_updates, run.n_gpus.item(), run.subbatch_size.item()
    update_s = np.diff(world.update_s[events.RELEASE_S, plan.warmup :])
    deposits = np.diff(world.update[events.DEPOSITS_SO_FAR, plan.warmup :])
    gradients, ages = world.update[events.GRADIENTS, plan.warmup + 1 :], world.update[events.AGE_SUM, plan.warmup + 1 :]
    n_deposits, ones, n_node_updates = int(deposits.sum()), np.ones(n_updates), n_updates * run.n_nodes.item()
    conservation = float(gradients.sum() / n_deposits - 1.0)
    _check_conservation(conservation, n_updates)
    return Simulation(
        gpu_iteration_s=float(update_s.sum()) * n_gpus / n_deposits,
        update_iteration_s=float(update_s.mean()),
        mean_minibatch_size=subbatch * float(gradients.mean()),
        mean_staleness=float(ages.sum() / gradients.sum()),
        gpu_iteration_std_err_s=_batch_error(update_s * n_gpus, deposits),
        update_iteration_std_err_s=_batch_error(update_s, ones),
        mean_minibatch_std_err=subbatch * _batch_error(gradients, ones),
        mean_staleness_std_err=_batch_error(ages, gradients),
        ready_probability=float(np.arange(world.fresh.size) @ world.fresh) / (n_updates * n_gpus),
        fetch_probability=float(world.counts[events.FETCHES]) / n_deposits,
        lock_weights_gpu_s=float(world.seconds[events.WEIGHTS_GPU, 0]) / n_deposits,
        lock_gradient_gpu_s=float(world.seconds[events.GRADIENT_GPU, 0]) / n_deposits,
        lock_gradient_update_s=float(world.seconds[events.GRADIENT_UPDATE, 0]) / n_node_updates,
        lock_weights_update_s=float(world.seconds[events.WEIGHTS_UPDATE, 0]) / n_node_updates,
        barrier_wait_s=float(world.seconds[events.BARRIER, 0]) / n_node_updates,
        conservation=conservation,
        n_updates=n_updates,
        n_gpu_iterations=n_deposits,
        minibatch=Distribution.from_counts(np.bincount(gradients), float(subbatch)),
        buffers=Distribution.from_counts(world.fresh),
        staleness=Distribution.from_counts(world.staleness),
        timeline=_timeline(world),
    )


def _check_conservation(conservation: float, n_updates: int) -> None:
    if abs(conservation) > LOST_SHARE:
        got = f"got {n_updates} updates in which {abs(conservation):.2%} of the gradients entered or left the buffers"
        raise UsageError(f"{got}, expected at most 1 %", hint="Simulate more updates.")


def _timeline(world: _Run) -> Timeline:
    n_logged = min(int(world.counts[events.EVENTS]), world.log.shape[0])
    combine_s = world.seconds[events.COMBINE, 0] * world.update_s[events.COMBINE_FACTOR]
    return timeline(EventLog(world.log[:n_logged], world.work_s.shape[0], combine_s))


def _batch_error(totals: FloatArray | IntArray, weights: FloatArray | IntArray) -> float:
    """Standard error of sum(totals) / sum(weights) from the ratios of consecutive batches."""
    parts = zip(np.array_split(totals, N_BATCHES), np.array_split(weights, N_BATCHES), strict=True)
    ratios = [float(total.sum()) / float(weight.sum()) for total, weight in parts if weight.sum() > 0]
    return float(np.std(ratios, ddof=1) / np.sqrt(len(ratios)))
