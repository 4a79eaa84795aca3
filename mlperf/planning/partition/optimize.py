"""The scalability optimizer: workers, replicas, servers and the plan of every layer with the least epoch time, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.planning.partition.programme import LayerStates, Path, cheapest_path, layer_states, least_costs
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.epoch import epoch_s, overlapped_staleness, sample_times
from mlperf.systems.model_parallel.layers import LayerTable
from mlperf.systems.model_parallel.server_exchange import ServerExchange, server_exchange

CLOSE = 1.0 + 1e-12
N_BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class Limits:
    """What a cluster has and a job allows.

    Attributes
    ----------
    machines : int
        Machines, M.
    cores : int, optional
        Threads a machine may run; by default as many as its constants tell.
    memory_bytes : float
        Of one worker, for parameters and outputs of all its segments.
    replicas : int, optional
        Largest number of replicas.
    minibatch : (float, float)
        Window of A B, samples of one round of all replicas.
    staleness : float
        Largest mean staleness 2 A - 1 of asynchronous replicas, updates.
    """

    machines: int
    cores: int | None = None
    memory_bytes: float = np.inf
    replicas: int | None = None
    minibatch: tuple[float, float] = (0.0, np.inf)
    staleness: float = np.inf

    def __post_init__(self) -> None:
        for name in ("machines", "cores", "replicas"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise DataError(f"got {value} {name}, expected at least 1", place="limits")


@dataclass(frozen=True, slots=True)
class PartitionJob:
    """What is trained: ``dataset_size`` samples an epoch in mini-batches of ``minibatch_size`` a replica, synchronous or not."""

    dataset_size: float
    minibatch_size: float
    synchronous: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Found(Shown):
    """One configuration: workers a replica, replicas, servers, the plan of each layer, and its times.

    ``gap`` is by how much another plan on so many workers might still be better, a fraction; 0: none is.
    """

    n_workers: int
    n_replicas: int
    n_servers: int
    stripes: tuple[int, ...]
    copies: tuple[int, ...]
    sample_s: float
    period_s: float
    epoch_s: float
    gap: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Optimum(Shown):
    """The best configuration with its certificate.

    Attributes
    ----------
    best : Found
        With the fewest workers and servers that reach the least epoch time.
    others : tuple of Found
        Further (n, A, S), each at its best plan to within its gap, by epoch time; those that bounds excluded are not among them.
    programmes : int
        Shortest paths worked out.
    states_kept : int
        Most states of a layer in one of them.
    gap : float
        By how much the optimum might still be better, a fraction; 0: exact.
    excluded : int
        Worker counts that bounds excluded.
    """

    best: Found
    others: tuple[Found, ...]
    programmes: int
    states_kept: int
    gap: float
    excluded: int


@dataclass(slots=True)
class _Search:
    """What is known while worker counts are tried."""

    table: LayerTable
    constants: Constants
    job: PartitionJob
    limits: Limits
    states: list[LayerStates]
    found: dict[tuple[int, int, int], Found] = field(default_factory=dict)
    paths: dict[int, Path] = field(default_factory=dict)
    programmes: int = 0
    states_kept: int = 0
    gap: float = 0.0
    shapes: int = 1

    @property
    def to_beat_s(self) -> float:
        """Epoch time that a further (n, A, S) must beat to be among those asked for; infinite until there are as many."""
        if len(self.found) < self.shapes:
            return np.inf
        return sorted(each.epoch_s for each in self.found.values())[self.shapes - 1]

    @property
    def best(self) -> Found | None:
        """The best so far; of equals the one with the fewest machines."""
        if not self.found:
            return None
        least = min(each.epoch_s for each in self.found.values())
        equal = [each for each in self.found.values() if each.epoch_s <= least * CLOSE]
        return min(equal, key=lambda each: (each.n_workers * each.n_replicas + each.n_servers, each.n_workers))


def optimise(table: LayerTable, constants: Constants, job: PartitionJob, limits: Limits, *, shapes: int = 1) -> Optimum:
    """The configuration with the least epoch time.

    For a number of workers the least tau is a shortest path; the replicas and servers do not enter it, so the best of every number
    of workers is the best of all. Numbers of workers are tried best bound first and dropped as soon as their bound exceeds what was
    found.

    Parameters
    ----------
    table : LayerTable
        Network.
    constants : Constants
        Machine.
    job : PartitionJob
        Samples, mini-batch, exchange.
    limits : Limits
        Machines and the rest.
    shapes : int
        How many of the best (n, A, S) must be among those found, each at its best plan; more need more shortest paths.

    Raises
    ------
    DataError
        Nothing is allowed: the memory holds no segment of a layer, or no number of replicas meets the window.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), section 5; the elimination and the treatment of replicas are ours.
    """
    cores = min(limits.cores or constants.n_cores, constants.n_cores)
    machine = with_cores(constants, cores)
    states = [
        layer_states(table, layer, limits.machines, job.minibatch_size, machine, limits.memory_bytes)
        for layer in range(table.n_layers)
    ]
    for layer, each in enumerate(states):
        if not len(each.stripes):
            place = f"network {table.name!r}, layer {table.layers[layer]!r}"
            raise DataError(f"no stripe of it fits {limits.memory_bytes:.3g} bytes on {limits.machines} machines", place=place)
    search = _Search(table, machine, job, limits, states, shapes=shapes)
    candidates = {n: replicas_of(n, job, limits) for n in worker_counts(limits, every=shapes > 1)}
    candidates = {n: counts for n, counts in candidates.items() if len(counts)}
    if not candidates:
        low, high = limits.minibatch
        asked = [f"a mini-batch of {low:g} to {high:g} samples"] if np.isfinite(high) or low > 0.0 else []
        asked += [f"a staleness of at most {limits.staleness:g} updates"] if np.isfinite(limits.staleness) else []
        hint = f"A replicas of {job.minibatch_size:g} samples have A times as many, and a staleness of 2 A - 1."
        got = f"no number of replicas on {limits.machines} machines keeps {' and '.join(asked)}"
        raise DataError(got, place="limits", hint=hint)
    least = least_costs(states, limits.machines)
    bounds = {n: float(least[n - 1]) for n in candidates}
    excluded = _best_first(search, candidates, bounds)
    best = search.best
    if best is None:
        raise DataError(
            f"no plan fits {limits.memory_bytes:.3g} bytes a worker on {limits.machines} machines",
            place=f"network {table.name!r}",
            hint="More machines, or more memory.",
        )
    rest = sorted((each for each in search.found.values() if each is not best), key=lambda each: each.epoch_s)
    return Optimum(best, tuple(rest), search.programmes, search.states_kept, search.gap, excluded)


def with_cores(constants: Constants, cores: int) -> Constants:
    """The machine with fewer threads."""
    return replace(constants, interference=constants.interference[:cores], latency_s=constants.latency_s[:cores])


def worker_counts(limits: Limits, *, every: bool = False) -> list[int]:
    """Numbers of workers a replica worth trying: all machines for one replica, at most half of them for several.

    With ``every`` those of one replica between half and all machines, too: never the best, but among the next.
    """
    several = range(1, limits.machines if every else (limits.machines - 1) // 2 + 1)
    return sorted({*several, limits.machines})


def replicas_of(n_workers: int, job: PartitionJob, limits: Limits) -> IntArray:
    """Numbers of replicas of so many workers that the machines and the limits allow; two or more need a server."""
    most = max((limits.machines - 1) // n_workers, 1)
    counts = np.arange(1, min(most, limits.replicas or most) + 1)
    low, high = limits.minibatch
    held = (counts * job.minibatch_size >= low) & (counts * job.minibatch_size <= high)
    if not job.synchronous:
        held &= overlapped_staleness(counts, counts - 1) <= limits.staleness
    return counts[held]


def exchanges_of(n_workers: int, replicas: IntArray, search: _Search) -> ServerExchange:
    """The exchange for each number of replicas, all further machines being servers."""
    servers = np.where(replicas == 1, 0, search.limits.machines - replicas * n_workers)
    return server_exchange(search.table.all_params, float(n_workers), replicas, servers, search.constants)


def epochs_of(sample_s: float, n_workers: int, replicas: IntArray, search: _Search) -> tuple[FloatArray, FloatArray]:
    """Period and epoch for each number of replicas, all further machines being servers."""
    exchange, job = exchanges_of(n_workers, replicas, search), search.job
    period = exchange.period_s(np.asarray(job.minibatch_size * sample_s), synchronous=job.synchronous)
    return period, epoch_s(period, replicas.astype(np.float64), job.minibatch_size, job.dataset_size)


def fewest_servers(sample_s: float, n_workers: int, n_replicas: int, period: float, search: _Search) -> int:
    """The fewest servers with the same period."""
    if n_replicas == 1:
        return 0
    servers = np.arange(1, search.limits.machines - n_replicas * n_workers + 1)
    exchange = server_exchange(search.table.all_params, float(n_workers), float(n_replicas), servers, search.constants)
    compute_s = np.asarray(search.job.minibatch_size * sample_s)
    same = exchange.period_s(compute_s, synchronous=search.job.synchronous) <= period * CLOSE
    return int(servers[np.argmax(same)])


def _best_first(search: _Search, candidates: Mapping[int, IntArray], bounds: dict[int, float]) -> int:
    """Try numbers of workers, the most promising first; returns how many were never tried."""
    left = dict(candidates)
    while left:
        promise = {n: float(epochs_of(bounds[n], n, counts, search)[1].min()) for n, counts in left.items()}
        # Of equals the fewest workers where one plan is asked for; else the most, which bound all that are fewer.
        n_workers = min(promise, key=lambda n: (promise[n], n if search.shapes == 1 else -n))
        if promise[n_workers] >= search.to_beat_s:
            break
        counts = left.pop(n_workers)
        limit = _useful_tau(search, n_workers, counts)
        path = _solve(search, n_workers, limit)
        reached = path.sample_s if path is not None else np.inf if np.isfinite(search.limits.memory_bytes) else limit
        if path is not None:
            search.paths[n_workers] = path
            _record(search, path, n_workers, counts)
            # A plan that leaves workers idle is the cheapest of every number down to those that it uses.
            for n in range(n_used(path), n_workers):
                if n in left:
                    _record(search, path, n, left.pop(n))
        # tau cannot rise with more workers: fewer cannot do better than this.
        for n in left:
            if n < n_workers:
                bounds[n] = max(bounds[n], reached)
    return len(left)


def _useful_tau(search: _Search, n_workers: int, counts: IntArray) -> float:
    """The largest tau that is of use: of a known plan on so many workers, or one that would beat those asked for."""
    known = min(_known_taus(search, n_workers))
    to_beat = search.to_beat_s
    if not np.isfinite(to_beat) or np.isfinite(search.limits.memory_bytes):
        return float(known)
    _, at_zero = epochs_of(0.0, n_workers, counts, search)
    periods = np.asarray(to_beat * counts * search.job.minibatch_size / search.job.dataset_size, dtype=np.float64)
    room = exchanges_of(n_workers, counts, search).most_compute_s(periods, synchronous=search.job.synchronous)
    useful = np.where(at_zero < to_beat, room / search.job.minibatch_size, 0.0)
    return float(min(known, useful.max()))


def _known_taus(search: _Search, n_workers: int) -> Iterator[float]:
    """Tau of plans that treat every layer alike, and of what fewer workers leave of the cheapest plan on the next more."""
    rows = search.table.rows
    plans = [
        ([1] * len(rows), [1] * len(rows)),
        ([min(n_workers, int(each)) for each in rows], [1] * len(rows)),
        ([1] * len(rows), [n_workers] * len(rows)),
    ]
    more = min((n for n in search.paths if n > n_workers), default=0)
    if more:
        stripes = [min(each, n_workers) for each in search.paths[more].stripes]
        copies = [min(r, n_workers // p) for p, r in zip(stripes, search.paths[more].copies, strict=True)]
        plans.append((stripes, copies))
    for stripes, copies in plans:
        yield sample_times(search.table, search.constants, stripes, copies, search.job.minibatch_size).sample_s * (1.0 + 1e-9)


def _solve(search: _Search, n_workers: int, limit: float) -> Path | None:
    """The cheapest plan that fits the memory; with the dual bound as gap where the limit binds."""
    path = _path(search, n_workers, limit)
    memory = search.limits.memory_bytes
    if path is None and np.isfinite(memory):
        # The known plan that gave the limit need not fit.
        path = _path(search, n_workers, np.inf)
    if path is None or not np.isfinite(memory) or held_bytes(search, path) <= memory:
        return path
    bound, low, high = path.bound_s, 0.0, path.sample_s / memory
    fitting: Path | None = None
    bracketed = False
    for _ in range(2 * N_BISECTIONS):
        charge = 0.5 * (low + high) if bracketed else high
        charged = _path(search, n_workers, np.inf, charge)
        if charged is None:
            return None
        held = held_bytes(search, charged)
        bound = max(bound, charged.bound_s - charge * memory)
        if held <= memory:
            high, bracketed, true = charge, True, charged.sample_s - charge * held
            if fitting is None or true < fitting.sample_s:
                fitting = Path(true, charged.stripes, charged.copies, charged.states_kept, true)
        else:
            low, high = charge, high if bracketed else 4.0 * high
        if bracketed and high - low <= 1e-9 * high:
            break
    if fitting is None:
        return None
    search.gap = max(search.gap, fitting.sample_s / bound - 1.0)
    return replace(fitting, bound_s=bound)


def _path(search: _Search, n_workers: int, limit: float, charge_s: float = 0.0) -> Path | None:
    search.programmes += 1
    path = cheapest_path(search.table, search.states, n_workers, search.constants, limit, charge_s)
    if path is not None:
        search.states_kept = max(search.states_kept, *path.states_kept)
        if charge_s == 0.0:
            search.gap = max(search.gap, path.sample_s / path.bound_s - 1.0)
    return path


def n_used(path: Path) -> int:
    """Workers that a plan uses: the most that any layer is spread over."""
    return max(stripes * copies for stripes, copies in zip(path.stripes, path.copies, strict=True))


def held_bytes(search: _Search, path: Path) -> float:
    """What a worker holds of all layers."""
    total = 0.0
    for states, stripes, copies in zip(search.states, path.stripes, path.copies, strict=True):
        at = int(np.flatnonzero((states.stripes == stripes) & (states.copies == copies))[0])
        total += float(states.segment_bytes[at])
    return total


def _record(search: _Search, path: Path, n_workers: int, counts: IntArray) -> None:
    """The best numbers of replicas for a plan, a few of them for the table of runners-up."""
    periods, epochs = epochs_of(path.sample_s, n_workers, counts, search)
    used = n_used(path)
    for at in np.argsort(epochs, kind="stable")[: max(3, search.shapes)]:
        replicas, period = int(counts[at]), float(periods[at])
        # A single replica may leave machines unused; several share them with the servers as they were counted.
        own = used if replicas == 1 else n_workers
        servers = fewest_servers(path.sample_s, n_workers, replicas, period, search)
        gap = max(path.sample_s / path.bound_s - 1.0, 0.0)
        found = Found(own, replicas, servers, path.stripes, path.copies, path.sample_s, period, float(epochs[at]), gap)
        search.found.setdefault((own, replicas, servers), found)
