"""Look-ups against scans over all events of a rank; memory of everything that a search holds."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
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


def held_arrays(found: Any, seen: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Every array of its own memory inside a result, once, whoever holds it."""
    if isinstance(found, np.ndarray):
        while isinstance(found.base, np.ndarray):
            found = found.base
        seen[id(found)] = found
    elif isinstance(found, tuple):
        for each in found:
            held_arrays(each, seen)
    elif dataclasses.is_dataclass(found):
        for each in dataclasses.fields(found):
            held_arrays(getattr(found, each.name), seen)
    return seen


@pytest.mark.parametrize(("gaps", "mixed", "most_bytes"), [(False, False, 345), (True, False, 370), (True, True, 375)])
def test_a_search_holds_few_bytes_an_event(gaps: bool, mixed: bool, most_bytes: int) -> None:
    """Its row included; the rest up to 400 is left for what a step needs only while it runs."""
    program = random_program(3, posts=mixed, collectives=mixed, n_steps=1500)
    swept = sweep(replay(recorded(program, Run(program))[0], protocol_timing(gaps=gaps)))
    n_events = len(swept.run.program.calls.rows)
    known = candidates_of(swept, np.ones(n_events, dtype=bool))
    held = {key: array.nbytes for key, array in held_arrays((swept, known), {}).items()}
    assert n_events > 2000
    assert sum(held.values()) < most_bytes * n_events
