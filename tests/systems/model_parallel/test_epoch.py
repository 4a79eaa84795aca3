"""From layers to an epoch: sums, shapes of the paper's figure 2, and plans that cannot run."""

from __future__ import annotations

import numpy as np
import pytest
from partition_examples import IMAGENET100, MNIST, cluster

from mlperf.core.errors import DataError
from mlperf.systems.model_parallel.costs import segment_passes, server_sync_s
from mlperf.systems.model_parallel.epoch import epoch_s, period_s, sample_times
from mlperf.systems.model_parallel.layers import LayerTable

BATCH = 100


def speed_ups(table: LayerTable, counts: tuple[int, ...]) -> list[float]:
    """Of P stripes everywhere over one machine, one thread."""
    ones = [1] * table.n_layers
    times = [
        sample_times(table, cluster(1), [min(count, int(rows)) for rows in table.rows], ones, BATCH).sample_s for count in counts
    ]
    return [times[0] / time for time in times]


def test_one_machine_with_one_thread_computes_and_nothing_else() -> None:
    for table in (MNIST, IMAGENET100):
        ones = [1] * table.n_layers
        plain = sum(float(segment_passes(table, layer, np.array([1]), cluster()).total_s[0]) for layer in range(table.n_layers))
        assert sample_times(table, cluster(), ones, ones, BATCH, ones).sample_s == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize(("table", "one", "sixteen"), [(IMAGENET100, 0.242948, 0.022017), (MNIST, 0.003351, 0.000304)])
def test_threads(table: LayerTable, one: float, sixteen: float) -> None:
    ones = [1] * table.n_layers
    assert sample_times(table, cluster(1), ones, ones, BATCH).sample_s == pytest.approx(one, abs=5e-7)
    assert sample_times(table, cluster(16), ones, ones, BATCH).sample_s == pytest.approx(sixteen, abs=5e-7)


def test_model_parallelism_is_super_linear_while_the_working_set_moves_into_the_cache() -> None:
    np.testing.assert_allclose(speed_ups(IMAGENET100, (1, 2, 4, 8, 16)), [1, 2.055, 4.199, 7.518, 13.98], atol=2e-3)
    np.testing.assert_allclose(speed_ups(MNIST, (1, 2, 4, 8, 16)), [1, 1.684, 2.891, 4.503, 6.247], atol=6e-4)


def replicated(table: LayerTable, n_replicas: int, n_servers: int) -> float:
    """Epoch of replicas of one machine, all threads."""
    ones = [1] * table.n_layers
    tau = sample_times(table, cluster(), ones, ones, BATCH).sample_s
    sync = server_sync_s(table.all_params, 1, n_replicas, n_servers, cluster())
    return float(epoch_s(period_s(np.array(tau), sync, BATCH, synchronous=False), np.array(n_replicas), BATCH, 10_000))


def test_replicas_are_linear_where_computing_bounds_and_servers_saturate() -> None:
    def over_first(times: list[float]) -> list[float]:
        return [times[0] / time for time in times]

    alone = [replicated(IMAGENET100, count, 8) for count in (1, 2, 4, 8)]
    np.testing.assert_allclose(over_first(alone), [1, 2, 4, 8], rtol=1e-12)
    servers = [replicated(MNIST, 4, count) for count in (1, 2, 4, 8, 16)]
    np.testing.assert_allclose(over_first(servers), [1, 2, 4, 4.191, 4.191], atol=6e-4)
    flat = [replicated(IMAGENET100, 1, count) for count in (1, 2, 4, 8, 16)]
    np.testing.assert_allclose(flat, flat[0], rtol=1e-12)


def test_a_period_overlaps_or_adds() -> None:
    assert float(period_s(np.array(0.01), np.array(0.4), 100, synchronous=True)) == pytest.approx(1.4)
    assert float(period_s(np.array(0.01), np.array(0.4), 100, synchronous=False)) == pytest.approx(1.0)
    assert float(epoch_s(np.array(2.0), np.array(5.0), 100, 10_000)) == pytest.approx(40.0)


def test_plans_that_cannot_run() -> None:
    ones = [1] * 4
    with pytest.raises(DataError, match="layer 'fc4': got 11 stripes, expected 1 to its 10 rows"):
        sample_times(MNIST, cluster(), [1, 1, 1, 11], ones, BATCH)
    with pytest.raises(DataError, match="got 0 copies"):
        sample_times(MNIST, cluster(), ones, [1, 0, 1, 1], BATCH)
    with pytest.raises(DataError, match="got 17 threads, expected 1 to 16 cores"):
        sample_times(MNIST, cluster(), ones, ones, BATCH, [17, 1, 1, 1])
