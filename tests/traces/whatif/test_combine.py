"""Combinations of edits against a fresh walk of the edited program, integer for integer."""

from __future__ import annotations

import random

import numpy as np
import pytest
from message_programs import Edits, Run, protocol_timing, random_program, recorded
from stepped_programs import exchange, myrinet

from mlperf.core.errors import UsageError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.replay import replay
from mlperf.traces.whatif.combine import balanced_change, edited
from mlperf.traces.whatif.edits import END, Edit, event_number
from mlperf.traces.whatif.grammar import read_edit
from mlperf.traces.whatif.load import load_run
from mlperf.traces.whatif.regions import steps_of
from mlperf.traces.whatif.sweep import sweep
from mlperf.traces.whatif.tolerance import changed, slopes


class Case:
    """A random program and its replay."""

    def __init__(self, seed: int) -> None:
        self.program = random_program(seed)
        self.walk = Run(self.program)
        table, self.rows = recorded(self.program, self.walk)
        self.run = replay(table, protocol_timing())
        self.sides = {place: side for place, side in self.rows if side in ("send", "recv", "wait", "coll")}

    def edit(self, what: str, place: tuple[int, int], factor: float = 0.0) -> Edit:
        """An edit of one call as the command line has it."""
        event = int(self.run.program.calls.number[self.rows[place, self.sides[place]]])
        return Edit(what, what, factor=factor, rank=place[0], index=int(event_number(self.run, np.array([event]))[0]))


@pytest.mark.parametrize("seed", range(60))
def test_computations_and_instant_calls_combine(seed: int) -> None:
    """Some computations times 0, 0.5 or 3, some calls that take no time, at once."""
    case, rng = Case(seed), random.Random(seed)
    places = list(case.program.places())
    scaled = {place: rng.choice((0.0, 0.5, 3.0)) for place in rng.sample(places, min(3, len(places)))}
    instant = set(rng.sample(places, min(2, len(places))))
    edits = [case.edit("compute", place, factor) for place, factor in scaled.items()]
    edits += [case.edit("duration", place) for place in instant]
    compute = {place: int(np.rint(case.program.call(place).compute * factor)) for place, factor in scaled.items()}
    assert edited(case.run, edits).total_ns == Run(case.program, Edits(compute=compute, instant=instant)).total


def test_a_wait_that_goes_moves_its_partner_to_the_same_time_whatever_else_changes() -> None:
    """Together with another computation; the time is that of the run without edits."""
    tried = 0
    for seed in range(40):
        case, rng = Case(seed), random.Random(seed)
        waits = case.run.waits
        waiting = np.flatnonzero((waits.zero_call >= 0) & (waits.wait_ns > 0))
        if not len(waiting):
            continue
        event = int(rng.choice(waiting.tolist()))
        rank = int(case.run.program.calls.event_rank[event])
        wait = Edit("wait", "wait", rank=rank, index=int(event_number(case.run, np.array([event]))[0]))
        places = list(case.program.places())
        slow = rng.choice(places)
        found = edited(case.run, [wait, case.edit("compute", slow, 2.0)])
        moved = places[int(waits.zero_call[event])]
        compute = {slow: 2 * case.program.call(slow).compute}
        walked = Run(case.program, Edits(start={moved: int(waits.zero_ns[event])}, compute=compute))
        assert found.total_ns == walked.total, seed
        tried += 1
    assert tried > 20


def test_no_edit_is_the_run_itself() -> None:
    case = Case(5)
    assert np.array_equal(edited(case.run, []).time_ns, case.run.time_ns)


def test_processing_of_one_call_is_the_sweeps() -> None:
    """Both make the call last no longer than it waits."""
    case = Case(8)
    swept = sweep(case.run)
    for number, place in enumerate(case.program.places()):
        assert edited(case.run, [case.edit("processing", place)]).total_ns == swept.processing_zero_ns[number]


def two_ranks(sizes: tuple[int, int]) -> object:
    """One message each way in a region of two steps; rank 1 computes three times as long in the second."""
    rows = [
        # start, duration, rank, kind, peer, size, name
        (0, 1000, 0, Kind.REGION, -1, 0, 0),
        (400, 100, 0, Kind.SEND, 1, sizes[0], -1),
        (1000, 4000, 0, Kind.REGION, -1, 0, 0),
        (2000, 2900, 0, Kind.RECV, 1, sizes[1], -1),
        (0, 1000, 1, Kind.REGION, -1, 0, 0),
        (500, 100, 1, Kind.RECV, 0, sizes[0], -1),
        (1000, 4000, 1, Kind.REGION, -1, 0, 0),
        (4000, 100, 1, Kind.SEND, 0, sizes[1], -1),
    ]
    names = ("start_ns", "duration_ns", "rank", "kind", "peer", "size_bytes", "name")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return event_table(len(rows), strings=("PRGN",), match=[-1, 5, -1, 7, -1, 1, -1, 3], **columns)


def test_a_balanced_step_gives_every_place_the_mean_of_the_ranks() -> None:
    """Step 1: rank 0 computes 1000 before its receive and 100 after it, rank 1 3000 and 900: 2000 and 500 on both."""
    run = replay(two_ranks((10, 10)), protocol_timing())
    steps = steps_of(run)
    assert steps.compute_ns.tolist() == [[900, 1100], [900, 3900]]
    # The computation before rank 0's receive began in step 0: only what lies in step 1 is changed.
    assert balanced_change(run, steps, 1).tolist() == [0, 1000, 0, -1000, 400, -400]


