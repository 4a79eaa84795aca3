"""Assumptions alone and together."""

from __future__ import annotations

import pytest
from stepped_programs import binary_swap, myrinet

from mlperf.traces.replay import replay
from mlperf.traces.whatif.assumed import TOGETHER, assume
from mlperf.traces.whatif.combine import edited
from mlperf.traces.whatif.grammar import read_edit


def test_each_alone_and_all_together() -> None:
    run = replay(binary_swap(), myrinet())
    edits = [read_edit(text, run.timing) for text in ("balance(step=1)", "latency=1us")]
    found = assume(run, edits)
    assert found.assumptions["assumption"].tolist() == ["balance(step=1)", "latency=1us", TOGETHER]
    assert found.assumptions["label"].tolist() == ["A4(1)", "", "A4(1)"]
    expected = [edited(run, [edit]).total_ns for edit in edits] + [edited(run, edits).total_ns]
    assert (found.assumptions["time_s"] * 1e9).tolist() == pytest.approx(expected)
    assert found.saved_s == pytest.approx((run.total_ns - expected[-1]) * 1e-9)
    assert found.ranks["after_s"].max() == pytest.approx(found.time_s)


def test_one_assumption_is_one_row() -> None:
    run = replay(binary_swap(), myrinet())
    assert len(assume(run, [read_edit("compute()=0", run.timing)]).assumptions) == 1
