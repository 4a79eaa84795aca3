"""Groups of operations that a slowdown is laid to: workers, data-parallel ranks, stages, types of operation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.ranks.job_grid import JobGrid
from mlperf.traces.ranks.operations import OPERATION_KINDS

WORKER, DATA, STAGE, TYPE = "worker", "dp_rank", "stage", "operation"
FAMILIES = (WORKER, DATA, STAGE, TYPE)
"""Ways to divide the operations, the smallest groups first."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of operations; within a family every operation is in one of them.

    Attributes
    ----------
    family, name : tuple of str, length n_groups
        ``"worker"`` and ``"(0, 3)"``: data-parallel rank and stage; ``"dp_rank"``, ``"stage"``, ``"operation"``.
    members : array of bool, shape (n_groups, n_operations)
        Operations of a step in each.
    """

    family: tuple[str, ...]
    name: tuple[str, ...]
    members: BoolArray

    def of(self, family: str) -> IntArray:
        """Numbers of the groups of one family."""
        return np.array([number for number, one in enumerate(self.family) if one == family], dtype=np.int64)

    def words(self, number: int) -> str:
        """A group in words: ``"stage 3"``."""
        return f"{self.family[number]} {self.name[number]}"


def operation_columns(grid: JobGrid) -> dict[str, IntArray]:
    """``dp_rank``, ``stage``, ``operation`` (number of the name) and ``sequence`` of every operation, shape (n_operations,)."""
    return {
        DATA: np.repeat(np.arange(grid.data_parallel), grid.n_slots),
        STAGE: np.tile(grid.stage, grid.data_parallel),
        TYPE: np.tile(grid.operation, grid.data_parallel),
        "sequence": np.tile(grid.sequence, grid.data_parallel),
    }


def groups_of(grid: JobGrid) -> Groups:
    """Every worker (dp_rank, stage), data-parallel rank, stage and type of operation of a job."""
    columns = operation_columns(grid)
    family: list[str] = []
    name: list[str] = []
    members: list[BoolArray] = []
    for dp_rank in range(grid.data_parallel):
        for stage in range(grid.pipeline):
            members.append((columns[DATA] == dp_rank) & (columns[STAGE] == stage))
            family.append(WORKER)
            name.append(f"({dp_rank}, {stage})")
    for key, count in ((DATA, grid.data_parallel), (STAGE, grid.pipeline)):
        for number in range(count):
            members.append(columns[key] == number)
            family.append(key)
            name.append(str(number))
    types = [OPERATION_KINDS[each].type for each in grid.names]
    for each in dict.fromkeys(types):
        numbers = [number for number, other in enumerate(types) if other == each]
        members.append(np.isin(columns[TYPE], numbers))
        family.append(TYPE)
        name.append(each)
    return Groups(tuple(family), tuple(name), np.array(members))
