"""Equations 5, 7, 8 and 9 by hand on a network of two layers."""

from __future__ import annotations

import numpy as np
import pytest
from partition_examples import cluster, network

from mlperf.systems.model_parallel.costs import best_threads, copies_sync_s, segment_passes, server_sync_s

TWO = network("two", 4, 1, [("conv", 2, 3, 1, 1), ("fc", 6)])
MACHINE = cluster(2, cache_bytes=1e9)
MULADD, VALUE = 2e-10, 2e-9
"""Everything lies in the cache."""


def test_passes_by_hand() -> None:
    # 4 x 4 places of 2 maps by windows of 9 of one map: 288; 32 neurons into 6: 192.
    first, last = (segment_passes(TWO, layer, np.array([1, 2]), MACHINE) for layer in (0, 1))
    np.testing.assert_allclose(first.forward_s, [288 * MULADD + 32 * VALUE, 144 * MULADD + 16 * VALUE])
    np.testing.assert_allclose(first.backward_s, [192 * MULADD + 32 * VALUE, 96 * MULADD + 16 * VALUE])
    np.testing.assert_allclose(first.update_s, [288 * MULADD, 144 * MULADD])
    np.testing.assert_allclose(last.backward_s, [6 * VALUE, 3 * VALUE])
    np.testing.assert_allclose(last.total_s, first.total_s * 0 + [2 * 192 * MULADD + 12 * VALUE, 192 * MULADD + 6 * VALUE])


def test_pools_have_nothing_to_update() -> None:
    pooled = network("pooled", 8, 2, [("pool", 2, 2), ("fc", 3)])
    assert segment_passes(pooled, 0, np.array([1, 4]), MACHINE).update_s.tolist() == [0.0, 0.0]
    assert copies_sync_s(pooled, 0, np.array([4]), np.array([2]), MACHINE)[0] == 0.0


def test_threads_trade_interference_for_samples_in_flight() -> None:
    busy = cluster(3, interference=np.array([1.0, 1.1, 3.9]), latency_s=np.zeros(3))
    assert best_threads(TWO, 0, 1, busy).n_threads[0].tolist() == [2, 2, 2]
    slow = cluster(2, interference=np.array([1.0, 1.0]), latency_s=np.array([1e-3, 5e-3]))
    choice = best_threads(TWO, 0, 1, slow)
    assert choice.n_threads[0].tolist() == [2, 1, 1]
    work = segment_passes(TWO, 0, np.array([1]), slow).total_s[0]
    np.testing.assert_allclose(choice.cost_s[0], [work / 2, work + 1e-3, work + 2e-3])


def test_a_ring_over_those_that_hold_the_same_parameters() -> None:
    latency, byte_s = 5e-5, 4e-9
    of_maps = copies_sync_s(TWO, 0, np.array([2, 1]), np.array([2, 1]), MACHINE)
    np.testing.assert_allclose(of_maps, [2 * 3 * latency + 2 * 3 / 4 * 20 * byte_s, 0.0])
    of_neurons = copies_sync_s(TWO, 1, np.array([2, 6]), np.array([3, 1]), MACHINE)
    np.testing.assert_allclose(of_neurons, [2 * 2 * latency + 2 * 2 / 3 * (33 * 6 / 2) * byte_s, 0.0])


def test_the_slower_of_the_links_of_workers_and_of_servers() -> None:
    params = 1e6
    one_link = 2 * (5e-5 + params / 4 * 4e-9)
    assert float(server_sync_s(params, 4, 2, 100, MACHINE)) == pytest.approx(one_link)
    assert float(server_sync_s(params, 4, 2, 1, MACHINE)) == pytest.approx(2 * params * (2 * 4e-9 + 4e-10))
    assert float(server_sync_s(params, 4, 1, 0, MACHINE)) == 0.0
