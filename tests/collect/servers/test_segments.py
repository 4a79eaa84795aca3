"""Stripes together are the layer, copies and threads share out the samples."""

from __future__ import annotations

import numpy as np

from mlperf.collect.servers.layout import Layout
from mlperf.collect.servers.learning import forward_all
from mlperf.collect.servers.net import Net
from mlperf.collect.servers.segments import segments_of, warm
from mlperf.systems.model_parallel.plans import LayerPlan


def layout(net: Net, n_stripes: int, n_copies: int = 1, n_threads: int = 1) -> Layout:
    return Layout(net, tuple(LayerPlan(min(n_stripes, layer.rows), n_copies, n_threads) for layer in net.layers))


def test_stripes_joined_are_the_whole_layer(conv: Net) -> None:
    weights, spread = conv.first_weights(0), layout(conv, 3)
    image = np.random.default_rng(0).random((8, 8)).astype(np.float32)
    values = forward_all(conv, weights, image[None])
    for number, layer in enumerate(conv.layers):
        below = image if number == 0 else values[number].reshape(-1, conv.layers[number - 1].per)
        parts = []
        for worker in range(3):
            segment = segments_of(spread, worker, weights, "blas")[number]
            low, high = spread.needs(number, worker)
            segment.forward(0, 0, below[low:high])
            parts.append(segment.activations[0].ravel())
        assert np.allclose(np.concatenate(parts), values[number + 1].ravel(), atol=1e-6), layer.name


def test_waves_share_out_every_sample_once(dense: Net) -> None:
    spread = layout(dense, 1, n_copies=2, n_threads=2)
    waves = [list(segments_of(spread, worker, dense.first_weights(0), "blas")[0].waves(8)) for worker in range(2)]
    assert waves == [[[0, 2], [4, 6]], [[1, 3], [5, 7]]]


def test_a_worker_beyond_the_hosts_has_no_segment_and_warming_leaves_no_gradient(dense: Net) -> None:
    spread = Layout(dense, (LayerPlan(2, 1, 1), LayerPlan(1, 1, 1)))
    first, second = segments_of(spread, 1, dense.first_weights(0), "blas")
    assert second is None
    warm([first, second])
    assert not first.gradient().any()
