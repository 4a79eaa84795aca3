"""PyTorch runs with planted faults: what is kept of them, judged by the limits fixed before them, TraceML beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.studies.torch_faults.judgement import TorchJudgement, judge_torch_faults
from mlperf.studies.torch_faults.protocol import read_torch_protocol

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def found() -> TorchJudgement:
    protocol = read_torch_protocol(TESTS / "acceptance" / "torch_faults.toml")
    return judge_torch_faults(protocol, TESTS / "reference" / "torch_faults")


MISSED: set[str] = set()
WORSE: set[str] = set()
"""Of the latest runs; what is kept at last leaves the lists."""


def test_exactly_the_limits_are_missed_that_are_said_to_be(found: TorchJudgement) -> None:
    assert set(found.gates.loc[~found.gates["met"].astype(bool), "gate"]) == MISSED


def test_nowhere_else_worse_than_traceml(found: TorchJudgement) -> None:
    assert set(found.runs.loc[found.runs["ours"] < found.runs["theirs"], "run"]) == WORSE, found.runs.to_string()
