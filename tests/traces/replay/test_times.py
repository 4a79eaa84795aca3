"""Weights of a program's edges: those of the design, one by one, and what of them a call spends itself."""

from __future__ import annotations

import numpy as np
from message_programs import Run, protocol_timing, random_program, recorded

from mlperf.traces.replay import replay
from mlperf.traces.replay.times import edge_weights, processing


def test_weights_are_those_of_the_design() -> None:
    for seed in range(20):
        program = random_program(seed, posts=False)
        run = replay(recorded(program, Run(program))[0], protocol_timing())
        graph, times, messages = run.graph, run.times, run.program.messages
        assert np.array_equal(edge_weights(graph, times), run.weight_ns)
        for name, weights in (
            ("compute", times.compute_ns),
            ("own", times.own_ns),
            ("arrive", times.off_ns + times.recv_ns),
            ("release", times.send_ns - times.off_ns),
        ):
            assert np.array_equal(run.weight_ns[graph.edges(name)], weights[graph.part(name)])
        assert np.all(run.weight_ns[graph.edges("gather")] == 0)
        calls = [program.call(place) for place in program.places()]
        assert times.own_ns.tolist() == [call.own for call in calls]
        assert times.send_ns.tolist() == [calls[call].own for call in messages.send_call]


def test_without_what_calls_spend_themselves_only_waits_are_left() -> None:
    for seed in range(20):
        program = random_program(seed)
        run = replay(recorded(program, Run(program))[0], protocol_timing())
        spent = processing(run.graph, run.times)
        assert np.array_equal(spent[run.graph.edges("own")], run.times.own_ns)
        for name in ("compute", "gather"):
            assert np.all(spent[run.graph.edges(name)] == 0)
        into_ends = np.isin(run.graph.dag.head, run.graph.end_node)
        end = np.full(len(run.graph.dag), -1)
        end[run.graph.end_node] = run.times.own_ns
        assert np.array_equal(spent[into_ends], end[run.graph.dag.head[into_ends]])
