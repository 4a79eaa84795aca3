"""The sweep over single operations against one replay each, integer for integer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.traces.ranks.job_sweep import single_savings, step_sweep
from mlperf.traces.ranks.job_times import job_times, replay

from .made_jobs import make_job
from .test_job_times import laid_out

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(10))
def test_every_operation_made_typical(seed: int, tmp_path: Path) -> None:
    grid, graph = laid_out(make_job(tmp_path, seed, n_steps=2))
    times = job_times(grid, graph)
    saved = single_savings(graph, times)
    n_all = graph.n_operations
    for step in range(2):
        lanes = np.repeat(times.own_ns[:, step : step + 1], n_all, axis=1)
        np.fill_diagonal(lanes, times.typical_ns)
        zero = np.zeros_like(lanes)
        total = replay(graph, zero[:, :1], times.own_ns[:, step : step + 1])[0]
        assert (total - replay(graph, zero, lanes) == saved[:, step]).all()


def test_moving_a_start_is_moving_its_gap(tmp_path: Path) -> None:
    grid, graph = laid_out(make_job(tmp_path, 2, n_steps=1))
    times = job_times(grid, graph)
    swept = step_sweep(graph, times, 0)
    own, gap = times.own_ns, np.zeros_like(times.own_ns)
    for operation in range(0, graph.n_operations, 7):
        for shift in (-500_000, 300_000):
            moved = gap.copy()
            moved[operation] = shift
            told = swept.moved(graph.start_node[[operation]], swept.start_ns[[operation]] + shift)
            assert told[0] == replay(graph, moved, own)[0]
