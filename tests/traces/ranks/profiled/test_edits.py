"""Assumptions as weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiled_ranks import STEADY, TRANSFER_US, write_job

from mlperf.core.errors import UsageError
from mlperf.traces.ranks.profiled.edits import changed_weights
from mlperf.traces.ranks.profiled.graph import RankGraph, build_graph
from mlperf.traces.readers.chrome.reader import read_chrome


LATER = STEADY[1:]
"""Of the first step nobody knows when it began: its ranks may have started apart."""


@pytest.fixture
def graph(tmp_path: Path) -> RankGraph:
    write_job(tmp_path)
    return build_graph(read_chrome(tmp_path))


def saved_us(graph: RankGraph, assumption: str) -> float:
    """How much earlier the last event ends."""
    return float(graph.times()[1].max() - graph.times(changed_weights(graph, assumption))[1].max()) / 1000


def test_each_assumption_saves_what_it_must(graph: RankGraph) -> None:
    """Of four steps: half of each transfer; the last rank's computation down to the mean, the median, or nothing."""
    assert saved_us(graph, "faster-network=2") == pytest.approx(4 * TRANSFER_US / 2)
    assert saved_us(graph, "balanced") == pytest.approx(sum(max(work) - np.mean(work) for work in LATER), rel=0.05)
    assert saved_us(graph, "on-time=2") == pytest.approx(sum(max(work) - np.median(work) for work in LATER), rel=0.05)
    assert saved_us(graph, "without-kernel=sgemm") == pytest.approx(sum(max(work) for work in STEADY), rel=0.02)


def test_assumptions_hold_together(graph: RankGraph) -> None:
    both = saved_us(graph, "balanced + faster-network=2")
    assert both == pytest.approx(saved_us(graph, "balanced") + saved_us(graph, "faster-network=2"), rel=0.02)


def test_what_fits_nothing_is_refused(graph: RankGraph) -> None:
    with pytest.raises(UsageError):
        changed_weights(graph, "without-kernel=nothing_of_that_name")
    with pytest.raises(UsageError):
        changed_weights(graph, "on-time=7")
