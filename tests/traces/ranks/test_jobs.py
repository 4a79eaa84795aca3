"""Jobs with a planted straggler: who is named, what the removal brings, what is told when nobody is to blame."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import UsageError
from mlperf.traces.ranks.jobs import TrainingJob, analyse_job

from .made_jobs import make_job
from .operation_tables import Operation, operations

pytestmark = pytest.mark.slow


def slowed(folder: Path, seed: int, worker: tuple[int, int] | None, stage: int | None = None, n_steps: int = 6) -> TrainingJob:
    shape = make_job(folder, seed, n_steps=1)
    slow: dict[Operation, int] = {}
    for d in range(shape.n_data):
        for s in range(shape.n_stages):
            if (d, s) == worker or s == stage:
                slow |= {
                    (d, s, *one): 20_000_000 for one in operations(s, shape.n_stages, shape.n_micro) if one[0].endswith("compute")
                }
    return analyse_job(make_job(folder, seed, n_steps, slow).path)


def n_data(folder: Path, seed: int) -> int:
    return make_job(folder, seed, n_steps=1).n_data


@pytest.mark.parametrize("seed", range(12))
def test_a_slow_worker_is_named(seed: int, tmp_path: Path) -> None:
    data = n_data(tmp_path, seed)
    if data == 1:
        job = slowed(tmp_path, seed, (0, 1))
        assert (job.culprit_family, job.culprit) == ("worker", "(0, 1)")
        return
    job = slowed(tmp_path, seed, (data - 1, 1))
    assert (job.culprit_family, job.culprit) == ("worker", f"({data - 1}, 1)")
    assert (job.pattern, job.share_of_steps) == ("always the same", 1.0)
    row = job.culprit_row
    assert row is not None
    assert row["share_removed"] > 0.8
    assert row["saved_lower_s"] <= row["saved_s"] <= row["saved_upper_s"]
    assert job.worst_workers == (job.culprit,)
    assert job.replay_error == 0.0


@pytest.mark.parametrize("seed", [2, 4, 7])
def test_a_slow_stage_is_named_where_no_worker_alone_is(seed: int, tmp_path: Path) -> None:
    job = slowed(tmp_path, seed, None, stage=0)
    if job.data_parallel > 1:
        assert (job.culprit_family, job.culprit) == ("stage", "0")


def test_assumptions_are_told_one_by_one_and_together(tmp_path: Path) -> None:
    path = make_job(tmp_path, 4).path
    job = analyse_job(path, assume=["time(stage=0)=typical", "gap()=0"])
    assert job.assumptions["assumption"].tolist() == ["time(stage=0)=typical", "gap()=0", "all together"]
    assert job.assumptions["step_s"].iloc[1] == pytest.approx(job.no_gaps_s)
    stage = job.groups[(job.groups["family"] == "stage") & (job.groups["group"] == "0")].iloc[0]
    assert job.assumptions["saved_s"].iloc[0] == pytest.approx(stage["saved_s"])
    with pytest.raises(UsageError):
        analyse_job(path, assume=["time(stage=9)=typical"])


def test_a_single_step_has_no_intervals(tmp_path: Path) -> None:
    job = analyse_job(make_job(tmp_path, 4, n_steps=1).path)
    assert job.forecast.n_steps == 1
    assert job.slowdown_lower != job.slowdown_lower
    assert job.to_dict()["slowdown_lower"] == "NaN"
