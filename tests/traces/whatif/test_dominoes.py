"""The first domino to push, the longest wait beside it."""

from __future__ import annotations

import pytest
from message_programs import protocol_timing
from stepped_programs import BALANCED, binary_swap, myrinet

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.replay import replay
from mlperf.traces.whatif.combine import edited
from mlperf.traces.whatif.dominoes import find_dominoes
from mlperf.traces.whatif.grammar import read_edit
from mlperf.traces.whatif.sweep import sweep


def test_the_best_path_beats_or_equals_every_single_wait() -> None:
    run = replay(binary_swap(), myrinet())
    found = find_dominoes(run)
    assert found.best_s == pytest.approx(sweep(run).wait_zero_ns.min() * 1e-9)
    for row in found.paths.itertuples():
        assert edited(run, [read_edit(row.change, run.timing)]).total_ns * 1e-9 == pytest.approx(row.time_s)
    again = edited(run, [read_edit(found.longest_wait, run.timing)]).total_ns
    assert found.longest_wait_saved_s == pytest.approx((run.total_ns - again) * 1e-9)


def test_the_longest_wait_need_not_be_the_one() -> None:
    """Rank 1 waits 920 for rank 3, and nobody for either; rank 2 waits 10 for rank 0, and computes on to the end."""
    table = event_table(
        5,
        start_ns=[900, 0, 950, 940, 1000],
        duration_ns=[20, 920, 20, 40, 500],
        rank=[3, 1, 0, 2, 2],
        kind=[Kind.SEND, Kind.RECV, Kind.SEND, Kind.RECV, Kind.COMPUTE],
        peer=[1, 3, 2, 0, -1],
        size_bytes=[5, 5, 5, 5, 0],
        match=[1, 0, 3, 2, -1],
    )
    found = find_dominoes(replay(table, protocol_timing(eager_times="measured")))
    assert found.longest_wait == "wait(1:0)=0"
    assert found.longest_wait_saved_s == 0.0
    assert found.paths["change"].tolist() == ["wait(2:0)=0"]
    assert found.best_s < found.time_s


def test_a_run_without_waits_has_no_dominoes() -> None:
    found = find_dominoes(replay(binary_swap(BALANCED), myrinet()))
    assert (found.n_paths, len(found.paths), found.best_s) == (0, 0, found.time_s)
