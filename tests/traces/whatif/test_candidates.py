"""Look-ups against scans over all events of a rank."""

from __future__ import annotations

import numpy as np
from message_programs import Run, protocol_timing, random_program, recorded

from mlperf.traces.replay import replay
from mlperf.traces.whatif.candidates import candidates_of
from mlperf.traces.whatif.sweep import sweep


def test_the_best_events_up_to_a_call_are_those_of_a_scan() -> None:
    n_found = 0
    for seed in range(60):
        program = random_program(seed, n_steps=25)
        swept = sweep(replay(recorded(program, Run(program))[0], protocol_timing()))
        calls, waits = swept.run.program.calls, swept.waits
        allowed = np.random.default_rng(seed).random(len(calls.rows)) < 0.8
        known = candidates_of(swept, allowed)
        shortens = allowed & (waits.wait_ns > 0) & (waits.zero_call >= 0) & (swept.wait_zero_ns < swept.total_ns)
        for event in np.flatnonzero(shortens).tolist():
            partner = int(waits.partner[event])
            before = (calls.event_rank == calls.event_rank[partner]) & (calls.call <= calls.call[partner]) & shortens
            least = swept.wait_zero_ns[before].min(initial=swept.total_ns)
            expected = np.flatnonzero(before & (swept.wait_zero_ns == least)) if least <= swept.wait_zero_ns[event] else []
            assert known.following(event) == list(expected)[::-1]
            n_found += len(expected)
        for rank in range(swept.run.program.n_ranks):
            mine = shortens & (calls.event_rank == rank)
            least = swept.wait_zero_ns[mine].min(initial=swept.total_ns)
            assert known.first(rank) == np.flatnonzero(mine & (swept.wait_zero_ns == least)).tolist()[::-1]
    assert n_found > 100
