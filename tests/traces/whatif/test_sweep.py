"""Every single-event what-if against a fresh walk of the edited program, integer for integer."""

from __future__ import annotations

from collections import Counter

import pytest
from message_programs import Edits, MadeProgram, Place, Run, protocol_timing, random_program, recorded, with_partial_sums

from mlperf.traces.replay import replay
from mlperf.traces.whatif.sweep import Sweep, sweep

pytestmark = pytest.mark.slow

N_PROGRAMS = 280


class Case:
    """A random program, its run, and everything that the sweep says about it."""

    def __init__(self, seed: int, partial_sums: bool = False) -> None:
        self.program: MadeProgram = random_program(seed, acausal=seed % 3 == 0)
        if partial_sums:
            self.program = with_partial_sums(self.program, seed)
        self.gaps = False
        self.run = Run(self.program)
        table, self.rows = recorded(self.program, self.run)
        self.swept: Sweep = sweep(replay(table, protocol_timing()))
        self.number = {place: index for index, place in enumerate(self.program.places())}

    def total(self, **edits: dict[Place, int] | set[Place]) -> int:
        return Run(self.program, Edits(**edits)).total

    def event(self, place: Place, side: str) -> int:
        return int(self.swept.run.program.calls.number[self.rows[place, side]])


def waits_to_zero(case: Case) -> list[tuple[int, int, Place | None, int]]:
    """(event, wait, call to move, its time) of both ends of every message, from the baseline's times alone."""
    found, start = [], case.run.start
    for place in case.program.places():
        for message in case.program.call(place).sends:
            since, end = start[message.sender], message.send_done
            if end != message.sender:
                since = max(since, start[end] - message.send_ns)
            wait = 0 if message.eager else max(0, start[message.receiver] - message.off - since)
            found.append((case.event(message.sender, "send"), wait, message.receiver, since + message.off))
            since, end = start[message.receiver], message.recv_done
            if end != message.receiver:
                since = max(since, start[end] - message.recv_ns)
            wait = max(0, start[message.sender] + message.off - since)
            found.append((case.event(message.receiver, "recv"), wait, message.sender, since - message.off))
    return found


def group_waits_to_zero(case: Case) -> list[tuple[int, int, Place, int]]:
    """The same of members of collective operations: the last to come, or the root, had come with them."""
    found, start = [], case.run.start
    for group in case.program.groups:
        for place in group.calls:
            awaited = max([*group.awaited_by(place), place], key=lambda other: (start[other], other != place))
            found.append((case.event(place, "coll"), max(0, start[awaited] - start[place]), awaited, start[place]))
    return found


@pytest.mark.parametrize("seeds", [range(start, start + 40) for start in range(0, N_PROGRAMS, 40)], ids=str)
def test_all_what_ifs_are_those_of_brute_force(seeds: range) -> None:
    changed: Counter[str] = Counter()
    for seed in seeds:
        case = Case(seed)
        assert case.swept.total_ns == case.run.total
        for row, found, expected in all_edits(case):
            assert found == expected, (seed, row)
            changed[row] += found != case.run.total
    assert set(changed) == ROWS
    assert all(changed.values()), f"a row of which no edit ever changes T proves nothing: {changed}"


def test_partial_sums_are_those_of_brute_force() -> None:
    changed: Counter[str] = Counter()
    for seed in range(12):
        case = Case(seed, partial_sums=True)
        assert case.swept.run.splits.n_negative == 0
        for row, found, expected in all_edits(case):
            assert found == expected, (seed, row)
            changed[row] += found != case.run.total
    assert changed["group wait"]


ROWS = {
    "wait",
    "group wait",
    "duration",
    "processing",
    "compute 0",
    "compute halved",
    "compute doubled",
    "after the last",
}


def all_edits(case: Case) -> list[tuple[str, int, int]]:
    """(row of the table, T' of the sweep, T' of the walk) for every edit there is."""
    swept, program, found = case.swept, case.program, []
    for row, waits in (("wait", waits_to_zero(case)), ("group wait", group_waits_to_zero(case))):
        for event, wait, place, time in waits:
            assert swept.waits.wait_ns[event] == wait
            found.append((row, swept.wait_zero_ns[event], case.total(start={place: time}) if wait else case.run.total))
    halved = swept.compute_changed(swept.run.times.compute_ns // 2)
    doubled = swept.compute_changed(swept.run.times.compute_ns * 2)
    for place, index in case.number.items():
        compute = program.call(place).compute
        found += [
            ("duration", swept.duration_zero_ns[index], case.total(instant={place})),
            ("processing", swept.processing_zero_ns[index], case.total(own={place: 0})),
            ("compute 0", swept.compute_zero_ns[index], case.total(compute={place: 0})),
            ("compute halved", halved[index], case.total(compute={place: compute // 2})),
            ("compute doubled", doubled[index], case.total(compute={place: 2 * compute})),
        ]
    for rank, calls in enumerate(program.ranks):
        found.append(
            ("after the last", swept.compute_zero_ns[len(case.number) + rank], case.total(compute={(rank, len(calls)): 0}))
        )
    return found


def test_computes_under_gaps_are_those_of_brute_force() -> None:
    """With a least distance between sends a shorter compute may not bring the call forward."""
    changed = 0
    for seed in range(60):
        program = random_program(seed, posts=False, collectives=False)
        table, _ = recorded(program, Run(program, gaps=True))
        swept = sweep(replay(table, protocol_timing(gaps=True)))
        base = Run(program, gaps=True)
        assert swept.total_ns == base.total
        for index, place in enumerate(program.places()):
            before = base.end[place[0], place[1] - 1] if place[1] else 0
            own = swept.run.times.compute_ns[index]
            assert own == base.start[place] - before
            expected = Run(recorded_computes(program, base), Edits(compute={place: 0}), gaps=True).total
            assert swept.compute_zero_ns[index] == expected
            changed += expected != base.total
    assert changed > 50


def recorded_computes(program: MadeProgram, run: Run) -> MadeProgram:
    """The program as a recording shows it: what a rank waited between two calls counts as computed."""
    for place in program.places():
        before = run.end[place[0], place[1] - 1] if place[1] else 0
        program.call(place).compute = run.start[place] - before
    return program
