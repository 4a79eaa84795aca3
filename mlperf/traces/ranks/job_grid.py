"""Operations of a job laid out as steps x data-parallel ranks x operations of one data-parallel rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.traces.ranks.operations import OPERATION_KINDS
from mlperf.traces.readers.operations import Operations

DEGREES_HINT = "Say them (--data-parallel, --pipeline), or give the table the columns dp_rank and stage."
SAME_HINT = "The rules take one step for all: give the steps of one setting, and one recorded rank for each dp_rank and stage."


@dataclass(frozen=True, slots=True, eq=False)
class JobGrid:
    """Every operation of every whole step.

    Attributes
    ----------
    steps : array of int64, shape (n_steps,)
        Numbers of the steps, rising.
    data_parallel, pipeline : int
        Degrees.
    stage, operation, sequence : array of int64, shape (n_slots,)
        The operations of one data-parallel rank in one step: stage, number into `names`, place among those of its name.
    start_ns, duration_ns : array of int64, shape (n_steps, data_parallel, n_slots)
        Nanoseconds from the start of the step.
    rank : array of int64, shape (data_parallel, pipeline)
        Global ranks.
    names : tuple of str
        Names of operations.
    notes : tuple of str
        Steps that were left out, and why.
    """

    steps: IntArray
    data_parallel: int
    pipeline: int
    stage: IntArray
    operation: IntArray
    sequence: IntArray
    start_ns: IntArray
    duration_ns: IntArray
    rank: IntArray
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    place: str = ""

    @property
    def n_slots(self) -> int:
        """Operations of one data-parallel rank in one step."""
        return len(self.stage)

    @property
    def end_ns(self) -> IntArray:
        """Ends, shape (n_steps, data_parallel, n_slots)."""
        return self.start_ns + self.duration_ns

    def number(self, name: str) -> int:
        """The number of an operation's name; -1 where no operation is called so."""
        return self.names.index(name) if name in self.names else -1


