"""Advice, and plans of loader workers, in words and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest
from made_recordings import MS, Made

from mlperf.planning.advice.advise import advise
from mlperf.planning.advice.loading import Loading
from mlperf.planning.advice.workers import WorkerPlan
from mlperf.report.recordings.advice import advice_answer, advice_sections
from mlperf.report.text.views import result_answer, result_figure, result_text


def test_the_first_hint_and_what_it_brings(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(12):
        at = maker.marks(at, {"load": 40 * MS, "forward": 60 * MS})
    found = advise(maker.recording())
    told = str(advice_answer(found))
    assert "11 steps of 100 ms" in told
    assert "input (load)" in told
    assert "40" in told
    table, words, looked = advice_sections(found)
    assert table.frame["cause"].tolist() == ["input"]
    assert words.text.startswith("1. input: a step spends 40% of its time in load")
    assert "To do:" in words.text
    assert looked.is_detail


def test_a_clean_run_and_one_that_tells_too_little(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(12):
        at = maker.marks(at, {"forward": 60 * MS})
    assert "nothing found" in str(advice_answer(advise(maker.recording())))
    few, at = made(), 0
    for _ in range(4):
        at = few.marks(at, {"load": 40 * MS, "forward": 60 * MS})
    found = advise(few.recording())
    assert "nothing that can be told for sure" in str(advice_answer(found))
    assert "Inconclusive: 3 steps are too few." in advice_sections(found)[1].text


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
    one, two = (bars.lines[0] for bars in axes.containers)
    assert (one.get_linestyle(), two.get_linestyle()) == ("-", "--"), "curves that lie on one another both show"
    assert one.get_markersize() > two.get_markersize()
    table = found.plan.set_index(["n_cores", "n_workers"])["samples_per_s"]
    for bars, cores in ((one, 1), (two, 2)):
        assert bars.get_ydata() == pytest.approx(table[cores].to_numpy()), "the curve shows what the table says"
