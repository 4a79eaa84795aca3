"""A grid that is screened by cheaper equations ranks as one that is solved whole."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import mlperf
from mlperf.planning.systems import grid as grid_module
from mlperf.specs import JobSpec

pytestmark = pytest.mark.slow

JOB = JobSpec(dataset_size=60_000, subbatch_size=2, n_nodes=4)


@pytest.mark.parametrize(
    ("minibatch", "max_staleness"), [(None, None), ((24.0, 96.0), None), ((5000.0, 6000.0), None), (None, 1.2), (None, 0.5)]
)
def test_a_screened_grid_ranks_as_the_whole(
    minibatch: Any, max_staleness: float | None, small_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPRINT's cheaper equations say what is worth the dear ones; what is shown is solved by these."""
    sizes: dict[str, Any] = {"n_nodes": range(1, 13), "n_gpus_per_node": [1, 2, 4], "subbatch_size": [1, 2, 4, 8]}
    asked: dict[str, Any] = {"settings": {"n_servers": [1, 4]}, "minibatch": minibatch, "max_staleness": max_staleness, **sizes}
    monkeypatch.setattr(grid_module, "N_BEST", 15)
    machine = mlperf.MachineSpec("cluster", 12, 4, latency_s=1e-5, bandwidth_bytes_per_s=1e9)
    whole = mlperf.search_system(small_model, "sprint-server", "alexnet", machine, JOB, **asked)
    monkeypatch.setattr(grid_module, "MOST_EXACT", 10)
    solved: list[tuple[str, int]] = []
    solve = grid_module.SolvedGrid.solve
    monkeypatch.setattr(
        grid_module.SolvedGrid,
        "solve",
        lambda self, system, rows: (solved.append((system.inside.closed, len(rows))), solve(self, system, rows))[1],
    )
    screened = mlperf.search_system(small_model, "sprint-server", "alexnet", machine, JOB, **asked)
    assert solved[0] == ("second_moment", whole.n_configs)
    assert sum(rows for form, rows in solved if form == "phases") < whole.n_configs / 2
    shown = ["n_nodes", "n_gpus_per_node", "subbatch_size", "n_servers", "epoch_s", "mean_minibatch_size", "mean_staleness"]
    for table in ("best", "misses", "pareto"):
        pd.testing.assert_frame_equal(getattr(screened, table)[shown], getattr(whole, table)[shown])
