"""Ranks as one graph: nothing changed, nothing moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiles import ALL_REDUCE, complete, kernel, launch, training_job, write

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.ranks.profiled.graph import RankGraph, build_graph
from mlperf.traces.readers.chrome.reader import read_chrome, read_rank_files

JOB = [[30.0, 80.0, 45.0], [31.0, 29.0, 90.0]]


def assert_unmoved(graph: RankGraph) -> None:
    begin, end = graph.times()
    np.testing.assert_array_equal(begin, graph.table.start_ns[graph.rows] - graph.origin_ns)
    np.testing.assert_array_equal(end, graph.table.end_ns[graph.rows] - graph.origin_ns)


def test_the_unchanged_graph_gives_the_recorded_times(tmp_path: Path) -> None:
    graph = build_graph(read_chrome(training_job(tmp_path / "job", JOB)[0]))
    assert_unmoved(graph)
    assert np.count_nonzero(graph.operation >= 0) == 6


def test_a_faster_host_on_the_last_rank_releases_all(tmp_path: Path) -> None:
    """50 us less on rank 1 before the first operation: the second latest comes 35 us earlier, and everything follows."""
    graph = build_graph(read_chrome(training_job(tmp_path / "job", JOB)[0]))
    rank = graph.table.rank[graph.rows]
    calls = graph.table.kind[graph.rows] == Kind.API
    first = np.flatnonzero(calls & (rank == 1))[0]
    weights = graph.weight_ns.copy()
    weights[graph.wait_edge[first]] -= 50_000
    _, end = graph.times(weights)
    assert graph.times()[1].max() - end.max() == 35_000


def test_a_longer_kernel_holds_up_what_the_host_waits_for(tmp_path: Path) -> None:
    graph = build_graph(read_chrome(training_job(tmp_path / "job", [[10.0]])[0]))
    weights = graph.weight_ns.copy()
    item = np.flatnonzero(graph.table.kind[graph.rows] == Kind.KERNEL)[0]
    weights[graph.run_edge[item]] += 7000
    assert graph.times(weights)[1].max() - graph.times()[1].max() == 7000


def test_operations_that_contradict_their_clocks_are_left_apart(tmp_path: Path) -> None:
    for rank, start in ((0, 10), (1, 500)):
        write(tmp_path / f"rank_{rank}.json", [launch(start - 5, 1, 1), kernel(start, 20, 1, ALL_REDUCE)], rank)
    graph = build_graph(read_chrome(tmp_path))
    assert (graph.n_torn, graph.operation.max()) == (1, -1)
    assert_unmoved(graph)


def test_a_trace_without_a_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no kernels"):
        build_graph(read_chrome(write(tmp_path / "a.json", [complete("cpu_op", "aten::mm", 0, 1)], 0)))


def test_ranks_that_exchange_on_their_hosts_are_refused_with_what_reads_them(tmp_path: Path) -> None:
    for rank in (0, 1):
        rows = [complete("cpu_op", "aten::mm", 0, 1), complete("user_annotation", "gloo:all_reduce", 2, 5)]
        write(tmp_path / f"rank_{rank}.json", rows, rank)
    with pytest.raises(DataError, match="holds no kernels") as error:
        build_graph(read_chrome(tmp_path))
    assert "mlperf record advise" in (error.value.hint or "")


@pytest.mark.data
@pytest.mark.parametrize(
    "name", ["kineto_traces/alexnet_a100", "kineto_traces/resnet_2080ti", "kineto_odd/compare_test_v100", "tracelens/qwen_05b_h100"]
)
def test_real_traces_do_not_move(name: str, shared_data: Path) -> None:
    assert_unmoved(build_graph(read_chrome(shared_data / f"{name}.json.gz")))


@pytest.mark.data
def test_eight_real_ranks_do_not_move(shared_data: Path) -> None:
    graph = build_graph(read_rank_files(sorted((shared_data / "kineto_traces").glob("dlrm_v100_rank_*.json.gz"))))
    assert_unmoved(graph)
    assert (np.count_nonzero(graph.operation >= 0), graph.n_torn) == (64, 0)
