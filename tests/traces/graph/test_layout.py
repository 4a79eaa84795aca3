"""Graphs of programs: the edges of the design, one by one."""

from __future__ import annotations

import numpy as np
from message_programs import LIMIT, Run, protocol_timing, random_program, recorded

from mlperf.traces.graph.layout import lay_out
from mlperf.traces.graph.program import program_of
from mlperf.traces.replay import replay


def test_a_synchronous_message_has_an_edge_more_than_an_eager_one() -> None:
    for seed in range(20):
        program = program_of(recorded(random_program(seed, posts=False), Run(random_program(seed, posts=False)))[0])
        n = len(program.messages)
        eager = program.messages.size_bytes <= LIMIT
        for mask in (eager, np.ones(n, dtype=bool)):
            graph = lay_out(program, mask)
            assert len(graph.part("arrive")) == n
            assert graph.part("release").tolist() == np.flatnonzero(~mask).tolist()


def test_edges_of_a_part_lead_where_they_should() -> None:
    for seed in range(20):
        program = random_program(seed)
        graph = replay(recorded(program, Run(program))[0], protocol_timing()).graph
        dag, messages = graph.dag, graph.program.messages
        for name, tail, head in (
            ("own", graph.start_node, graph.end_node),
            ("arrive", graph.start_node[messages.send_call], graph.end_node[messages.recv_done]),
            ("release", graph.start_node[messages.recv_call], graph.end_node[messages.send_done]),
        ):
            edges, of = graph.edges(name), graph.part(name)
            assert np.array_equal(dag.tail[edges], tail[of])
            assert np.array_equal(dag.head[edges], head[of])
        assert sorted(np.flatnonzero(graph.ends)) == sorted([*graph.end_node, *graph.rank_node])
        assert len(graph.part("gap")) == 0
