"""Splits of recorded durations: what is negative is counted and shown, what is modelled is the preset's."""

from __future__ import annotations

import numpy as np
from message_programs import LATENCY, OVERHEAD, Run, protocol_timing, random_program, recorded
from replayed_programs import MESSAGES_X, PROGRAM_X, table_of_calls

from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.replay import Timing, as_table, replay


def myrinet(**options: str) -> Timing:
    preset = find_preset("perwiz-myrinet")
    return Timing(preset, preset.parameters(), **options)


def synchronous(send_ns: tuple[int, int], recv_ns: tuple[int, int]) -> EventTable:
    """One message of 2000 bytes; start and end of both calls."""
    start, end = zip(send_ns, recv_ns, strict=True)
    duration = np.subtract(end, start)
    kinds = [Kind.SEND, Kind.RECV]
    return event_table(2, start_ns=start, duration_ns=duration, rank=[0, 1], peer=[1, 0], kind=kinds, match=[1, 0], size_bytes=2000)


def test_calls_shorter_than_their_wait_are_counted_and_named() -> None:
    """The send waits 50 000 - d by the clocks, and ended before."""
    found = replay(synchronous((0, 40_000), (50_000, 60_000)), protocol_timing())
    missing = 50_000 - LATENCY - OVERHEAD - 40_000
    assert found.splits.n_negative == 1
    assert found.splits.worst.tolist() == [0]
    assert found.splits.missing_ns.tolist() == [missing]
    assert found.end_ns.tolist() == [40_000 + missing, 60_000], (
        "0 without its wait, so it ends later than recorded: nothing is clamped"
    )
    assert as_table(found).flags.tolist() == [Flag.NEGATIVE_SPLIT, 0]


def test_the_worst_ten_come_worst_first() -> None:
    n = 15
    table = synchronous((0, 1), (0, 1))
    columns = {name: np.tile(getattr(table, name), n) for name in ("rank", "peer", "kind", "size_bytes")}
    start = np.arange(n).repeat(2) * 1_000_000
    late = np.arange(1, n + 1) * 10_000
    start[1::2] += late
    match = np.arange(2 * n) ^ 1
    found = replay(
        event_table(2 * n, start_ns=start, duration_ns=np.tile([1000, 9000], n), match=match, **columns), protocol_timing()
    )
    assert found.splits.n_negative == n
    assert found.splits.missing_ns.tolist() == (late[:4:-1] - LATENCY - OVERHEAD - 1000).tolist()


def test_program_x_of_the_design() -> None:
    found = replay(table_of_calls(PROGRAM_X, MESSAGES_X), myrinet())
    assert found.total_ns == 1_333_819
    assert found.rank_end_ns.tolist() == [1_011_305, 1_333_819, 1_240_352]
    waits = found.waits.wait_ns
    assert {index: int(waits[index]) for index in np.flatnonzero(waits)} == {1: 544_357, 7: 541_120, 9: 24_677}
    assert np.all(found.splits.modelled)


def test_paper_and_recording_agree_where_the_recording_is_the_papers() -> None:
    """Fed back, the modelled run gives itself again, whichever times are taken."""
    made = as_table(replay(table_of_calls(PROGRAM_X, MESSAGES_X), myrinet()))
    made = made.replace(flags=np.zeros(len(made), dtype=np.uint16))
    for options in ({}, {"eager_times": "model"}, {"sync_times": "model"}, {"eager_times": "model", "sync_times": "model"}):
        found = replay(made, myrinet(**options))
        assert found.rank_end_ns.tolist() == [1_011_305, 1_333_819, 1_240_352], options


def test_modelled_eager_calls_forget_what_was_recorded() -> None:
    table = synchronous((0, 5000), (0, 7000)).replace(size_bytes=np.array([1000, 1000]))
    assert replay(table, myrinet()).rank_end_ns.tolist() == [5000, 13_140], "7000 is less than the wait"
    assert replay(table, myrinet(eager_times="model")).end_ns.tolist() == [4030, 13_140 + 3087]


def test_a_posted_end_keeps_what_was_seen_where_it_was_sooner_than_the_model() -> None:
    """Complete 100 after both were ready: the WAIT ended then, and nothing is negative."""
    kinds = [Kind.SEND, Kind.IRECV, Kind.WAIT]
    ready = LATENCY + OVERHEAD
    columns = {"start_ns": [0, 0, 10], "duration_ns": [9000, 10, ready + 90], "rank": [0, 1, 1], "corr": [-1, 3, 3]}
    table = event_table(3, kind=kinds, match=[1, 0, -1], peer=[1, 0, -1], size_bytes=2000, **columns)
    found = replay(table, protocol_timing())
    assert (found.splits.n_capped, found.splits.n_negative) == (1, 0)
    assert found.times.recv_ns.tolist() == [100]
    assert found.end_ns.tolist() == [9000, 10, ready + 100]


def test_nothing_is_negative_or_capped_in_programs_that_keep_the_model() -> None:
    for seed in range(30):
        program = random_program(seed)
        splits = replay(recorded(program, Run(program))[0], protocol_timing()).splits
        assert (splits.n_negative, splits.n_capped) == (0, 0)
