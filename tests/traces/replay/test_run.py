"""Replays against an evaluator that walks the ranks, and against what was recorded."""

from __future__ import annotations

import numpy as np
import pytest
from message_programs import Edits, Run, protocol_timing, random_program, recorded

from mlperf.traces.replay import replay


@pytest.mark.parametrize("seed", range(150))
def test_an_unmodified_trace_is_replayed_as_recorded(seed: int) -> None:
    program = random_program(seed, acausal=seed % 3 == 0)
    run = Run(program)
    table, _ = recorded(program, run)
    found = replay(table, protocol_timing())
    assert found.splits.n_negative == 0
    assert np.array_equal(found.start_ns, found.program.calls.start_ns)
    assert np.array_equal(found.end_ns, found.program.calls.end_ns)
    assert found.rank_end_ns.tolist() == run.rank_end
    assert found.total_ns == found.program.measured_ns == run.total


@pytest.mark.parametrize("seed", range(150))
def test_with_other_computes_every_call_is_where_the_walk_finds_it(seed: int) -> None:
    """The split times must be those that the program was made with: any other split shows up once waits move."""
    program = random_program(seed, acausal=seed % 3 == 0)
    table, _ = recorded(program, Run(program))
    found = replay(table, protocol_timing())
    rng = np.random.default_rng(seed)
    compute = rng.integers(0, 8000, len(found.times.compute_ns))
    places = list(program.places())
    edits = Edits(compute=dict(zip(places, compute.tolist(), strict=False)))
    edits.compute.update({(rank, len(calls)): int(compute[len(places) + rank]) for rank, calls in enumerate(program.ranks)})
    run = Run(program, edits)
    again = found.again(found.times.replace(compute_ns=compute))
    assert again.start_ns.tolist() == [run.start[place] for place in places]
    assert again.end_ns.tolist() == [run.end[place] for place in places]
    assert again.total_ns == run.total
