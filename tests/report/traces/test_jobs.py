"""What is told of a training job, and what its figure shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.report.traces.jobs import job_answer, job_figure, job_sections
from mlperf.traces.ranks.jobs import TrainingJob, analyse_job

HEADER = "step,rank,dp_rank,stage,operation,sequence,start_s,duration_s\n"


def slow_worker(folder: Path, factor: float, n_steps: int = 8) -> TrainingJob:
    """Two data-parallel ranks, one stage: computation, then a reduction that waits for the slower."""
    rows = []
    for step in range(n_steps):
        times = (1.0, factor * (1.0 + 0.01 * (step % 2)))
        for rank, own in enumerate(times):
            rows.append(f"{step},{rank},{rank},0,forward-compute,0,0.0,{own}")
            rows.append(f"{step},{rank},{rank},0,grads-reduce-scatter,0,{own},{max(times) + 0.1 - own:.9f}")
    path = folder / "job.csv"
    path.write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")
    return analyse_job(path, assume=["time(dp_rank=1)=x0.5"])


def test_the_answer_names_the_straggler_and_what_it_costs(tmp_path: Path) -> None:
    job = slow_worker(tmp_path, 3.0)
    text = job_answer(job).text()
    # Mean computation (1 + 3.015) / 2 = 2.0075 s: 1.009 s less than the slow one's.
    assert "worker (1, 0) is the straggler, always the same (the latest in 100.0 % of the steps)" in text
    assert "without it 1.01 s a step" in text
    assert "a step is 1.478 x as long" in text


def test_nobody_is_named_where_all_are_alike(tmp_path: Path) -> None:
    assert "no group of operations brings half of it" in job_answer(slow_worker(tmp_path, 1.0)).text()


def test_sections_hold_groups_assumptions_and_notes(tmp_path: Path) -> None:
    sections = {section.title: section for section in job_sections(slow_worker(tmp_path, 3.0))}
    frame = sections["What the assumptions bring"].frame
    assert frame is not None
    assert frame["saved_s"].iloc[0] == pytest.approx(3.015 / 2, rel=1e-3)
    assert "at most 0.00 %" in sections[""].text
    assert "mean of computations, median of transfers" in sections[""].text


def test_the_figure_has_a_point_a_step(tmp_path: Path) -> None:
    (axes,) = job_figure(slow_worker(tmp_path, 3.0)).axes
    assert axes.get_ylabel() == "step time (s)"
    measured, no_gaps, _ = axes.lines
    assert len(measured.get_xdata()) == 8
    assert list(measured.get_ydata()) == pytest.approx([3.1, 3.13] * 4)
    assert list(no_gaps.get_ydata()) == pytest.approx([3.1, 3.13] * 4)
