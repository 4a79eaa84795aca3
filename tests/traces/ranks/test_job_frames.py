"""Tables of a job: the numbers of their rows against replays and against each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.traces.ranks.job_frames import operations_frame
from mlperf.traces.ranks.job_sweep import single_savings
from mlperf.traces.ranks.job_times import job_times
from mlperf.traces.ranks.jobs import analyse_job

from .made_jobs import make_job
from .test_job_times import keys, laid_out


def test_the_operation_on_top_saves_most(tmp_path: Path) -> None:
    made = make_job(tmp_path, 4)
    grid, graph = laid_out(made)
    times = job_times(grid, graph)
    saved = single_savings(graph, times)
    top = operations_frame(grid, times, saved).iloc[0]
    best = int(saved.mean(axis=1).argmax())
    assert (top["dp_rank"], top["stage"], top["operation"], top["sequence"]) == keys(grid)[best]
    assert top["saved_s"] == pytest.approx(saved[best].mean() / 1e9)
    assert top["own_s"] == pytest.approx(np.mean([made.own[step][keys(grid)[best]] for step in made.own]) / 1e9)


def test_shares_and_steps_add_up(tmp_path: Path) -> None:
    job = analyse_job(make_job(tmp_path, 4, n_steps=5).path)
    for _, rows in job.groups.groupby("family"):
        assert rows["share_of_steps"].sum() <= 1.0 + 1e-12
    assert job.groups["saved_s"].is_monotonic_decreasing
    assert job.steps["measured_s"].mean() == pytest.approx(job.measured_s)
    assert job.steps["slowdown"].mean() == pytest.approx(job.slowdown)
    assert job.patterns["family"].tolist() == ["worker", "dp_rank", "stage", "operation"]
    assert job.dominoes.empty or job.dominoes["saved_s"].iloc[0] == job.dominoes["saved_s"].max()
