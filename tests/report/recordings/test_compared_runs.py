"""Comparisons in words and pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mlperf.report.recordings.compared_runs import compared_answer, compared_figure, compared_sections
from mlperf.traces.runs.compared import Question, compare_times

RNG = np.random.default_rng(8)
A = RNG.normal(1.0, 0.01, 80)


@pytest.mark.parametrize(
    ("b", "question", "words"),
    [
        (A * 0.7, Question(), "B is faster: B / A 0.7"),
        (A * 1.5, Question(), "B is slower"),
        (A[::-1], Question(margin=0.05), "no difference beyond 5"),
        (A[::-1], Question(margin=0.0), "inconclusive"),
        (A * 1.5, Question(higher_is_better=True, is_time=False), "B is better"),
    ],
)
def test_the_first_line(b: np.ndarray, question: Question, words: str) -> None:
    assert words in str(compared_answer(compare_times(A, b.copy(), question)))


def test_tables_notes_and_every_value() -> None:
    found = compare_times(A, A * 0.7)
    programs, notes, runs = compared_sections(found)
    assert len(programs.frame) == 2
    assert "not measured in turns" in notes.text
    assert len(runs.frame) == 160
    (axes,) = compared_figure(found).axes
    assert axes.get_ylabel() == "time (ms)"
    shown = np.concatenate([line.get_ydata() for line in axes.lines])
    np.testing.assert_allclose(np.sort(shown), np.sort(found.runs["value"].dropna()) * 1e3)


def test_hollow_runs_are_explained_where_there_are_some() -> None:
    found = compare_times(A, A * 0.7)
    names = compared_figure(found).axes[0].get_legend_handles_labels()[1]
    assert names == ["A", "B"]
    runs = found.runs.assign(use=["warm-up", *["compared"] * (len(found.runs) - 1)])
    names = compared_figure(replace(found, runs=runs)).axes[0].get_legend_handles_labels()[1]
    assert names == ["A", "B", "without a say (warm-up, failed)"]


def test_the_ratio_of_medians_stands_beside_medians() -> None:
    disturbed = np.array([1.0, 1.01, 1.02, 1.03, 9.0])
    told = compared_answer(compare_times(disturbed, disturbed, Question(statistic="median"))).found
    assert told.endswith("1.02 s and 1.02 s; longer runs or, better, commands run in turns would decide")
