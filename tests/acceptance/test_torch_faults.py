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


def test_every_limit_of_the_protocol_is_kept(found: TorchJudgement) -> None:
    missed = found.gates[~found.gates["met"].astype(bool)]
    assert missed.empty, missed.to_string()


def test_never_worse_than_traceml(found: TorchJudgement) -> None:
    assert (found.runs["ours"] >= found.runs["theirs"]).all(), found.runs.to_string()
