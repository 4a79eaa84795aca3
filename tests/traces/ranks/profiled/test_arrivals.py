"""Collective operations split into waiting and transfer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiled_ranks import STEADY, TRANSFER_US, write_job

from mlperf.traces.ranks.profiled.analysis import steps_of
from mlperf.traces.ranks.profiled.arrivals import ARRIVAL, INCONCLUSIVE, arrivals, lateness
from mlperf.traces.ranks.profiled.graph import build_graph
from mlperf.traces.readers.chrome.reader import read_chrome

US = 1e-6


def test_skew_is_the_ranks_and_the_rest_the_networks(tmp_path: Path) -> None:
    write_job(tmp_path)
    graph = build_graph(read_chrome(tmp_path))
    step, steps = steps_of(graph, None)
    found = arrivals(graph, step)
    for row, work in zip(found.operations.itertuples(), STEADY, strict=True):
        assert row.transfer_s == pytest.approx(TRANSFER_US * US)
        assert row.skew_s == pytest.approx((max(work) - min(work)) * US)
        assert row.launch_skew_s == 0.0
        assert row.waited_s == pytest.approx(sum(max(work) - each for each in work) * US)
        assert (row.last_rank, row.verdict, row.n_members) == (2, ARRIVAL, 3)
    late = lateness(found, [0, 1, 2], steps)
    assert late == pytest.approx(np.array([[each - min(work) for each in work] for work in STEADY]) * US)


def test_one_rank_alone_tells_nothing(tmp_path: Path) -> None:
    graph = build_graph(read_chrome(write_job(tmp_path)[0]))
    found = arrivals(graph, steps_of(graph, None)[0])
    assert set(found.operations["verdict"]) == {INCONCLUSIVE}
    assert "one rank alone" in found.operations["why"][0]
