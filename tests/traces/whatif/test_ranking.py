"""The ranking of all single changes, each replayed on its own."""

from __future__ import annotations

import numpy as np
import pytest
from message_programs import Run, protocol_timing, random_program, recorded
from stepped_programs import binary_swap, myrinet

from mlperf.traces.events.kinds import Kind
from mlperf.traces.replay import Replay, replay
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


def posting(seed: int) -> Replay:
    """A random program with messages that are posted and waited for."""
    program = random_program(seed)
    return replay(recorded(program, Run(program))[0], protocol_timing())


@pytest.mark.parametrize("seed", range(4))
def test_changes_of_posted_messages_can_be_assumed_and_the_longest_wait_is_one(seed: int) -> None:
    run = posting(seed)
    swept = sweep(run)
    for row in single_changes(swept).itertuples():
        if row.change.startswith("wait"):
            assert edited(run, [read_edit(row.change, run.timing)]).total_ns * 1e-9 == pytest.approx(row.time_s, rel=1e-15)
    assert run.waits.zero_call[longest_wait(run)] >= 0


def test_a_wait_waits_for_the_partners_of_what_it_completes() -> None:
    """Removing the wait of a WAIT is removing those of its messages, and its place is told what the best of these saves."""
    n_saving = 0
    for seed in range(6):
        run = posting(seed)
        posted, done = run.program.messages.posted()
        number = run.program.calls.event[done]
        first = np.searchsorted(run.program.calls.event_rank, np.arange(run.program.n_ranks))
        for event in np.unique(number[run.waits.wait_ns[posted] > 0]).tolist():
            rank = int(run.program.calls.event_rank[event])
            assert run.program.table.kind[run.program.calls.rows[event]] == Kind.WAIT
            waiting = [one for one in posted[number == event].tolist() if run.waits.wait_ns[one] > 0]
            whole, *parts = ([f"wait({rank}:{one - first[rank]})=0"] for one in (event, *waiting))
            together = [read_edit(text, run.timing) for (text,) in parts]
            alone = edited(run, [read_edit(whole[0], run.timing)])
            assert alone.total_ns == edited(run, together).total_ns
            n_saving += alone.total_ns < run.total_ns
    assert n_saving > 3
