"""What messages say where attention, resizing and padding are other than any layer."""

from __future__ import annotations

import numpy as np
import pytest
from numbered_graph import GraphOfMaps

from mlperf.core.errors import DataError

TOKENS, MAPS, HEADS, EACH = 6, 8, 4, 2


def refused(graph, output, tmp_path):
    with pytest.raises(DataError) as caught:
        graph.read(tmp_path, output)
    return str(caught.value)


def heads_of(graph, perm):
    cut = graph.add("Reshape", graph.linear("x", MAPS, MAPS), [1, TOKENS, HEADS, EACH])
    return graph.add("Transpose", cut, perm=perm)


def test_layers_over_the_heads_of_scores_are_called_so(tmp_path):
    graph = GraphOfMaps((1, TOKENS, MAPS))
    scores = graph.add("MatMul", heads_of(graph, [0, 2, 1, 3]), heads_of(graph, [0, 2, 3, 1]))
    found = refused(graph, graph.conv(scores, HEADS, HEADS), tmp_path)
    assert "of scores of attention" in found
    assert "talking heads" in found
    assert "TOML" in found


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda graph, heads: graph.conv(heads, HEADS, HEADS, size=3), "share the weights of a convolution"),
        (lambda graph, heads: graph.add("Relu", heads), "without a softmax over scores"),
        (lambda graph, heads: graph.add("MatMul", heads, np.zeros((EACH, TOKENS))), "queries with positions"),
    ],
)
def test_what_is_made_of_heads_is_called_what_it_is(write, words, tmp_path):
    graph = GraphOfMaps((1, TOKENS, MAPS))
    half = graph.add("Slice", heads_of(graph, [0, 2, 1, 3]), [0], [1], [3])
    found = refused(graph, write(graph, half), tmp_path)
    assert "of heads or windows" in found
    assert words in found


def test_a_cubic_resize_names_the_modes_that_there_are(tmp_path):
    graph = GraphOfMaps((1, 3, 8, 8))
    found = refused(graph, graph.add("Resize", "x", "", "", [1, 3, 6, 6], mode="cubic"), tmp_path)
    assert "nearest or (bi)linear" in found


def test_padding_of_maps_that_stand_last_asks_for_another_size(tmp_path):
    graph = GraphOfMaps((1, 3, 8, 8))
    turned = graph.add("Transpose", graph.conv("x", 4, 3), perm=[0, 2, 3, 1])
    found = refused(graph, graph.add("Relu", graph.add("Pad", turned, [0, 0, 0, 0, 0, 2, 2, 0])), tmp_path)
    assert "input size that windows divide" in found
