from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from figure_8 import FIGURE_8, TOPOLOGY
from made_rings import SQUARE, ring_recording

from mlperf.core.errors import DataError
from mlperf.traces.links.matrix import CommMatrix, matrix_of_events
from mlperf.traces.links.matrix_file import read_matrix
from mlperf.traces.links.rings import SEARCH_NOTE, compare_rings
from mlperf.traces.links.topology import Links, read_links


@pytest.fixture
def figure_8(tmp_path: Path) -> CommMatrix:
    path = tmp_path / "figure8.txt"
    path.write_text(FIGURE_8)
    return read_matrix(path)


@pytest.fixture
def links(tmp_path: Path) -> Links:
    path = tmp_path / "links.txt"
    path.write_text(TOPOLOGY)
    return read_links(path)


def test_figure_8_names_the_detours_and_a_ring_of_nvlinks(figure_8: CommMatrix, links: Links) -> None:
    found = compare_rings(figure_8, links)
    assert set(found.detours) == {"GPU4 -> HOST -> GPU5", "GPU8 -> HOST -> GPU1"}
    assert "through the host" in found.weakest
    # The slower half of the two detours: 19,001 MB in 1.79 s, 18,473 MB in 1.74 s.
    assert found.used_bytes_per_s == pytest.approx(19001e6 / 1.79)
    at = {name: int(name[3:]) - 1 for name in found.best}
    words = [links.words[at[one]][at[other]] for one, other in pairwise((*found.best, found.best[0]))]
    assert words == ["NV1"] * 8
    assert found.is_exact
    # Links of the best ring carry what the median link in use does: 18,473 MB in 1 s.
    assert found.best_bytes_per_s == pytest.approx(18473e6, rel=0.01)
    assert found.saved_share == pytest.approx(1 - (19001 / 1.79) / 18473, abs=0.01)
    assert SEARCH_NOTE in found.notes


def test_times_are_those_of_a_ring_all_reduce(figure_8: CommMatrix, links: Links) -> None:
    found = compare_rings(figure_8, links, 8e9)
    assert found.used_s == pytest.approx(2 * 7 / 8 * 8e9 / found.used_bytes_per_s)
    assert found.best_s == pytest.approx(2 * 7 / 8 * 8e9 / found.best_bytes_per_s)
    # What each device passes on in an all-reduce is 2 (n - 1) / n of the size.
    assert compare_rings(figure_8, links).size_bytes == pytest.approx(18473e6 * 8 / 14)


def test_the_order_of_devices_counts_from_zero(figure_8: CommMatrix, links: Links) -> None:
    found = compare_rings(figure_8, links)
    assert found.order == ",".join(str(int(name[3:]) - 1) for name in found.best)
    assert sorted(found.order.split(",")) == [str(number) for number in range(8)]


def test_links_alone_give_the_best_ring(links: Links) -> None:
    found = compare_rings(None, links, 1e9)
    assert found.used == ()
    assert np.isnan(found.used_s)
    assert np.isnan(found.saved_share)
    assert len(found.best) == 8
    assert found.links["ring"].eq("best").all()


def test_traffic_alone_gives_the_ring_in_use(figure_8: CommMatrix) -> None:
    found = compare_rings(figure_8, None)
    assert len(found.used) == 8
    assert found.best == ()
    assert any("--links" in note for note in found.notes)


def test_links_that_close_no_ring_are_told() -> None:
    chain = np.array([[0, 1.0, 0], [1.0, 0, 1.0], [0, 1.0, 0]])
    found = compare_rings(None, Links(("a", "b", "c"), chain))
    assert found.best == ()
    assert "close no ring" in found.notes[-1]


def test_what_does_not_fit_is_an_error(figure_8: CommMatrix) -> None:
    with pytest.raises(DataError, match="neither traffic nor links"):
        compare_rings(None, None)
    with pytest.raises(DataError, match="8 devices, the links 2"):
        compare_rings(figure_8, Links(("a", "b"), np.ones((2, 2))))


def test_both_rings_are_taken_from_one_table_where_it_tells_both(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text(SQUARE)
    links = read_links(tmp_path / "links.csv")
    found = compare_rings(matrix_of_events(ring_recording((1, 2, 3, 4)).events), links)
    assert (found.used, set(found.best), found.order) == (("A", "B", "C", "D"), {"A", "B", "C", "D"}, "0,2,1,3")
    assert found.used_alike_bytes_per_s == pytest.approx(10e6)
    assert found.best_bytes_per_s == pytest.approx(20e6)
    assert found.saved_share == pytest.approx(0.5)
    assert not found.is_best
    # Somebody else's work slows one link down: what is compared are links, not their luck.
    late = replace(found, used_bytes_per_s=7e6)
    assert late.saved_share == pytest.approx(0.5)
    assert compare_rings(matrix_of_events(ring_recording((1, 4, 2, 3)).events), links).is_best


def test_a_topology_without_the_host_leaves_what_was_measured(figure_8: CommMatrix, links: Links) -> None:
    found = compare_rings(figure_8, links)
    assert found.used_alike_bytes_per_s == found.used_bytes_per_s
