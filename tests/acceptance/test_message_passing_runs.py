"""The runs of the message-passing protocol that are kept: every prediction is made anew from the stored traces and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.studies.message_passing.judgement import MessageJudgement, judge_messages
from mlperf.studies.message_passing.protocol import read_message_protocol

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def found() -> MessageJudgement:
    protocol = read_message_protocol(TESTS / "acceptance" / "message_passing.toml")
    return judge_messages(protocol, TESTS / "reference" / "message_passing")


def test_every_limit_of_the_protocol_is_kept(found: MessageJudgement) -> None:
    missed = found.gates[~found.gates["met"].astype(bool)]
    assert not len(missed), missed.to_string()


def test_bounds_of_the_registration_have_the_papers_eight_rows(found: MessageJudgement) -> None:
    """No wait is the least of any single assumption; the edits leave less to gain by it than there was."""
    rows = found.bounds.set_index("assumptions")
    assert len(rows) == 8
    assert rows.loc["A1 & A2 & A3", "first"] == rows["first"].min()
    gain = rows.loc["as measured"] - rows.loc["A1"]
    assert gain["edited"] < gain["first"] / 2
    assert rows.loc["A2", "first"] > rows.loc["as measured", "first"]
