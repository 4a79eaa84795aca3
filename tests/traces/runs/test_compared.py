"""Comparisons with their notes."""

from __future__ import annotations

import shlex
import sys

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.traces.runs.compared import Question, compare_commands, compare_times
from mlperf.traces.runs.interleaved import RunPlan


def sleep(seconds: float) -> str:
    return shlex.join([sys.executable, "-c", f"import time; time.sleep({seconds})"])


@pytest.mark.slow
def test_a_command_that_takes_much_longer_is_slower() -> None:
    found = compare_commands(sleep(0.01), sleep(0.5), RunPlan(blocks=3, warm_up=0))
    assert found.verdict == "slower"
    assert found.is_decided
    assert found.ratio > 1.5
    assert found.summary["n"].tolist() == [6, 6]
    assert len(found.runs) == 12


def test_series() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(1.0, 0.02, 100), rng.normal(0.8, 0.02, 100)
    found = compare_times(a, b, names=("old", "new"))
    assert (found.verdict, found.a, found.b) == ("faster", "old", "new")
    assert found.ratio_low < 0.8 < found.ratio_high or found.ratio == pytest.approx(0.8, abs=0.01)
    assert found.more_blocks is None
    assert any("not measured in turns" in note for note in found.notes)
    same = compare_times(a, a[::-1].copy(), Question(margin=0.05))
    assert same.verdict == "no difference"


def test_neighbours_that_resemble_each_other_are_said() -> None:
    wave = 1 + 0.1 * np.sin(np.arange(30) / 4)
    found = compare_times(wave, wave + 0.01)
    assert any("resemble" in note for note in found.notes)


def test_few_values_beside_many_skewed_ones_are_said() -> None:
    rng = np.random.default_rng(3)
    many = rng.normal(1.0, 0.01, 200) + (rng.random(200) < 0.1) * rng.exponential(0.5, 200)
    few = rng.normal(1.0, 0.01, 4)
    assert any("4 values of A beside 200" in note for note in compare_times(few, many).notes)
    assert any("4 values of B beside 200" in note for note in compare_times(many, few).notes)
    for found in (
        compare_times(few, many, Question(statistic="median")),
        compare_times(few, rng.normal(1.0, 0.01, 200)),
        compare_times(many, many),
    ):
        assert not any("beside" in note and "scatter of all" in note for note in found.notes)


def test_too_few_values_for_an_interval_are_said() -> None:
    found = compare_times(np.array([1.0, 1.1, 1.2]), np.array([2.0, 2.1, 2.2]), Question(statistic="median"))
    assert found.verdict == "inconclusive"
    assert any("too few values for an interval of the median" in note for note in found.notes)


@pytest.mark.parametrize("settings", [{"statistic": "mode"}, {"margin": 1.0}, {"level": 0.0}])
def test_questions_that_mean_nothing(settings: dict) -> None:
    with pytest.raises(UsageError):
        Question(**settings)
