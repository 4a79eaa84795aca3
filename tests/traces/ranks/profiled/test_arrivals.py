"""Collective operations split into transfer and skews."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiles import ALL_REDUCE, GEMM, kernel, launch, training_job, write

from mlperf.traces.ranks.profiled.arrivals import arrivals, lateness
from mlperf.traces.ranks.profiled.graph import build_graph
from mlperf.traces.readers.chrome.reader import read_chrome


def found(folder: Path, **attributes: object):  # type: ignore[no-untyped-def]
    table = read_chrome(folder)
    graph = build_graph(table.replace(attributes={**table.attributes, **attributes}))
    return arrivals(graph, np.zeros(len(graph.rows), dtype=np.int64))


def test_a_slow_device_is_arrival_skew(tmp_path: Path) -> None:
    """Rank 1's product takes 40 us longer; both hosts launch at once."""
    for rank, length in ((0, 60), (1, 100)):
        end = 5 + length
        write(
            tmp_path / f"rank_{rank}.json",
            [launch(0, 1, 1), launch(2, 1, 2), kernel(5, length, 1, GEMM), kernel(end, 125 - end, 2, ALL_REDUCE)],
            rank,
        )
    row = found(tmp_path).operations.iloc[0]
    assert (row["verdict"], row["last_rank"], row["n_members"]) == ("arrival skew", 1, 2)
    assert row["skew_s"] == pytest.approx(40e-6)
    assert (row["launch_skew_s"], row["transfer_s"]) == (0.0, pytest.approx(20e-6))


def test_a_late_launch_is_launch_skew(tmp_path: Path) -> None:
    """Nothing runs before the operation: rank 1's host launches 40 us later."""
    for rank, start in ((0, 0), (1, 40)):
        write(tmp_path / f"rank_{rank}.json", [launch(start, 1, 1), kernel(start + 5, 60 - start, 1, ALL_REDUCE)], rank)
    row = found(tmp_path).operations.iloc[0]
    assert (row["verdict"], row["launch_skew_s"], row["arrival_skew_s"]) == ("launch skew", pytest.approx(40e-6), 0.0)
    assert row["waited_s"] == pytest.approx(40e-6)


def test_ranks_that_come_together_spend_it_in_the_network(tmp_path: Path) -> None:
    folder, _ = training_job(tmp_path / "job", [[30.0, 31.0]])
    row = found(folder).operations.iloc[0]
    assert (row["verdict"], row["transfer_s"]) == ("transfer", pytest.approx(50e-6))


@pytest.mark.parametrize(("uncertainty_ns", "verdict"), [(1e3, "transfer"), (1e6, "inconclusive")])
def test_clocks_that_are_not_known_tell_nothing(uncertainty_ns: float, verdict: str, tmp_path: Path) -> None:
    folder, _ = training_job(tmp_path / "job", [[30.0, 31.0]])
    row = found(folder, clock_uncertainty_ns={0: 0.0, 1: uncertainty_ns}).operations.iloc[0]
    assert row["verdict"] == verdict


def test_one_rank_alone_tells_nothing(tmp_path: Path) -> None:
    folder, _ = training_job(tmp_path / "job", [[30.0]])
    row = found(folder).operations.iloc[0]
    assert (row["verdict"], row["why"]) == ("inconclusive", "one rank alone tells no waiting from transfer")


def test_lateness_adds_up_over_a_steps_operations(tmp_path: Path) -> None:
    folder, _ = training_job(tmp_path / "job", [[30.0, 80.0, 45.0], [31.0, 29.0, 90.0]])
    late = lateness(found(folder), [0, 1, 2], [0]) * 1e6
    assert late[0] == pytest.approx([0.0 + 2.0, 50.0, 15.0 + 61.0])
