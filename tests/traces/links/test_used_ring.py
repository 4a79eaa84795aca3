from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from figure_8 import FIGURE_8

from mlperf.traces.links.matrix import CommMatrix
from mlperf.traces.links.matrix_file import read_matrix
from mlperf.traces.links.used_ring import bandwidth_of, used_ring


@pytest.fixture
def figure_8(tmp_path: Path) -> CommMatrix:
    path = tmp_path / "figure8.txt"
    path.write_text(FIGURE_8)
    return read_matrix(path)


def traffic(places: tuple[str, ...], sent: dict[tuple[str, str], float]) -> CommMatrix:
    bytes_sent = np.zeros((len(places), len(places)))
    for (one, other), size in sent.items():
        bytes_sent[places.index(one), places.index(other)] = size
    return CommMatrix("made", places, bytes_sent, bytes_sent / 1e9, (bytes_sent > 0).astype(np.int64))


def test_figure_8_is_a_ring_with_two_steps_through_the_host(figure_8: CommMatrix) -> None:
    found = used_ring(figure_8)
    assert found.order == tuple(f"GPU{number}" for number in range(1, 9))
    assert {str(each) for each in found.detours} == {"GPU4 -> HOST -> GPU5", "GPU8 -> HOST -> GPU1"}
    assert found.ring_bytes == 18473e6
    assert found.why == ""


@pytest.mark.parametrize("seed", range(20))
def test_planted_rings_with_broadcasts_and_detours_are_read(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    names = tuple(f"GPU{number}" for number in range(n))
    places = ("HOST", *names)
    order = (names[0], *rng.permutation(np.array(names[1:])).tolist())
    through = set(rng.choice(n, int(rng.integers(0, min(3, n - 1))), replace=False).tolist())
    sent: dict[tuple[str, str], float] = {}
    for place in range(n):
        step = (order[place], order[(place + 1) % n])
        if place in through:
            sent[step[0], "HOST"] = sent["HOST", step[1]] = 100.0
        else:
            sent[step] = 100.0
    for name in names[1:]:
        # One device sends a little to all.
        sent[names[0], name] = sent.get((names[0], name), 0.0) + 3.0
    found = used_ring(traffic(places, sent))
    assert len(found.detours) == len(through)
    if len(through) < 2:
        assert found.order == order
        assert {(each.sender, each.receiver) for each in found.detours} == {
            (order[place], order[(place + 1) % n]) for place in through
        }
    assert sorted(found.order) == sorted(names)


def test_traffic_that_is_no_ring_is_said_to_be_none() -> None:
    places = ("a", "b", "c")
    everyone = {(one, other): 5.0 for one in places for other in places if one != other}
    assert "several others" in used_ring(traffic(places, everyone)).why
    assert "no device sends" in used_ring(traffic(places, {})).why
    assert "does not close" in used_ring(traffic(places, {("a", "b"): 5.0, ("b", "c"): 5.0})).why
    assert used_ring(traffic(places, everyone)).order == ()


def test_measured_bandwidth_leaves_the_host_out(figure_8: CommMatrix) -> None:
    rates = bandwidth_of(figure_8)
    assert rates.shape == (8, 8)
    assert rates[0, 1] == pytest.approx(19001e6 / 1.03)
    assert rates[3, 4] == 0
