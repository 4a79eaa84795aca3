"""Paths weighed against each other, as split attention is exported; parameters and products counted by hand."""

from __future__ import annotations

import numpy as np
from numbered_graph import GraphOfMaps

from mlperf.specs.network.layer import RESHAPES
from mlperf.specs.network.shape import Shape

MAPS, SIDE, BATCH = 8, 4, 2
PLACES = SIDE**2
MAPS_READ = (BATCH, MAPS, SIDE, SIDE)


def chosen(graph, paths):
    """Numbers of each map of each path, from the mean of their sum; ``paths`` are [batch, 2, maps, height, width]."""
    mean = graph.add("GlobalAveragePool", graph.add("ReduceSum", paths, [1], keepdims=0))
    return graph.add("Conv", mean, np.zeros((2 * MAPS, MAPS, 1, 1)))


def summed(graph, paths, weights):
    return graph.add("ReduceSum", graph.add("Mul", paths, weights), [1], keepdims=0)


WEIGHED = ["part", "part", "add", "pool", "conv", "activation", "multiply", "part", "part", "add"]


def test_paths_that_are_stacked_weighed_and_summed(tmp_path):
    """As in SKNet (Li et al., 2019): which filter size counts how much, for each map."""
    graph = GraphOfMaps(MAPS_READ)
    both = [graph.conv("x", MAPS, MAPS, size) for size in (1, 3)]
    paths = graph.add("Concat", *(graph.add("Unsqueeze", each, [1]) for each in both), axis=1)
    weights = graph.add("Softmax", graph.add("Reshape", chosen(graph, paths), [BATCH, 2, MAPS, 1, 1]), axis=1)
    net = graph.read(tmp_path, summed(graph, paths, weights))
    assert [layer.kind for layer in net.layers] == ["conv", "conv", "concat", *WEIGHED]
    assert [layer.function for layer in net.layers if layer.kind == "activation"] == ["sigmoid"]
    assert (net.n_params, net.n_macs) == ((1 + 9 + 2) * MAPS**2, (PLACES * (1 + 9) + 2) * MAPS**2)
    assert net.output_shape == Shape(MAPS, SIDE, SIDE)


def test_paths_of_one_convolution_weighed_and_summed(tmp_path):
    """As in ResNeSt (Zhang et al., 2020), whose softmax is written over turned dimensions."""
    graph = GraphOfMaps(MAPS_READ)
    paths = graph.add("Reshape", graph.add("Conv", "x", np.zeros((2 * MAPS, MAPS, 1, 1))), [BATCH, 2, MAPS, SIDE, SIDE])
    found = graph.add("Transpose", graph.add("Reshape", chosen(graph, paths), [BATCH, 1, 2, -1]), perm=[0, 2, 1, 3])
    rows = graph.add("Reshape", graph.add("Softmax", found, axis=1), [BATCH, -1])
    weights = graph.add("Reshape", graph.add("Reshape", rows, [BATCH, -1, 1, 1]), [BATCH, 2, MAPS, 1, 1])
    net = graph.read(tmp_path, summed(graph, paths, weights))
    assert [layer.kind for layer in net.layers if layer.kind not in RESHAPES] == ["conv", *WEIGHED]
    assert (net.n_params, net.n_macs) == ((2 + 2) * MAPS**2, (PLACES * 2 + 2) * MAPS**2)
    assert net.output_shape == Shape(MAPS, SIDE, SIDE)
