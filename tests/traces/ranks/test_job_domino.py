"""Domino paths of steps: each push is a real saving, by replay, and they never get worse along the path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.traces.ranks.job_domino import job_domino, last_of_exchange
from mlperf.traces.ranks.job_groups import operation_columns
from mlperf.traces.ranks.job_sweep import step_sweep
from mlperf.traces.ranks.job_times import job_times, replay

from .made_jobs import make_job
from .test_job_times import laid_out

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(12))
def test_pushing_a_domino_shortens_the_step_as_told(seed: int, tmp_path: Path) -> None:
    grid, graph = laid_out(make_job(tmp_path, seed, n_steps=1))
    times = job_times(grid, graph)
    swept = step_sweep(graph, times, 0)
    columns = operation_columns(grid)
    worker = columns["dp_rank"] * grid.pipeline + columns["stage"]
    found = job_domino(swept, worker)
    assert (np.diff(found.total_ns) <= 0).all()
    assert (found.total_ns < swept.total_ns).all()
    for operation, partner, wait, total in zip(found.operations, found.partners, found.wait_ns, found.total_ns, strict=True):
        assert graph.exchange[operation] == graph.exchange[partner]
        assert wait == swept.start_ns[partner] - swept.start_ns[operation] > 0
        gap = np.zeros_like(times.gap_ns)
        gap[partner] = -wait
        assert replay(graph, gap, times.own_ns)[0] == total
    # No single wait of the workers' exchanges brings more than the best one on the path's worker.
    if len(found.operations):
        last = last_of_exchange(graph, swept.start_ns)
        members = np.flatnonzero((graph.exchange >= 0) & (worker == worker[found.operations[-1]]))
        waits = swept.start_ns[last[graph.exchange[members]]] - swept.start_ns[members]
        members = members[(waits > 0) & (swept.start_ns[members] <= swept.start_ns[found.operations[-1]])]
        best = swept.moved(graph.start_node[last[graph.exchange[members]]], swept.start_ns[members]).min()
        assert best == found.total_ns[-1]
