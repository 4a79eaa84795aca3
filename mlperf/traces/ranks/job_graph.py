"""Which operation of a step waits for which: the rules of a job as nodes and edges."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.errors import DataError
from mlperf.traces.graph.dag import Cycle, Dag, build_dag
from mlperf.traces.ranks.job_grid import JobGrid
from mlperf.traces.ranks.operations import ALL_GATHER, BACKWARD, CHAINS, FORWARD, OPERATION_KINDS, TAIL

Edges = list[tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class JobGraph:
    """One step of a job; the same graph serves all steps.

    Operation i is slot ``i % n_slots`` of data-parallel rank ``i // n_slots``. Node i of the builder is its start, node
    ``n_operations + i`` its end, node ``2 * n_operations + x`` the moment when the last member of exchange x has come; the last
    node is the start of the step, which those operations follow that nothing else precedes.

    Attributes
    ----------
    dag : Dag
        Nodes in topological order; weights are zero, since they differ from step to step.
    n_operations : int
        Of all data-parallel ranks in one step.
    before, after : array of int64, shape (n_orders,)
        Operations of which the second starts after the end of the first, by the second.
    exchange : array of int64, shape (n_operations,)
        The exchange that each operation is part of; -1 for computations.
    n_exchanges : int
        Of one step.
    """

    dag: Dag
    n_operations: int
    before: IntArray
    after: IntArray
    exchange: IntArray
    n_exchanges: int

    @property
    def start_node(self) -> IntArray:
        """Places in the graph where operations start, shape (n_operations,)."""
        return self.dag.place[: self.n_operations]

    @property
    def end_node(self) -> IntArray:
        """Places in the graph where operations end, shape (n_operations,)."""
        return self.dag.place[self.n_operations : 2 * self.n_operations]


def job_graph(grid: JobGrid) -> JobGraph:
    """Rebuild the dependencies of a job's step from its operations' names, by fixed rules.

    Computations of a rank run in the order of their starts on the first data-parallel rank in the first step; a receive precedes
    its computation and follows the one before, a send follows its computation; the rest is in `operations`.

    Raises
    ------
    DataError
        The operations wait for each other in a circle.

    References
    ----------
    The rules are those of StragglerAnalysis (Lin et al., OSDI 2025).
    """
    pairs = [pair for stage in range(grid.pipeline) for pair in _orders_of_stage(grid, stage)]
    n_slots, n_all = grid.n_slots, grid.n_slots * grid.data_parallel
    ranks = np.arange(grid.data_parallel)[:, None] * n_slots
    orders = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    before, after = (ranks + orders[:, 0]).ravel(), (ranks + orders[:, 1]).ravel()
    by_after = np.argsort(after, kind="stable")
    before, after = before[by_after], after[by_after]
    exchange, n_exchanges = exchanges(grid)
    starts, ends = np.arange(n_all), np.arange(n_all) + n_all
    shared = exchange >= 0
    meeting = 2 * n_all + exchange[shared]
    step_start = 2 * n_all + n_exchanges
    firsts = np.setdiff1d(starts, after)
    tail = np.concatenate((np.full_like(firsts, step_start), ends[before], starts[~shared], starts[shared], meeting))
    head = np.concatenate((firsts, after, ends[~shared], meeting, ends[shared]))
    try:
        dag = build_dag(step_start + 1, tail, head, np.zeros(len(tail), dtype=np.int64))
    except Cycle as circle:
        raise _circle_error(grid, circle.nodes, n_all) from None
    return JobGraph(dag, n_all, before, after, exchange, n_exchanges)


def _orders_of_stage(grid: JobGrid, stage: int) -> Edges:
    """Pairs of slots of one stage of which the second follows the first."""
    slots = np.flatnonzero(grid.stage == stage)
    by_name = {name: slots[grid.operation[slots] == number] for number, name in enumerate(grid.names)}
    of = {name: by_name.get(name, np.empty(0, dtype=np.int64)).tolist() for name in OPERATION_KINDS}
    starts = grid.start_ns[0, 0]
    computations = sorted((*of[FORWARD], *of[BACKWARD]), key=lambda slot: (starts[slot], slot))
    pairs = _chained(computations)
    for names in CHAINS:
        pairs += _chained([slot for name in names for slot in of[name]])
    for kind, direction in ((FORWARD, "forward"), (BACKWARD, "backward")):
        pairs += _around(of[kind], of[f"{direction}-recv"], of[f"{direction}-send"])
    pairs += _warm_up(computations, of[FORWARD], of[BACKWARD], (of["backward-recv"][:1], of["backward-send"][:1]))
    tail = [slot for name in TAIL for slot in of[name]]
    pairs += [(slot, of[FORWARD][0]) for slot in of[ALL_GATHER][-1:] if of[FORWARD]]
    pairs += [(slot, tail[0]) for slot in computations[-1:] if tail]
    return pairs


def _chained(slots: list[int]) -> Edges:
    """Each after the one before."""
    return list(pairwise(slots))


def _around(computations: list[int], receives: list[int], sends: list[int]) -> Edges:
    """Receive k before computation k and after computation k - 1, send k after computation k."""
    return [
        *zip(receives, computations, strict=False),
        *zip(computations, receives[1:], strict=False),
        *zip(computations, sends, strict=False),
    ]


def _warm_up(computations: list[int], forward: list[int], backward: list[int], firsts: tuple[list[int], ...]) -> Edges:
    """The first exchange of gradients after the second last forward computation before the first backward one."""
    if not backward:
        return []
    ahead = [slot for slot in computations[: computations.index(backward[0])] if slot in forward]
    return [(ahead[-2], slot) for slots in firsts for slot in slots] if len(ahead) > 1 else []


def exchanges(grid: JobGrid) -> tuple[IntArray, int]:
    """The exchange of every operation of a step, shape (data_parallel * n_slots,), -1 for computations; and how many there are."""
    kinds = [OPERATION_KINDS[name] for name in grid.names]
    types = {name: number for number, name in enumerate(dict.fromkeys(kind.type for kind in kinds))}
    kind_of = [kinds[number] for number in grid.operation.tolist()]
    keys = np.full((grid.data_parallel, grid.n_slots, 4), -1, dtype=np.int64)
    keys[:, :, 0] = [types[kind.type] for kind in kind_of]
    keys[:, :, 3] = grid.sequence
    by_rank = np.array([kind.members in ("pair", "ends") for kind in kind_of])
    keys[:, by_rank, 1] = np.arange(grid.data_parallel)[:, None]
    by_stage = np.array([kind.members in ("pair", "data") for kind in kind_of])
    # An exchange between stages is called by its sender's.
    back = [kind.towards if kind.name.endswith("recv") else 0 for kind in kind_of]
    keys[:, by_stage, 2] = (grid.stage - np.array(back))[by_stage]
    shared = np.tile([kind.is_exchange for kind in kind_of], grid.data_parallel)
    found = np.full(len(shared), -1, dtype=np.int64)
    distinct, found[shared] = np.unique(keys.reshape(-1, 4)[shared], axis=0, return_inverse=True)
    return found, len(distinct)


def operation_names(grid: JobGrid, operations: IntArray) -> list[str]:
    """Operations in words: ``"forward-send 3 of dp_rank 0, stage 1"``."""
    slot, dp_rank = operations % grid.n_slots, operations // grid.n_slots
    return [
        f"{grid.names[grid.operation[at]]} {grid.sequence[at]} of dp_rank {rank}, stage {grid.stage[at]}"
        for at, rank in zip(slot.tolist(), dp_rank.tolist(), strict=True)
    ]


def _circle_error(grid: JobGrid, nodes: IntArray, n_all: int) -> DataError:
    """The error for operations that wait for each other."""
    inside: BoolArray = nodes < 2 * n_all
    operations = np.unique(nodes[inside] % n_all)
    named = "; ".join(operation_names(grid, operations[:6]))
    return DataError(
        f"operations wait for each other in a circle: {named}",
        place=f"{grid.place}, step {grid.steps[0]}",
        hint="The order of computations is that of the first step on dp_rank 0: is it one of this schedule?",
    )
