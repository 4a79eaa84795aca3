"""The ranking of all single changes, each replayed on its own."""

from __future__ import annotations

import pytest
from stepped_programs import binary_swap, myrinet

from mlperf.traces.replay import replay
from mlperf.traces.whatif.combine import edited
from mlperf.traces.whatif.grammar import read_edit
from mlperf.traces.whatif.ranking import longest_wait, rank_changes, single_changes
from mlperf.traces.whatif.sweep import sweep


def test_every_change_says_what_its_assumption_brings() -> None:
    """The text of each row, given back as --assume, gives the row's time."""
    run = replay(binary_swap(), myrinet())
    frame = single_changes(sweep(run))
    assert len(frame) > 80
    for row in frame.itertuples():
        assert edited(run, [read_edit(row.change, run.timing)]).total_ns * 1e-9 == pytest.approx(row.time_s, rel=1e-15), row.change


def test_the_best_come_first_and_save_something() -> None:
    found = rank_changes(replay(binary_swap(), myrinet()), top=5)
    saved = found.changes["saved_s"].tolist()
    assert saved == sorted(saved, reverse=True)
    assert len(saved) == 5
    assert min(saved) > 0
    assert found.n_saving <= found.n_what_ifs
    assert found.places["n_events"].tolist() == [48]
    assert found.places["most_saved_s"][0] == pytest.approx(saved[0])


def test_the_longest_wait_is_the_longest() -> None:
    run = replay(binary_swap(), myrinet())
    assert run.waits.wait_ns[longest_wait(run)] == run.waits.wait_ns.max()
