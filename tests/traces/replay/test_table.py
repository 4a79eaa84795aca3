"""Modified traces: what was recorded at its new times, and fed back they give themselves."""

from __future__ import annotations

import numpy as np
from message_programs import Run, protocol_timing, random_program, recorded

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.replay import as_table, replay


def test_a_modified_trace_can_be_replayed_again() -> None:
    for seed in range(40):
        program = random_program(seed)
        run = replay(recorded(program, Run(program))[0], protocol_timing())
        compute = np.random.default_rng(seed).integers(0, 8000, len(run.times.compute_ns))
        # Where nothing was recorded after a rank's last call, no event could show that it now computes.
        compute[len(run.program.calls) :][run.times.compute_ns[len(run.program.calls) :] == 0] = 0
        changed = run.again(run.times.replace(compute_ns=compute))
        again = replay(as_table(changed), protocol_timing())
        assert again.total_ns == changed.total_ns
        assert np.array_equal(again.end_ns, changed.end_ns)
        assert np.array_equal(again.waits.wait_ns, changed.waits.wait_ns)


def test_what_lies_between_calls_moves_with_the_gap() -> None:
    """A region round a barrier; the compute before it is doubled, so the mark in its middle goes to twice its time."""
    kinds = [Kind.MARK, Kind.COLL, Kind.REGION, Kind.MARK, Kind.MARK, Kind.SAMPLE]
    starts, durations = [50, 100, 90, 102, 130, 7], [0, 10, 30, 0, 0, 0]
    rank = [0, 0, 0, 0, 0, -1]
    table = event_table(6, start_ns=starts, duration_ns=durations, rank=rank, kind=kinds, corr=[-1, 1, -1, -1, -1, -1])
    run = replay(table, protocol_timing())
    moved = as_table(run.again(run.times.replace(compute_ns=np.array([200, 20]))))
    assert moved.start_ns.tolist() == [100, 200, 180, 202, 230, 7]
    assert moved.duration_ns.tolist() == [0, 10, 40, 0, 0, 0]
    assert "T = 230 ns, recorded 130 ns" in moved.notes[-1]
    assert table.start_ns.tolist() == starts
