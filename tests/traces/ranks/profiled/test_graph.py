"""The graph of all ranks gives the recorded times, and moves with what is changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from profiled_ranks import write_job

from mlperf.traces.events.kinds import Kind
from mlperf.traces.ranks.profiled.graph import build_graph
from mlperf.traces.readers.chrome.reader import read_chrome


def test_unchanged_it_is_what_was_recorded(tmp_path: Path) -> None:
    write_job(tmp_path)
    graph = build_graph(read_chrome(tmp_path))
    begin, end = graph.times()
    table = graph.table
    assert np.array_equal(begin + graph.origin_ns, table.start_ns[graph.rows])
    assert np.array_equal(end + graph.origin_ns, table.end_ns[graph.rows])


def test_a_shorter_computation_of_the_last_rank_ends_everything_earlier(tmp_path: Path) -> None:
    """Rank 2's first product, 900 us, as short as the others' 400: the first all-reduce ends 500 us earlier on all ranks."""
    write_job(tmp_path)
    graph = build_graph(read_chrome(tmp_path))
    table = graph.table
    products = np.flatnonzero((table.kind[graph.rows] == Kind.KERNEL) & (table.rank[graph.rows] == 2))
    first = products[np.argmin(table.start_ns[graph.rows[products]])]
    weights = graph.weight_ns.copy()
    weights[graph.run_edge[first]] -= 500_000
    end = graph.times(weights)[1]
    before = graph.times()[1]
    collective = np.flatnonzero(graph.operation >= 0)
    moved = (before - end)[collective]
    assert set(moved.tolist()) == {500_000}
    assert (table.rank[graph.rows[collective]] >= 0).all()


def test_members_share_the_number_of_their_operation(tmp_path: Path) -> None:
    write_job(tmp_path)
    graph = build_graph(read_chrome(tmp_path))
    assert np.bincount(graph.operation[graph.operation >= 0]).tolist() == [3, 3, 3, 3]
    assert graph.n_torn == 0