def job_grid(table: Operations, data_parallel: int | None = None, pipeline: int | None = None) -> JobGrid:
    """Lay a table of operations out.

    Parameters
    ----------
    table : Operations
        As read.
    data_parallel, pipeline : int, optional
        Degrees; by default those of the columns ``dp_rank`` and ``stage``. Where the table has no such columns, ranks are taken
        in the usual order: tensor-parallel ranks next to each other, then data-parallel ones, then stages.

    Raises
    ------
    UsageError
        The table says other degrees, or none are known.
    DataError
        An operation that the rules do not know; two operations of one place; a rank with two places; no step is whole.
    """
    _check_names(table)
    dp_rank, stage, notes = _places(table, data_parallel, pipeline)
    n_data, n_stages = int(dp_rank.max()) + 1, int(stage.max()) + 1
    rank = _ranks(table, dp_rank, stage, n_data, n_stages)
    steps, step = np.unique(table.step, return_inverse=True)
    sizes = (len(steps), n_data, n_stages, len(table.names), int(table.sequence.max()) + 1)
    _check_size(table, sizes)
    slot_size = sizes[2] * sizes[3] * sizes[4]
    slot = (stage * sizes[3] + table.operation) * sizes[4] + table.sequence
    order = np.argsort((step * n_data + dp_rank) * slot_size + slot, kind="stable")
    lane, slot = (step * n_data + dp_rank)[order], slot[order]
    _check_distinct(table, lane, slot, order)
    slots = slot[lane == 0]
    whole = _whole_steps(lane, slot, slots, len(steps), n_data)
    kept = np.repeat(whole, np.bincount(lane // n_data, minlength=len(steps)))
    if not whole.any() or not len(slots):
        raise DataError(
            f"got {len(steps)} steps, none of which has its operations on every rank", place=str(table.path), hint=SAME_HINT
        )
    shape = (int(whole.sum()), n_data, len(slots))
    return JobGrid(
        steps=steps[whole],
        data_parallel=n_data,
        pipeline=n_stages,
        stage=slots // (sizes[3] * sizes[4]),
        operation=slots // sizes[4] % sizes[3],
        sequence=slots % sizes[4],
        start_ns=table.start_ns[order][kept].reshape(shape),
        duration_ns=table.duration_ns[order][kept].reshape(shape),
        rank=rank,
        names=table.names,
        notes=(*table.notes, *notes, *_left_out(steps, whole)),
        place=str(table.path),
    )


def _check_names(table: Operations) -> None:
    """DataError: an operation of a name that the rules do not know."""
    for number, name in enumerate(table.names):
        if name not in OPERATION_KINDS:
            line = int(np.argmax(table.operation == number)) + 2
            raise DataError(
                f"got {name!r}, expected one of {', '.join(OPERATION_KINDS)}",
                place=f"{table.path}, line {line}, column operation",
                hint=nearest_hint(name, OPERATION_KINDS) or "Its place in the step is not known: rename it, or leave its rows out.",
            )


def _places(table: Operations, data_parallel: int | None, pipeline: int | None) -> tuple[IntArray, IntArray, tuple[str, ...]]:
    """Data-parallel rank and stage of every operation, and a note where they are assumed."""
    if table.dp_rank is not None and table.stage is not None:
        for said, found, name in ((data_parallel, table.dp_rank, "data-parallel"), (pipeline, table.stage, "pipeline")):
            if said is not None and said != int(found.max()) + 1:
                raise UsageError(f"got a {name} degree of {said}, but {table.path} has {int(found.max()) + 1}", hint=DEGREES_HINT)
        return table.dp_rank, table.stage, ()
    if data_parallel is None or pipeline is None:
        raise UsageError(f"the degrees of {table.path} are not known: it has no columns dp_rank and stage", hint=DEGREES_HINT)
    ranks = np.unique(table.rank)
    if len(ranks) != data_parallel * pipeline:
        raise UsageError(
            f"got {data_parallel} x {pipeline} data-parallel ranks and stages, but {table.path} has {len(ranks)} ranks",
            hint="One rank is recorded for each of them; of tensor-parallel ranks the first.",
        )
    place = np.searchsorted(ranks, table.rank)
    note = "The table names no stages: ranks are taken as stage by stage, data-parallel ranks next to each other."
    return place % data_parallel, place // data_parallel, (note,)


def _ranks(table: Operations, dp_rank: IntArray, stage: IntArray, n_data: int, n_stages: int) -> IntArray:
    """The global rank of each (dp_rank, stage); DataError: one place has two ranks, or none."""
    if n_data * n_stages > len(table):
        raise DataError(
            f"got {n_data} x {n_stages} data-parallel ranks and stages, but {len(table)} operations",
            place=str(table.path),
            hint="dp_rank and stage count from 0: is one of them a number of another kind?",
        )
    place = dp_rank * n_stages + stage
    found = np.full(n_data * n_stages, -1, dtype=np.int64)
    found[place] = table.rank
    wrong = found[place] != table.rank
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"got ranks {table.rank[row]} and {found[place[row]]} for dp_rank {dp_rank[row]} and stage {stage[row]}",
            place=f"{table.path}, line {row + 2}, column rank",
            hint="Leave one recorded rank for each: of tensor-parallel ranks the first.",
        )
    if (found < 0).any():
        empty = int(np.argmax(found < 0))
        raise DataError(
            f"has no rows of dp_rank {empty // n_stages} and stage {empty % n_stages}", place=str(table.path), hint=SAME_HINT
        )
    return found.reshape(n_data, n_stages)


def _check_size(table: Operations, sizes: tuple[int, ...]) -> None:
    """DataError: numbers of operations so large that most of the places between are empty."""
    if np.prod([float(size) for size in sizes]) > 2.0**62:
        raise DataError("sequence numbers are far larger than the number of operations", place=f"{table.path}, column sequence")


def _check_distinct(table: Operations, lane: IntArray, slot: IntArray, order: IntArray) -> None:
    """DataError: two rows of one place."""
    twice = (lane[1:] == lane[:-1]) & (slot[1:] == slot[:-1])
    if twice.any():
        at = int(np.argmax(twice))
        first, second = sorted((int(order[at]), int(order[at + 1])))
        raise DataError(
            f"is the same operation of the same rank and step as line {first + 2}",
            place=f"{table.path}, line {second + 2}, column sequence",
            hint="sequence counts 0, 1, ... among the operations of one name, rank and step.",
        )


def _whole_steps(
    lane: IntArray, slot: IntArray, slots: IntArray, n_steps: int, n_data: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Steps in which every data-parallel rank has exactly the operations that the first has in the first step."""
    count = np.bincount(lane, minlength=n_steps * n_data)
    first = np.cumsum(count) - count
    place = np.arange(len(lane)) - first[lane]
    same = (
        (count[lane] == len(slots)) & (slots[np.minimum(place, len(slots) - 1)] == slot)
        if len(slots)
        else np.zeros(len(lane), bool)
    )
    fits = np.bincount(lane, weights=same, minlength=n_steps * n_data) == len(slots)
    return np.asarray(fits.reshape(n_steps, n_data).all(axis=1))


def _left_out(steps: IntArray, whole: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[str, ...]:
    """A note on the steps that are not whole."""
    out = steps[~whole]
    if not len(out):
        return ()
    named = ", ".join(str(step) for step in out[:5].tolist()) + (", ..." if len(out) > 5 else "")
    return (f"{len(out)} of {len(steps)} steps are left out, whose operations are not those of the first step: {named}.",)
