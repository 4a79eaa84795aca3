"""Assumptions as changed weights, against jobs that were made with the change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiles import training_job

from mlperf.core.errors import UsageError
from mlperf.traces.ranks.profiled.edits import changed_weights, segments
from mlperf.traces.ranks.profiled.graph import RankGraph, build_graph
from mlperf.traces.readers.chrome.reader import read_chrome

HOSTS = [[30.0, 80.0, 46.0], [31.0, 90.0, 41.0], [30.0, 70.0, 50.0]]


def graph_of(tmp_path: Path, hosts: list[list[float]], **changes: float) -> RankGraph:
    return build_graph(read_chrome(training_job(tmp_path / f"job{len(list(tmp_path.iterdir()))}", hosts, **changes)[0]))


def length(graph: RankGraph, assumption: str | None = None) -> int:
    """Time from rank 0's first launch, which none of the changes moves by more than its own host, to the last end."""
    return int(graph.times(changed_weights(graph, assumption) if assumption else None)[1].max()) + int(graph.origin_ns)


def test_every_assumption_is_the_job_made_with_it(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, HOSTS)
    faster = graph_of(tmp_path, HOSTS, transfer_us=25.0)
    assert length(graph, "faster-network=2") == length(faster)
    without = graph_of(tmp_path, HOSTS, compute_us=0.0)
    assert length(graph, "without-kernel=sgemm") == length(without)
    both = graph_of(tmp_path, HOSTS, compute_us=0.0, transfer_us=25.0)
    assert length(graph, "without-kernel=sgemm + faster-network=2") == length(both)


def test_a_rank_on_time_takes_the_median(tmp_path: Path) -> None:
    """Rank 1 as fast as rank 2, the median one, in every step."""
    on_time = graph_of(tmp_path, [[first, third, third] for first, _, third in HOSTS])
    assert length(graph_of(tmp_path, HOSTS), "on-time=1") == length(on_time)


def test_balance_takes_the_mean(tmp_path: Path) -> None:
    balanced = graph_of(tmp_path, [[sum(each) / 3] * 3 for each in HOSTS])
    assert length(graph_of(tmp_path, HOSTS), "balanced") == pytest.approx(length(balanced), abs=3)


def test_times_between_operations(tmp_path: Path) -> None:
    """The host's time, 5 us to the product, 100 us of it; after the first, 2 us until the host knows."""
    taken, items = segments(graph_of(tmp_path, HOSTS))
    assert taken.shape == items.shape == (3, 3)
    np.testing.assert_allclose(np.diff(taken[:, 1:], axis=1), np.diff(np.array(HOSTS).T[:, 1:], axis=1) * 1e3)
    np.testing.assert_allclose(taken[:, 1], np.array(HOSTS[1]) * 1e3 + 107_000)


@pytest.mark.parametrize(
    "wrong",
    [
        "faster=2",
        "faster-network",
        "faster-network=0",
        "faster-network=-1",
        "balanced=1",
        "on-time=9",
        "on-time=x",
        "without-kernel=",
        "without-kernel=(",
        "without-kernel=none",
    ],
)
def test_what_is_no_assumption_is_refused(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        changed_weights(graph_of(tmp_path, HOSTS), wrong)