def test_ranks_that_call_unlike_often_are_scaled_to_the_mean() -> None:
    """Rank 0's receive is gone (its partner keeps its time): it computes 4000 in step 1, rank 1 3000 and 900; the mean is 3950."""
    table = two_ranks((10, 10))
    kept = np.delete(np.arange(len(table)), 3)
    run = replay(table.take(kept).replace(flags=np.full(7, int(Flag.UNMATCHED), dtype=np.uint16)), protocol_timing())
    steps = steps_of(run)
    assert steps.compute_ns[:, 1].tolist() == [4000, 3900]
    factor = 3950 / 3900 - 1
    assert balanced_change(run, steps, 1).tolist() == pytest.approx([0, 0, 3000 * factor, -50, 900 * factor])


def test_a_rank_that_computes_nothing_gets_the_mean_before_its_next_call() -> None:
    """Rank 0 is in one call from before step 1 until behind it."""
    table = two_ranks((10, 10))
    start, duration = table.start_ns.copy(), table.duration_ns.copy()
    start[3], duration[3] = 990, 4010
    run = replay(table.replace(start_ns=start, duration_ns=duration), protocol_timing())
    steps = steps_of(run)
    assert steps.compute_ns[:, 1].tolist() == [0, 3900]
    assert balanced_change(run, steps, 1)[4] == pytest.approx(1950)


def test_balanced_volume_gives_every_sender_the_mean_and_decides_the_protocol_anew() -> None:
    """Rank 0 sends 10 bytes, rank 1 nothing in step 0: the mean is 5; nothing else changes."""
    run = replay(two_ranks((10, 3000)), protocol_timing())
    after = edited(run, [Edit("balance", "balance(volume)", steps=(0,), parts=("volume",))])
    assert (run.network.send_ns - after.network.send_ns).tolist() == [0, 0]
    assert (run.network.off_ns - after.network.off_ns).tolist() == [10, 0]
    halved = edited(run, [Edit("length", "length", factor=0.25, rank=1, index=1)])
    assert halved.network.eager.tolist() == [True, True]
    assert run.network.eager.tolist() == [True, False]


def test_shortening_never_lengthens() -> None:
    """Any mix of edits that only shorten."""
    for seed in range(40):
        case, rng = Case(seed), random.Random(seed)
        places = list(case.program.places())
        chosen = rng.sample(places, min(4, len(places)))
        edits = [case.edit(rng.choice(("duration", "processing", "compute")), place, 0.0) for place in chosen]
        assert edited(case.run, edits).total_ns <= case.run.total_ns, seed


def test_what_does_not_wait_cannot_lose_its_wait() -> None:
    run = replay(two_ranks((10, 10)), protocol_timing())
    with pytest.raises(UsageError, match="0:0 does not wait"):
        edited(run, [Edit("wait", "wait(0:0)=0", rank=0, index=0)])
    with pytest.raises(UsageError, match=r"no step 7, region PRGN has 2 \(0 to 1\)"):
        edited(run, [Edit("balance", "balance(step=7)", steps=(7,))])


def test_what_a_rank_computes_after_its_last_call_can_go() -> None:
    """Rank 0 computes 100 behind its last receive, rank 1 900 behind its last send: it ends the run."""
    run = replay(two_ranks((10, 10)), protocol_timing())
    after = edited(run, [Edit("compute", "compute(1:end)=0", rank=1, index=END)])
    assert (run.rank_end_ns - after.rank_end_ns).tolist() == [0, 900]
    with pytest.raises(UsageError, match="no rank 2, the run has 2"):
        edited(run, [Edit("compute", "compute(2:end)=0", rank=2, index=END)])


def test_a_program_of_posted_messages_runs_on_another_network_as_if_it_had_been_read_for_it() -> None:
    """By hand: post 10 us, 5 us computed, send at 15 us, there at 26 us, received in 10 us."""
    posted = int(Flag.ASSUMED_TIME)
    table = event_table(
        4,
        start_ns=[0, 5_000, 0, 1],
        rank=[0, 0, 1, 1],
        peer=[1, 1, 0, 0],
        tag=[1, 2, 1, 2],
        size_bytes=[100] * 4,
        kind=[Kind.ISEND, Kind.SEND, Kind.RECV, Kind.RECV],
        match=[2, 3, 0, 1],
        flags=[posted] * 4,
    )
    slow = "protocol(latency=1us, overhead=10us, gap-per-byte=0, eager-limit=1KiB)"
    run = load_run(table, "protocol(latency=1us, overhead=1us, gap-per-byte=0, eager-limit=1KiB)")
    after = edited(run, [read_edit(f"network={slow}", run.timing)])
    assert after.total_ns == load_run(table, slow).total_ns == 36_000
    by_parameter = edited(run, [read_edit("overhead=10us", run.timing)])
    assert by_parameter.total_ns == 36_000
    assert slopes(run, "overhead_s") == ((changed(run, overhead_s=1.001e-6).total_ns - run.total_ns),) * 2


@pytest.mark.parametrize("sizes", [(100_000, 20_000), (20_000, 100_000), (70_000, 50_000)])
def test_an_exchange_of_other_sizes_takes_what_one_recorded_with_them_does(sizes: tuple[int, int]) -> None:
    """A call that sends and receives at once was measured as a whole: only the longer of the two counts, before and after."""
    balanced = edited(replay(exchange(sizes), myrinet()), [read_edit("balance(volume)", myrinet())])
    assert balanced.total_ns == pytest.approx(replay(exchange((60_000, 60_000)), myrinet()).total_ns, abs=2)
