"""Own times, gaps and replays of made-up jobs against a plain recursion by the rules as written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.traces.ranks.job_graph import JobGraph, job_graph
from mlperf.traces.ranks.job_grid import JobGrid, job_grid
from mlperf.traces.ranks.job_times import CLOCK_SLACK_NS, job_times, replay
from mlperf.traces.readers.operations import read_operations

from .made_jobs import MadeJob, make_job
from .operation_tables import Operation, last_end, typical

pytestmark = pytest.mark.slow


def keys(grid: JobGrid) -> list[Operation]:
    """The operations of a step in the graph's order."""
    return [
        (d, int(grid.stage[slot]), grid.names[grid.operation[slot]], int(grid.sequence[slot]))
        for d in range(grid.data_parallel)
        for slot in range(grid.n_slots)
    ]


def laid_out(made: MadeJob) -> tuple[JobGrid, JobGraph]:
    grid = job_grid(read_operations(made.path))
    return grid, job_graph(grid)


@pytest.mark.parametrize("seed", range(25))
def test_waiting_is_taken_out_exactly(seed: int, tmp_path: Path) -> None:
    made = make_job(tmp_path, seed)
    grid, graph = laid_out(made)
    times = job_times(grid, graph)
    assert times.n_clamped == 0
    for at, step in enumerate(grid.steps.tolist()):
        assert times.own_ns[:, at].tolist() == [made.own[step][one] for one in keys(grid)]
        assert times.gap_ns[:, at].tolist() == [made.gap[step][one] for one in keys(grid)]
    told = typical(made.own)
    assert times.typical_ns == pytest.approx([told[one[2]] for one in keys(grid)], abs=0.5)
    assert (replay(graph, times.gap_ns, times.own_ns) == times.measured_ns).all()


@pytest.mark.parametrize("seed", range(25))
def test_replays_are_those_of_the_recursion(seed: int, tmp_path: Path) -> None:
    made = make_job(tmp_path, seed, n_steps=1)
    grid, graph = laid_out(made)
    times = job_times(grid, graph)
    rng = np.random.default_rng(seed)
    own = {one: int(value * rng.uniform(0, 3)) for one, value in made.own[10].items()}
    lane = np.array([[own[one]] for one in keys(grid)])
    assert replay(graph, np.zeros_like(lane), lane)[0] == last_end(made.replayed(10, own))
    assert replay(graph, times.gap_ns, lane)[0] == last_end(made.replayed(10, own, gaps=True))


def test_a_transfer_long_before_its_last_member_is_counted_as_none(tmp_path: Path) -> None:
    made = make_job(tmp_path, 1, n_steps=1)
    lines = made.path.read_text(encoding="utf-8").splitlines()
    at = next(index for index, line in enumerate(lines) if ",forward-recv,0," in line)
    cells = lines[at].split(",")
    # It ends when it starts, long before the send.
    lines[at] = ",".join([*cells[:-2], "0.0", "0.0"])
    send = next(index for index, line in enumerate(lines) if f",{cells[2]},{int(cells[3]) - 1},forward-send,0," in line)
    start = float(lines[send].split(",")[-2]) + 2 * CLOCK_SLACK_NS / 1e9
    lines[send] = ",".join([*lines[send].split(",")[:-2], f"{start:.9f}", "0.001"])
    made.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    grid, graph = laid_out(made)
    times = job_times(grid, graph)
    assert times.n_clamped == 1
    assert times.own_ns[keys(grid).index((int(cells[2]), int(cells[3]), "forward-recv", 0)), 0] == 0
