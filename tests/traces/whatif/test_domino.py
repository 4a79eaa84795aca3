"""Domino paths against the recursion of the paper, replaying every question, and against the design's example."""

from __future__ import annotations

import numpy as np
import pytest
from message_programs import Edits, MadeProgram, Run, protocol_timing, random_program, recorded
from replayed_programs import MESSAGES_X, PROGRAM_X, table_of_calls

from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.events.kinds import Flag
from mlperf.traces.replay import Timing, replay
from mlperf.traces.whatif.domino import domino_search
from mlperf.traces.whatif.sweep import Sweep, sweep


def x_swept() -> Sweep:
    preset = find_preset("perwiz-myrinet")
    return sweep(replay(table_of_calls(PROGRAM_X, MESSAGES_X), Timing(preset, preset.parameters())))


def test_program_x_of_the_design() -> None:
    found = domino_search(x_swept())
    assert found.rank_total_ns.tolist() == [792_699, 1_137_797, 1_309_142]
    assert [(path.rank, path.events, path.total_ns) for path in found.paths] == [(0, (1,), 792_699)]
    assert found.swept.waits.partner[1] == 10, "m3: the second call of rank 0, and the third of rank 2"
    assert not found.cut


class Paper:
    """Figure 3 as printed, with all events of the least T', and a walk of the edited program for every question."""

    def __init__(self, program: MadeProgram, swept: Sweep) -> None:
        self.program, self.swept = program, swept
        self.places = list(program.places())
        calls, waits = swept.run.program.calls, swept.waits
        self.rank, self.call, self.partner = calls.event_rank, calls.call, waits.partner
        moved = {event: (int(waits.zero_call[event]), int(waits.zero_ns[event])) for event in np.flatnonzero(waits.zero_call >= 0)}
        self.total = {event: Run(program, Edits(start={self.places[call]: time})).total for event, (call, time) in moved.items()}
        self.base = Run(program).total

    def paths(self, rank: int) -> list[tuple[tuple[int, ...], int]]:
        """Every path from a rank's last event, with the T that it ends with."""
        mine = np.flatnonzero(self.rank == rank)
        return self._follow(int(mine[-1]), 10**18, ()) if len(mine) else []

    def _follow(self, event: int, most: int, path: tuple[int, ...]) -> list[tuple[tuple[int, ...], int]]:
        before = np.flatnonzero((self.rank == self.rank[event]) & (self.call <= self.call[event])).tolist()
        totals = {each: self.total.get(each, self.base) for each in before}
        least = min(totals.values())
        best = [each for each in before if totals[each] == least and each not in path]
        if least > most or least >= self.base or not best:
            return [(path, most)] if path else []
        return [found for each in best for found in self._follow(int(self.partner[each]), least, (*path, each))]


@pytest.mark.parametrize("seed", range(60))
def test_paths_are_those_of_the_papers_recursion(seed: int) -> None:
    program = random_program(seed, collectives=seed % 2 == 0, n_steps=12)
    swept = sweep(replay(recorded(program, Run(program))[0], protocol_timing()))
    paper = Paper(program, swept)
    found = domino_search(swept, max_paths=1000)
    by_rank = [paper.paths(rank) for rank in range(len(program.ranks))]
    assert found.rank_total_ns.tolist() == [min((total for _, total in paths), default=paper.base) for paths in by_rank]
    best = min(found.rank_total_ns.tolist())
    expected = {(rank, path) for rank, paths in enumerate(by_rank) for path, total in paths if total == best < paper.base}
    assert {(path.rank, path.events) for path in found.paths} == expected
    assert found.total_ns == best


def test_some_random_programs_have_paths_of_several_dominoes() -> None:
    lengths = []
    for seed in range(60):
        program = random_program(seed, collectives=seed % 2 == 0, n_steps=12)
        found = domino_search(sweep(replay(recorded(program, Run(program))[0], protocol_timing())))
        lengths += [len(path.events) for path in found.paths]
    assert max(lengths) > 1
    assert len(lengths) > 40


def test_more_paths_than_asked_for_are_said() -> None:
    for seed in range(200):
        program = random_program(seed, n_steps=12)
        swept = sweep(replay(recorded(program, Run(program))[0], protocol_timing()))
        found = domino_search(swept)
        if len(found.paths) > 1:
            fewer = domino_search(swept, max_paths=1)
            assert fewer.cut
            assert not found.cut
            assert [path.events for path in fewer.paths] == [found.paths[0].events]
            return
    raise AssertionError("no program with two paths")


def test_waits_that_the_clocks_do_not_know_lead_no_path() -> None:
    preset = find_preset("perwiz-myrinet")
    table = table_of_calls(PROGRAM_X, MESSAGES_X)
    flags = table.flags.copy()
    flags[1] |= np.uint16(Flag.CLOCK_UNSURE)
    found = domino_search(sweep(replay(table.replace(flags=flags), Timing(preset, preset.parameters()))))
    assert found.n_unsure == 1
    assert found.total_ns == 1_137_797
