"""Equations 5 to 9 by hand on a network of two layers; threads by trying all; exchanges in their limits."""

from __future__ import annotations

import numpy as np
import pytest
from partition_networks import CLUSTER, IMAGENET

from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.costs import best_threads, copies_sync_s, segment_passes
from mlperf.systems.model_parallel.layers import LayerTable

HAND = Constants(np.array([1.0]), np.array([1e-9]), 1e-8, 2e-8, np.array([1.0, 1.2]), np.array([1e-4, 1.5e-4]), 1e9, 1e-9)
TWO = LayerTable(
    "two",
    ("hidden", "output"),
    ("fc", "fc"),
    np.array([10, 4]),
    np.ones(2),
    np.array([60.0, 40.0]),
    np.array([70.0, 44.0]),
    *(np.array(each) for each in ([1, 1], [1, 1], [0, 0])),
)


def test_passes_by_hand() -> None:
    """Six inputs, ten neurons, four outputs; three stripes: the largest has four of the ten neurons."""
    found = segment_passes(TWO, 0, np.array([1, 3]), HAND)
    assert found.forward_s == pytest.approx([60e-9 + 10 * 1e-8, 24e-9 + 4 * 1e-8])
    assert found.backward_s == pytest.approx([40e-9 + 10 * 2e-8, 16e-9 + 4 * 2e-8])
    assert found.update_s == pytest.approx([60e-9, 24e-9])
    last = segment_passes(TWO, 1, np.array([1]), HAND)
    assert last.backward_s == pytest.approx([4 * 2e-8])
    assert found.total_s[0] == pytest.approx(160e-9 + 300e-9)


def test_a_pool_updates_nothing() -> None:
    assert segment_passes(IMAGENET, 1, np.array([1]), CLUSTER).update_s.tolist() == [0.0]


def test_threads_by_trying_all() -> None:
    work = 460e-9
    choice = best_threads(TWO, 0, 1, HAND)
    for sides in range(3):
        each = [(work + sides * 1e-4) / 1, (1.2 * work + sides * 1.5e-4) / 2]
        assert choice.cost_s[0, sides] == pytest.approx(min(each))
        assert choice.n_threads[0, sides] == 1 + int(np.argmin(each))


def test_copies_exchange_in_a_ring() -> None:
    """Three copies of a full connection: four latencies, four thirds of the weights; of a convolution stripes count as well."""
    found = copies_sync_s(TWO, 0, np.array([1, 2, 1]), np.array([3, 1, 1]), HAND)
    assert found == pytest.approx([4e-4 + 4 / 3 * 70 * 4 / 1e9, 0.0, 0.0])
    stripes = copies_sync_s(IMAGENET, 0, np.array([2]), np.array([2]), CLUSTER)
    assert stripes == pytest.approx([6 * 5e-5 + 1.5 * 15_616 * 4e-9])
    assert copies_sync_s(IMAGENET, 1, np.array([2]), np.array([2]), CLUSTER).tolist() == [0.0]
