"""How other numbers of loader workers are shown."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from mlperf.planning.advice.loading import Loading
from mlperf.planning.advice.workers import WorkerPlan
from mlperf.report.text.views import result_answer, result_figure, result_text

LOADING = Loading(1, 1, 2, 0.04, 0.0, 0.12, 0.0, 0.12, 0.03, 0.01, 0.05, 0.05)


@pytest.fixture
def found() -> WorkerPlan:
    """One worker, and two or three on one core or two."""
    rows = [
        {
            "n_cores": cores, "n_workers": workers, "step_s": 0.12 / workers, "step_lower_s": 0.11 / workers,
            "step_upper_s": 0.13 / workers, "steps_per_s": workers / 0.12, "samples_per_s": 64 * workers / 0.12,
            "lost_share": 0.5, "lost_devices": 4.0, "bound": "workers", "as_recorded": (cores, workers) == (2, 1),
        }
        for cores in (1, 2)
        for workers in (1, 2, 3)
    ]  # fmt: skip
    return WorkerPlan("run", 0.12, LOADING, 8, pd.DataFrame(rows), 3, ("a note",))


def test_the_answer_tells_what_is_lost_and_who_keeps_up(found: WorkerPlan) -> None:
    assert result_answer(found) == (
        "run: steps of 120 ms with 1 worker a rank: 66.7 % lost to the input, 5.3 of 8 devices; "
        "3 workers would keep up, if the cores allow"
    )
    alone = replace(found, loading=replace(LOADING, n_workers=0))
    assert "input by the training thread" in result_answer(alone)


def test_the_table_marks_what_was_recorded(found: WorkerPlan) -> None:
    shown = result_text(found)
    assert sum("recorded" in line for line in shown.splitlines()) == 1
    assert "A worker's batch: 120 ms, 30.0 ms of it computing." in shown
    assert "A note." in shown


def test_the_figure_has_a_line_for_each_number_of_cores(found: WorkerPlan) -> None:
    axes = result_figure(found).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["input always ready", "1 core", "2 cores"]
    ceiling = next(line for line in axes.lines if line.get_label() == "input always ready")
    assert ceiling.get_ydata()[0] == pytest.approx(64 / 0.04)
    assert axes.get_ylabel() == "samples a second"
