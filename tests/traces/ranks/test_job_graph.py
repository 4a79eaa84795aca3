"""Orders and exchanges of made-up jobs against the rules as written; circles are told in the job's words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.ranks.job_graph import job_graph, operation_names
from mlperf.traces.ranks.job_grid import job_grid
from mlperf.traces.readers.operations import read_operations

from .made_jobs import make_job
from .operation_tables import Operation, before, members
from .test_job_times import keys, laid_out

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(12))
def test_each_operation_follows_and_meets_whom_the_rules_say(seed: int, tmp_path: Path) -> None:
    made = make_job(tmp_path, seed, n_steps=1)
    grid, graph = laid_out(made)
    names = keys(grid)
    found: dict[Operation, set[Operation]] = {one: set() for one in names}
    for first, second in zip(graph.before.tolist(), graph.after.tolist(), strict=True):
        found[names[second]].add(names[first])
    for at, one in enumerate(names):
        d, s, name, k = one
        assert found[one] == {(d, s, *each) for each in before(s, made.n_stages, made.n_micro, name, k)}
        together = members(one, made.n_data, made.n_stages)
        if graph.exchange[at] < 0:
            assert together == [one]
        else:
            assert sorted(names[i] for i in np.flatnonzero(graph.exchange == graph.exchange[at])) == sorted(together)


def test_a_circle_is_named(tmp_path: Path) -> None:
    made = make_job(tmp_path, 4, n_steps=1)
    rows = made.path.read_text(encoding="utf-8").splitlines()
    # On the first stage the first backward computation is said to run before anything else.
    for at, row in enumerate(rows):
        cells = row.split(",")
        if cells[2:6] == ["0", "0", "backward-compute", "0"]:
            rows[at] = ",".join([*cells[:7], "-5.0", cells[8]])
    made.path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"\.csv, step 10: operations wait for each other in a circle: .*compute 0 of dp_rank 0, stage"
    ):
        job_graph(job_grid(read_operations(made.path)))


def test_names_of_operations(tmp_path: Path) -> None:
    grid, graph = laid_out(make_job(tmp_path, 4, n_steps=1))
    at = keys(grid).index((grid.data_parallel - 1, 1, "forward-send", 1))
    assert operation_names(grid, graph.before[:0]) == []
    assert operation_names(grid, np.array([at])) == [f"forward-send 1 of dp_rank {grid.data_parallel - 1}, stage 1"]
