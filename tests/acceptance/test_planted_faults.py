"""The runs with planted faults that are kept, judged by the limits that were fixed before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.studies.planted_faults.judgement import FaultJudgement, judge_faults
from mlperf.studies.planted_faults.protocol import read_fault_protocol

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def found() -> FaultJudgement:
    protocol = read_fault_protocol(TESTS / "acceptance" / "planted_faults.toml")
    return judge_faults(protocol, TESTS / "reference" / "planted_faults")


def test_every_limit_of_the_protocol_is_kept(found: FaultJudgement) -> None:
    missed = found.gates[~found.gates["met"].astype(bool)]
    assert not len(missed), missed.to_string()


def test_all_runs_were_made(found: FaultJudgement) -> None:
    assert found.not_run == ()


def test_every_fault_is_the_first_hint_every_time(found: FaultJudgement) -> None:
    assert (found.faults["named_first"] == found.faults["n"]).all(), found.faults.to_string()
