"""Ranks named as the machine's places, and the rank that only passes on found without names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figure_8 import FIGURE_8
from made_rings import SQUARE, ring_recording

from mlperf.traces.links.matrix import CommMatrix, matrix_of_events
from mlperf.traces.links.matrix_file import read_matrix
from mlperf.traces.links.places import as_places
from mlperf.traces.links.topology import Links, read_links
from mlperf.traces.links.used_ring import used_ring


def between_ranks(sent: dict[tuple[int, int], float], n: int) -> CommMatrix:
    volume = np.zeros((n, n))
    for pair, size in sent.items():
        volume[pair] = size
    return CommMatrix("made", tuple(f"rank {rank}" for rank in range(n)), volume, volume / 1e6, (volume > 0).astype(np.int64))


def test_ranks_get_the_names_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text(SQUARE)
    links = read_links(tmp_path / "links.csv")
    found = as_places(matrix_of_events(ring_recording((1, 2, 3, 4)).events), links)
    assert found.places == ("HOST", "A", "B", "C", "D")
    assert used_ring(found).order == ("A", "B", "C", "D")
    # Ranks that are not in the traffic keep their names for themselves.
    part = between_ranks({(1, 3): 5.0}, 4)
    own = np.ix_([1, 3], [1, 3])
    some = CommMatrix("made", ("rank 1", "rank 3"), part.comm_matrix_bytes[own], part.seconds[own], part.messages[own])
    assert as_places(some, links).places == ("A", "C")


def test_the_rank_that_only_passes_on_is_found() -> None:
    found = as_places(matrix_of_events(ring_recording((1, 2, 3, 4)).events))
    assert found.places == ("HOST", "rank 1", "rank 2", "rank 3", "rank 4")
    assert found.notes[-1] == "rank 0 passes on what it gets: taken as the host"
    assert [str(each) for each in used_ring(found).detours] == ["rank 1 -> HOST -> rank 2", "rank 3 -> HOST -> rank 4"]


def test_figure_8_between_ranks_has_the_same_ring(tmp_path: Path) -> None:
    (tmp_path / "traffic.txt").write_text(FIGURE_8)
    told = read_matrix(tmp_path / "traffic.txt")
    ranks = CommMatrix("ranks", tuple(f"rank {n}" for n in range(9)), told.comm_matrix_bytes, told.seconds, told.messages)
    assert [int(name[5:]) for name in used_ring(as_places(ranks)).order] == [int(name[3:]) for name in used_ring(told).order]


def test_what_is_no_ring_through_one_rank_stays_as_it_is() -> None:
    ring = {(rank, (rank + 1) % 5): 1e6 for rank in range(5)}
    star = {pair: 1e6 for rank in range(1, 5) for pair in ((0, rank), (rank, 0))}
    everybody = {(one, other): 1e6 for one in range(5) for other in range(5) if one != other}
    for sent in (ring, star, everybody, {}):
        matrix = between_ranks(sent, 5)
        assert as_places(matrix) is matrix
    # As many links as ranks, and no host among them: every rank is a device.
    matrix = between_ranks(ring, 5)
    assert as_places(matrix, Links(tuple("abcde"), np.ones((5, 5)))) is matrix


def test_other_places_keep_their_names() -> None:
    matrix = CommMatrix("made", ("10.0.0.1", "10.0.0.2"), np.eye(2)[::-1], np.eye(2), np.eye(2, dtype=np.int64))
    assert as_places(matrix, Links(("HOST", "A"), np.ones((2, 2)))) is matrix
