"""What people read about what-ifs."""

from __future__ import annotations

import pytest
from message_programs import protocol_timing
from replayed_programs import head_to_head
from stepped_programs import BALANCED, binary_swap, myrinet

from mlperf.core.shown import Shown
from mlperf.report.text.views import result_sections
from mlperf.report.traces.what_ifs import (
    NEVER_ENDS,
    assumed_answer,
    balance_answer,
    balance_sections,
    domino_answer,
    domino_sections,
    ranking_answer,
    saved_text,
    validation_answer,
    validation_text,
)
from mlperf.traces.events.kinds import Kind
from mlperf.traces.replay import replay
from mlperf.traces.whatif.assumed import assume
from mlperf.traces.whatif.balance import rank_steps
from mlperf.traces.whatif.dominoes import find_dominoes
from mlperf.traces.whatif.grammar import read_edit
from mlperf.traces.whatif.load import load_run, validation_of
from mlperf.traces.whatif.ranking import rank_changes


def test_savings_in_words() -> None:
    assert saved_text(10e-3, 9e-3) == "1.00 ms less (10.0 %)"
    assert saved_text(10e-3, 12e-3) == "2.00 ms MORE (20.0 %)"
    assert saved_text(1.0, 1.0) == "no change"


def test_answers_name_the_change_and_what_it_saves() -> None:
    run = replay(binary_swap(), myrinet())
    assert "saves most: " in ranking_answer(rank_changes(run)).text()
    assert "push wait(" in domino_answer(find_dominoes(run)).text()
    assert "balancing step 1 of PRGN saves most" in balance_answer(rank_steps(run)).text()
    assert "would take" in assumed_answer(assume(run, [read_edit("compute()*2", run.timing)])).text()
    assert "MORE" in assumed_answer(assume(run, [read_edit("compute()*2", run.timing)])).text()


def test_nothing_to_gain_is_an_answer() -> None:
    run = replay(binary_swap(BALANCED), myrinet())
    assert "no wait, if removed, shortens the run" in domino_answer(find_dominoes(run)).text()


def test_the_validation_block_says_what_a_prediction_rests_on() -> None:
    """A trace as recorded, and one whose network is named."""
    told = validation_text(validation_of(load_run(binary_swap())))
    assert "exactly as recorded" in told
    assert "network as observed" in told
    assert "100.0 % of the time without waits is the recording's own" in told
    assert "L 9.11 us" in validation_text(validation_of(load_run(binary_swap(), "perwiz-myrinet")))
    assert "replayed in" in validation_answer(validation_of(load_run(binary_swap()))).text()


def test_the_warning_about_sigma_appears_where_it_holds() -> None:
    """The last step's computation is least even, but nobody waits for it any more than without."""
    text = " ".join(section.text for section in balance_sections(rank_steps(replay(binary_swap(), myrinet()))))
    assert "Every step balanced" in text
    assert "largest sigma is not" not in text


def test_a_balance_that_never_ends_is_told() -> None:
    run = replay(head_to_head((0, 9000, 2, Kind.SEND, 3, 9000), (0, 9500, 3, Kind.RECV, 2, 9000)), protocol_timing())
    found = rank_steps(run)
    assert balance_answer(found).text().endswith(NEVER_ENDS)
    text = " ".join(section.text for section in balance_sections(found))
    assert text.count(NEVER_ENDS) == 2


@pytest.mark.parametrize("width", [60, 100])
def test_every_result_has_sections(width: int) -> None:
    run = replay(binary_swap(), myrinet())
    results: list[Shown] = [rank_changes(run), find_dominoes(run), rank_steps(run), validation_of(run)]
    for result in results:
        assert result_sections(result), width
    assert any("longest wait" in section.text for section in domino_sections(find_dominoes(run)))
