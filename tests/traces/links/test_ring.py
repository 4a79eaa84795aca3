"""The best ring against all rings."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from mlperf.traces.links.ring import EXACT, best_ring, ring_of


def by_hand(links: np.ndarray) -> tuple[float, float, tuple[int, ...]] | None:
    """Widest bottleneck, then the largest sum, then the first order, of all rings."""
    both = np.minimum(links, links.T)
    n = len(both)
    found = []
    for rest in permutations(range(1, n)):
        order = (0, *rest)
        used = [both[one, other] for one, other in pairwise((*order, 0))]
        if min(used) > 0:
            found.append((-min(used), -sum(used), order))
    if not found:
        return None
    bottleneck, _, _ = min(found)
    total = min(each[1] for each in found if each[0] == bottleneck)
    order = min(each[2] for each in found if each[0] == bottleneck and each[1] <= total + 1e-9)
    return -bottleneck, -total, order


@pytest.mark.parametrize("seed", range(200))
def test_no_ring_is_better_and_none_before_is_as_good(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    # Few different whole numbers make ties, zeros take links away, and the two directions differ.
    links = rng.integers(0 if seed % 2 else 1, 5, (n, n)).astype(float)
    expected, found = by_hand(links), best_ring(links)
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (found.bottleneck, found.total, found.order) == (expected[0], pytest.approx(expected[1]), expected[2])
    assert found.is_exact


def test_two_places_and_one() -> None:
    found = best_ring(np.array([[0.0, 3.0], [2.0, 0.0]]))
    assert found is not None
    assert (found.order, found.bottleneck) == ((0, 1), 2.0)
    assert best_ring(np.zeros((2, 2))) is None
    assert best_ring(np.ones((1, 1))) is None


def test_links_that_close_no_ring() -> None:
    chain = np.zeros((4, 4))
    for one, other in ((0, 1), (1, 2), (2, 3)):
        chain[one, other] = chain[other, one] = 5.0
    assert best_ring(chain) is None


def planted(n: int, seed: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """Slow links everywhere, and one fast ring."""
    rng = np.random.default_rng(seed)
    links = rng.uniform(1.0, 2.0, (n, n))
    order = (0, *(1 + rng.permutation(n - 1)).tolist())
    for one, other in pairwise((*order, 0)):
        links[one, other] = links[other, one] = rng.uniform(8.0, 9.0)
    back = (0, *reversed(order[1:]))
    return links, min(order, back)


@pytest.mark.parametrize("n", [9, 12, EXACT])
def test_a_planted_ring_is_found_up_to_the_limit(n: int) -> None:
    links, order = planted(n, n)
    found = best_ring(links)
    assert found is not None
    assert (found.order, found.is_exact) == (order, True)


def test_beyond_the_limit_a_ring_is_labelled_and_no_exchange_betters_it() -> None:
    links, _ = planted(20, 3)
    found = best_ring(links)
    assert found is not None
    assert not found.is_exact
    assert sorted(found.order) == list(range(20))
    both = np.minimum(links, links.T)
    for first in range(1, 19):
        for last in range(first + 1, 20):
            order = (*found.order[:first], *reversed(found.order[first : last + 1]), *found.order[last + 1 :])
            tried = ring_of(order, both)
            assert (tried.bottleneck, tried.total) <= (found.bottleneck, found.total)
