"""The paper's figure 8 as a fact and as a hint."""

from __future__ import annotations

from pathlib import Path

import pytest
from figure_8 import FIGURE_8, TOPOLOGY

from mlperf.planning.advice.facts.rings import ring_facts_of
from mlperf.planning.advice.findings import INCONCLUSIVE, NAMED, RING
from mlperf.planning.advice.rules import ring_rule
from mlperf.planning.advice.thresholds import Thresholds
from mlperf.traces.links.matrix_file import read_matrix
from mlperf.traces.links.topology import read_links


def test_the_detours_are_named(tmp_path: Path) -> None:
    (tmp_path / "traffic.txt").write_text(FIGURE_8)
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    matrix = read_matrix(tmp_path / "traffic.txt")
    alone = ring_facts_of(matrix)
    assert alone is not None
    assert alone.rings.detours == ("GPU4 -> HOST -> GPU5", "GPU8 -> HOST -> GPU1")
    unsure = ring_rule(alone, Thresholds())
    assert unsure is not None
    assert (unsure.cause, unsure.verdict) == (RING, INCONCLUSIVE)
    found = ring_rule(ring_facts_of(matrix, read_links(tmp_path / "topology.txt")), Thresholds())
    assert found is not None
    assert found.verdict == NAMED
    # 18.473 GB pass the slowest way in 1.74 s, an NVLink in 1.00 s.
    assert found.evidence["allreduce_saved_share"] == pytest.approx(1 - 1.00 / 1.74, abs=0.005)


def test_no_ring_no_fact(tmp_path: Path) -> None:
    (tmp_path / "matrix.txt").write_text("a b\na 0 0\nb 0 0\n")
    assert ring_facts_of(read_matrix(tmp_path / "matrix.txt")) is None
