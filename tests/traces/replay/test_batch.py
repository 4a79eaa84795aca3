"""Lanes against single replays."""

from __future__ import annotations

import numpy as np
import pytest
from message_programs import Run, protocol_timing, random_program, recorded

from mlperf.traces.graph.dag import forward
from mlperf.traces.replay import Change, changed_edges, replay, replay_batch
from mlperf.traces.replay.times import edge_weights


@pytest.mark.parametrize("seed", range(40))
def test_lanes_are_single_replays(seed: int) -> None:
    """Computes changed in one lane, a start moved in another, both in a third, nothing in a fourth; blocks of three."""
    program = random_program(seed)
    run = replay(recorded(program, Run(program))[0], protocol_timing())
    graph, rng = run.graph, np.random.default_rng(seed)
    lanes, expected = [], []
    for number in range(11):
        compute = np.where(rng.random(len(run.times.compute_ns)) < 0.3, rng.integers(0, 9000), run.times.compute_ns)
        weights = edge_weights(graph, run.times.replace(compute_ns=compute)) if number % 4 in (0, 2) else run.weight_ns
        change = changed_edges(run.weight_ns, weights)
        fixed = None
        if number % 4 in (1, 2):
            node = rng.choice(graph.start_node, 1)
            fixed = (node, rng.integers(0, 20_000, 1))
            change = Change(change.edge, change.weight_ns, *fixed)
        lanes.append(change)
        expected.append(forward(graph.dag, weights, fixed)[graph.ends].max())
    assert replay_batch(graph.dag, run.weight_ns, graph.ends, lanes, block=3).tolist() == expected
    assert len(set(expected)) > 1


def test_of_two_weights_of_one_edge_the_later_counts_and_no_lanes_are_no_times() -> None:
    program = random_program(1)
    run = replay(recorded(program, Run(program))[0], protocol_timing())
    dag, ends = run.graph.dag, run.graph.ends
    edge = run.graph.edges("compute")[:1]
    both = Change(np.repeat(edge, 2), np.array([10**9, 5]))
    assert replay_batch(dag, run.weight_ns, ends, [both]) == replay_batch(dag, run.weight_ns, ends, [Change(edge, np.array([5]))])
    assert len(replay_batch(dag, run.weight_ns, ends, [])) == 0
