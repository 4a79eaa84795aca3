"""Bars and arrows of a run."""

from __future__ import annotations

import pytest
from stepped_programs import N_RANKS, binary_swap, myrinet

from mlperf.traces.replay import replay
from mlperf.traces.whatif import timeline
from mlperf.traces.whatif.grammar import read_edit
from mlperf.traces.whatif.timeline import run_timeline


def test_bars_are_waits_and_what_follows_them() -> None:
    """24 calls; the time in bars is the time in calls."""
    run = replay(binary_swap(), myrinet())
    found = run_timeline(run)
    length = (found.bars["end_s"] - found.bars["begin_s"]).sum()
    assert length == pytest.approx((run.end_ns - run.start_ns).sum() * 1e-9)
    waits = found.bars[found.bars["what"] == "wait"]
    assert (waits["end_s"] - waits["begin_s"]).sum() == pytest.approx(run.waits.call_ns.sum() * 1e-9)
    assert len(found.arrows) == 24
    assert (found.n_ranks, found.n_hidden, found.assumed) == (N_RANKS, 0, None)


def test_the_run_after_the_changes_stands_beside() -> None:
    run = replay(binary_swap(), myrinet())
    found = run_timeline(run, [read_edit("balance(step=1)", run.timing)])
    assert found.bars.groupby("run")["end_s"].max()["after"] < found.bars.groupby("run")["end_s"].max()["before"]
    assert found.assumed is not None
    assert found.dominoes["number"].tolist()[0] == 1


def test_the_shortest_calls_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_BARS", 20)
    run = replay(binary_swap(), myrinet())
    found = run_timeline(run)
    assert found.n_hidden == 14
    kept = found.bars["end_s"] - found.bars["begin_s"]
    assert kept.sum() >= sorted((run.end_ns - run.start_ns).tolist())[-10] * 1e-9
