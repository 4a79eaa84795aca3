"""Advice in words and tables."""

from __future__ import annotations

from collections.abc import Callable

from made_recordings import MS, Made

from mlperf.planning.advice.advise import advise
from mlperf.report.recordings.advice import advice_answer, advice_sections


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
