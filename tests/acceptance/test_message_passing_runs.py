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
