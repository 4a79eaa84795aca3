"""Rungs E4 and E5: two recorded jobs against the published what-ifs, read in place."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlperf.traces.ranks.jobs import TrainingJob, analyse_job

pytestmark = pytest.mark.data

FILES = {"st": "trace_st.csv", "ar": "trace_ar.csv.gz"}
WITHIN = 1e-3
"""Asked by the rung; an independent implementation of the rules reaches 2e-7."""
REACHED = 1e-6


class Reference:
    """One job: what we find, and what was published."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.job: TrainingJob = analyse_job(folder / FILES[name])
        self.told: dict[str, Any] = json.loads((folder / f"result_{name}.json").read_text(encoding="utf-8"))
        with (folder / "jobs.csv").open(encoding="utf-8") as stream:
            self.row = next(row for row in csv.DictReader(stream) if row["job"] == name)

    def steps(self, key: str) -> np.ndarray:
        return np.array([self.told[key][str(step)] for step in self.job.steps["step"]])

    def group(self, family: str, name: str, column: str) -> float:
        groups = self.job.groups
        return float(groups[(groups["family"] == family) & (groups["group"] == name)][column].iloc[0])


@pytest.fixture(scope="module", params=list(FILES))
def reference(request: pytest.FixtureRequest, shared_data: Path) -> Reference:
    return Reference(shared_data / "straggler_traces", request.param)


def test_gaps_kept_give_the_recorded_steps(reference: Reference) -> None:
    assert reference.job.replay_error <= 1e-4
    assert reference.job.steps["measured_s"].to_numpy() == pytest.approx(reference.steps("step_t_base"), rel=REACHED)


def test_every_reference_figure(reference: Reference) -> None:
    job, row = reference.job, reference.row
    assert job.steps["no_gaps_s"].to_numpy() == pytest.approx(reference.steps("step_t_nodelay"), rel=REACHED)
    assert job.ideal_s == pytest.approx(reference.steps("step_t_noblk")[0], rel=REACHED)
    assert job.slowdown == pytest.approx(reference.told["blocking_slowdown"], rel=REACHED)
    for step, slowdown in reference.told["blocking_step_slowdown"].items():
        assert float(job.steps.set_index("step")["slowdown"][int(step)]) == pytest.approx(slowdown, rel=REACHED)
    for family, key in (("dp_rank", "dp_rank"), ("stage", "stage"), ("operation", "optype")):
        for name, slowdown in reference.told[f"blocking_decompose_by_{key}"].items():
            assert reference.group(family, name, "slowdown_alone") == pytest.approx(slowdown, rel=REACHED)
    last = str(job.pipeline - 1)
    assert job.worst_fixed_s == pytest.approx(float(row["worst_worker_fixed_s"]), rel=REACHED)
    assert job.no_gaps_s - reference.group("stage", last, "saved_s") == pytest.approx(float(row["last_stage_fixed_s"]), rel=REACHED)
    assert job.worst_share_removed == pytest.approx(float(row["m_worker"]), rel=WITHIN)
    assert reference.group("stage", last, "share_removed") == pytest.approx(float(row["m_stage"]), rel=WITHIN)
    assert (job.data_parallel, job.pipeline) == (int(row["data_parallel"]), int(row["pipeline_parallel"]))


def test_the_culprit_is_named_and_always_the_same(reference: Reference) -> None:
    job = reference.job
    named = {"st": ("stage", "3"), "ar": ("worker", "(0, 0)")}
    assert (job.culprit_family, job.culprit) == named[reference.name]
    assert (job.pattern, job.share_of_steps) == ("always the same", 1.0)
    leaders = job.patterns.set_index("family")
    shares = {"st": {"stage": ("3", 1.0), "dp_rank": ("1", 0.78)}, "ar": {"stage": ("0", 1.0), "dp_rank": ("0", 1.0)}}
    for family, (leader, share) in shares[reference.name].items():
        assert leaders["leader"][family] == leader
        assert leaders["share_of_steps"][family] == pytest.approx(share, abs=0.005)


def test_steps_not_seen(reference: Reference) -> None:
    halves = reference.job.halves
    assert abs(halves.mean_error) <= 0.01
    assert 0.8 <= halves.coverage <= 1.0
    assert halves.ks < halves.ks_point
