"""Windows, heads and maps laid out anew, as Swin, MaxViT and others are exported; parameters and products counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numbered_graph import GraphOfMaps

from mlperf.core.errors import DataError
from mlperf.specs.network.layer import RESHAPES
from mlperf.specs.network.shape import Shape

MAPS, SIDE, WINDOW, N_HEADS, BATCH = 8, 4, 2, 2, 2
EACH, PLACES, INSIDE, N_WINDOWS = MAPS // N_HEADS, SIDE**2, WINDOW**2, (SIDE // WINDOW) ** 2
PROJECTIONS = 4 * MAPS * (MAPS + 1)
MACS = PLACES * 4 * MAPS**2 + 2 * PLACES * INSIDE * MAPS


class Graph(GraphOfMaps):
    """Nodes from maps x of 4 x 4, linear layers as wide as these."""

    def __init__(self, shape: tuple[int, ...] = (BATCH, MAPS, SIDE, SIDE)) -> None:
        super().__init__(shape)

    def linear(self, source, n_maps=MAPS, n_inputs=MAPS):
        return super().linear(source, n_maps, n_inputs)


def rolled(graph, source, axis, first):
    end = graph.add("Slice", source, [first], [2**63 - 1], [axis], [1])
    return graph.add("Concat", end, graph.add("Slice", source, [0], [first], [axis], [1]), axis=axis)


def in_windows(graph, source):
    n = SIDE // WINDOW
    found = graph.add("Reshape", source, [BATCH, n, WINDOW, n, WINDOW, MAPS])
    return graph.add("Reshape", graph.add("Transpose", found, perm=[0, 1, 3, 2, 4, 5]), [-1, INSIDE, MAPS])


def out_of_windows(graph, source):
    n = SIDE // WINDOW
    found = graph.add("Reshape", source, [BATCH, n, n, WINDOW, WINDOW, MAPS])
    return graph.add("Reshape", graph.add("Transpose", found, perm=[0, 1, 3, 2, 4, 5]), [BATCH, SIDE, SIDE, MAPS])


def fused(graph, source):
    found = graph.add("Reshape", graph.linear(source, 3 * MAPS), [-1, INSIDE, 3, N_HEADS, EACH])
    parts = graph.add("Split", graph.add("Transpose", found, perm=[2, 0, 3, 1, 4]), [1, 1, 1], n_outputs=3, axis=0)
    return [graph.add("Squeeze", part, [0]) for part in parts]


def shifted_windows(graph, *, scale=None):
    """A block of Swin: rolled both ways, masked by window, with a table of relative positions; norms within windows, too."""
    last = graph.add("Transpose", "x", perm=[0, 2, 3, 1])
    windows = in_windows(graph, rolled(graph, rolled(graph, last, 1, 1), 2, 1))
    queries, keys, values = fused(graph, graph.add("LayerNormalization", windows, np.ones(MAPS), np.zeros(MAPS), axis=-1))
    if scale is not None:
        queries, keys = (unit_length(graph, each) for each in (queries, keys))
    scores = graph.add("MatMul", queries, graph.add("Transpose", keys, perm=[0, 1, 3, 2]))
    if scale is not None:
        scores = graph.add("Mul", scores, graph.add("Exp", scale))
    table = graph.add("Gather", np.zeros(((2 * WINDOW - 1) ** 2, N_HEADS)), np.zeros(INSIDE**2, np.int64))
    table = graph.add("Transpose", graph.add("Reshape", table, [INSIDE, INSIDE, N_HEADS]), perm=[2, 0, 1])
    scores = graph.add("Add", scores, graph.add("Unsqueeze", table, [0]))
    scores = graph.add("Reshape", scores, [BATCH, N_WINDOWS, N_HEADS, INSIDE, INSIDE])
    scores = graph.add("Add", scores, np.zeros((1, N_WINDOWS, 1, INSIDE, INSIDE)))
    scores = graph.add("Reshape", scores, [-1, N_HEADS, INSIDE, INSIDE])
    found = graph.add("MatMul", graph.add("Softmax", scores), values)
    found = graph.add("Reshape", graph.add("Transpose", found, perm=[0, 2, 1, 3]), [-1, INSIDE, MAPS])
    return out_of_windows(graph, graph.linear(found))


def unit_length(graph, source):
    length = graph.add("Clip", graph.add("ReduceL2", source, axes=[-1]), 1e-12)
    return graph.add("Div", source, graph.add("Expand", length, graph.add("Shape", source)))


def test_attention_in_shifted_windows(tmp_path):
    graph = Graph()
    found = graph.read(tmp_path, shifted_windows(graph))
    core = next(layer for layer in found.layers if layer.kind == "attend")
    assert (core.n_heads, core.groups, core.n_biases) == (N_HEADS, N_WINDOWS, 9 * N_HEADS)
    assert (found.n_params, found.n_macs) == (PROJECTIONS + 2 * MAPS + 9 * N_HEADS, MACS)
    assert [layer.kind for layer in found.layers] == ["part", "layer_norm", "conv", "part", "part", "part", "attend", "conv"]
    assert found.output_shape == Shape(MAPS, SIDE, SIDE)


def test_cosines_in_windows_with_a_learnt_scale_of_each_head(tmp_path):
    """Swin V2: queries and keys of each head have length 1, one number a head is learnt."""
    graph = Graph()
    found = graph.read(tmp_path, shifted_windows(graph, scale=np.zeros((N_HEADS, 1, 1))))
    assert next(layer for layer in found.layers if layer.kind == "attend").n_biases == 10 * N_HEADS
    assert [layer.kind for layer in found.layers].count("layer_norm") == 3
    assert (found.n_params, found.n_macs) == (PROJECTIONS + 2 * MAPS + 10 * N_HEADS, MACS)


def test_maps_of_length_one_over_all_tokens_meet_maps(tmp_path):
    """Attention among the maps of each head, as in EdgeNeXt and XCiT, with a learnt number of each head."""
    graph = tokens()
    found = graph.add("Reshape", graph.linear("x", 3 * MAPS), [BATCH, 6, 3, N_HEADS, EACH])
    parts = graph.add("Split", graph.add("Transpose", found, perm=[2, 0, 3, 4, 1]), [1, 1, 1], n_outputs=3, axis=0)
    queries, keys, values = (graph.add("Squeeze", part, [0]) for part in parts)
    queries, keys = (unit_length(graph, each) for each in (queries, keys))
    scores = graph.add("MatMul", queries, graph.add("Transpose", keys, perm=[0, 1, 3, 2]))
    weights = graph.add("Softmax", graph.add("Mul", scores, np.ones((N_HEADS, 1, 1))))
    found = graph.add("Transpose", graph.add("MatMul", weights, values), perm=[0, 3, 1, 2])
    net = graph.read(tmp_path, graph.linear(graph.add("Reshape", found, [BATCH, 6, MAPS])))
    core = next(layer for layer in net.layers if layer.kind == "attend")
    assert (core.n_heads, core.groups, core.n_biases) == (1, N_HEADS, N_HEADS)
    norms = [layer.name for layer in net.layers if layer.kind == "layer_norm"]
    assert [net.shapes[name] for name in norms] == [Shape(6, MAPS, 1)] * 2
    assert (net.n_params, net.n_macs) == (PROJECTIONS + N_HEADS, 6 * 4 * MAPS**2 + 2 * 6 * MAPS * EACH)
    assert net.output_shape == Shape(MAPS, 6, 1)


def tokens(n=6):
    return Graph((BATCH, n, MAPS))


def heads_of(graph, source, n_heads=N_HEADS, perm=(0, 2, 1, 3)):
    found = graph.add("Reshape", source, [BATCH, -1, n_heads, EACH])
    return graph.add("Transpose", found, perm=list(perm))


def test_norms_of_each_head_learn_as_many_numbers_as_it_has_maps(tmp_path):
    graph = tokens()
    queries, keys, values = (heads_of(graph, graph.linear("x")) for _ in range(3))
    queries, keys = (graph.add("LayerNormalization", each, np.ones(EACH), np.zeros(EACH), axis=-1) for each in (queries, keys))
    scores = graph.add("MatMul", queries, graph.add("Transpose", keys, perm=[0, 1, 3, 2]))
    found = graph.add("Transpose", graph.add("MatMul", graph.add("Softmax", scores), values), perm=[0, 2, 1, 3])
    found = graph.read(tmp_path, graph.linear(graph.add("Reshape", found, [BATCH, 6, MAPS])))
    assert (found.n_params, found.n_macs) == (PROJECTIONS + 4 * EACH, 6 * 4 * MAPS**2 + 2 * 36 * MAPS)


def rotated(graph, source):
    """All tokens but the first: x cos + (-x2, x1) sin."""
    first, rest = (graph.add("Slice", source, [a], [b], [2], [1]) for a, b in ((0, 1), (1, 2**63 - 1)))
    half = [graph.add("Slice", rest, [a], [2**63 - 1], [3], [2]) for a in (1, 0)]
    pair = [graph.add("Unsqueeze", each, [4]) for each in (graph.add("Neg", half[0]), half[1])]
    swapped = graph.add("Reshape", graph.add("Concat", *pair, axis=4), [BATCH, N_HEADS, 5, EACH])
    table = np.zeros((5, EACH))
    turned = graph.add("Add", graph.add("Mul", rest, table), graph.add("Mul", swapped, table))
    return graph.add("Concat", first, turned, axis=2)


def test_rotated_queries_and_keys(tmp_path):
    graph = tokens()
    queries, keys, values = (heads_of(graph, graph.linear("x")) for _ in range(3))
    queries, keys = rotated(graph, queries), rotated(graph, keys)
    scores = graph.add("MatMul", queries, graph.add("Transpose", keys, perm=[0, 1, 3, 2]))
    found = graph.add("Transpose", graph.add("MatMul", graph.add("Softmax", scores), values), perm=[0, 2, 1, 3])
    found = graph.read(tmp_path, graph.linear(graph.add("Reshape", found, [BATCH, 6, MAPS])))
    assert (found.n_params, found.n_macs) == (PROJECTIONS, 6 * 4 * MAPS**2 + 2 * 36 * MAPS)
    assert [layer.kind for layer in found.layers].count("activation") == 2


def test_one_head_of_keys_and_values_for_all_queries(tmp_path):
    graph = tokens()
    queries = heads_of(graph, graph.linear("x"))
    keys, values = (heads_of(graph, graph.linear("x", EACH), 1) for _ in range(2))
    scores = graph.add("MatMul", queries, graph.add("Transpose", keys, perm=[0, 1, 3, 2]))
    found = graph.add("Transpose", graph.add("MatMul", graph.add("Softmax", scores), values), perm=[0, 2, 1, 3])
    found = graph.read(tmp_path, graph.linear(graph.add("Reshape", found, [BATCH, 6, MAPS])))
    width = 2 * (MAPS + EACH)
    assert (found.n_params, found.n_macs) == (width * (MAPS + 1), 6 * width * MAPS + 2 * 36 * MAPS)


def test_products_by_the_names_of_dimensions(tmp_path):
    """As einsum writes them; what is written has the heads where their maps follow."""
    graph = tokens()
    queries, keys, values = (heads_of(graph, graph.linear("x")) for _ in range(3))
    scores = graph.add("Einsum", queries, keys, equation="b h i d, b h j d -> b h i j")
    found = graph.add("Einsum", graph.add("Softmax", scores), values, equation="bhij,bhjd->bihd")
    found = graph.read(tmp_path, graph.linear(graph.add("Reshape", found, [BATCH, 6, MAPS])))
    assert [layer.kind for layer in found.layers] == ["attention"]
    assert found.n_params == PROJECTIONS


@pytest.mark.parametrize("as_slices", [False, True])
def test_squares_of_places_become_maps(as_slices, tmp_path):
    """The merging of patches before the next stage of Swin, as torchvision and as timm write it."""
    graph = Graph()
    last = graph.add("Transpose", "x", perm=[0, 2, 3, 1])
    if as_slices:
        parts = []
        for row, column in ((0, 0), (1, 0), (0, 1), (1, 1)):
            rows = graph.add("Slice", last, [row], [2**63 - 1], [1], [2])
            parts.append(graph.add("Slice", rows, [column], [2**63 - 1], [2], [2]))
        merged = graph.add("Concat", *parts, axis=-1)
    else:
        apart = graph.add("Reshape", last, [BATCH, 2, 2, 2, 2, MAPS])
        merged = graph.add("Reshape", graph.add("Transpose", apart, perm=[0, 1, 3, 4, 2, 5]), [BATCH, 2, 2, 4 * MAPS])
    found = graph.read(tmp_path, graph.linear(merged, 3, 4 * MAPS))
    assert [layer.kind for layer in found.layers] == ["part", "unflatten", "conv"]
    assert (found.n_params, found.n_macs, found.output_shape) == (3 * (4 * MAPS + 1), 4 * 4 * MAPS * 3, Shape(3, 2, 2))


def test_layers_over_tokens_turn_tokens_and_maps(tmp_path):
    """An MLP-Mixer: linear layers from 6 tokens to 5 and back, added to what they read."""
    graph = tokens()
    turned = graph.linear(graph.linear(graph.add("Transpose", "x", perm=[0, 2, 1]), 5, 6), 6, 5)
    found = graph.read(tmp_path, graph.add("Add", "x", graph.add("Transpose", turned, perm=[0, 2, 1])))
    assert (found.n_params, found.n_macs) == (5 * 7 + 6 * 6, 2 * MAPS * 30)
    assert found.output_shape == Shape(MAPS, 6, 1)


def test_registers_before_the_others_and_a_mean_without_them(tmp_path):
    graph = tokens()
    joined = graph.add("Concat", np.zeros((1, 1, MAPS)), np.zeros((1, 3, MAPS)), "x", axis=1)
    rest = graph.add("Slice", joined, [4], [2**63 - 1], [1], [1])
    found = graph.read(tmp_path, graph.add("ReduceMean", rest, axes=[1], keepdims=0))
    assert [(layer.kind, layer.n_tokens) for layer in found.layers] == [("class_token", 4), ("select_token", 6), ("pool", 1)]
    assert found.n_params == 4 * MAPS


@pytest.mark.parametrize(("keeps", "mode"), [(0, "Max"), (1, "Max"), (0, "Mean")])
def test_the_largest_of_each_square_of_places_is_a_pool(keeps, mode, tmp_path):
    """As Hiera (Ryali et al., 2023) makes its maps smaller, whose places of a square stand side by side."""
    graph, n = Graph(), SIDE // WINDOW
    found = graph.add("Reshape", graph.add("Transpose", "x", perm=[0, 2, 3, 1]), [BATCH, n, WINDOW, n, WINDOW, MAPS])
    squares = graph.add("Reshape", graph.add("Transpose", found, perm=[0, 2, 4, 1, 3, 5]), [BATCH, WINDOW**2, n**2, MAPS])
    best = graph.add(f"Reduce{mode}", squares, axes=[1], keepdims=keeps)
    net = graph.read(tmp_path, graph.linear(graph.add("Reshape", best, [BATCH, n**2, MAPS]), n_maps=3))
    assert [layer.kind for layer in net.layers if layer.kind not in RESHAPES] == ["pool", "conv"]
    pool = net.layers[0]
    assert (pool.filter_size, pool.stride, net.shapes[pool.name]) == ((WINDOW, WINDOW), (WINDOW, WINDOW), Shape(MAPS, n, n))
    assert (net.n_params, net.n_macs) == (3 * (MAPS + 1), n**2 * MAPS * 3)


def test_the_largest_queries_of_a_window_meet_all_its_keys(tmp_path):
    """One query of four, within windows of two columns: heads of maps stand beside the tokens that are pooled."""
    graph = Graph()
    maps = graph.add("Transpose", "x", perm=[0, 2, 3, 1])
    queries, keys, values = (graph.add("Reshape", graph.linear(maps), [BATCH, 4, PLACES // 4, N_HEADS, EACH]) for _ in range(3))
    queries = graph.add("Transpose", graph.add("ReduceMax", queries, axes=[1], keepdims=0), perm=[0, 2, 1, 3])
    keys, values = (graph.add("Reshape", each, [BATCH, PLACES, N_HEADS, EACH]) for each in (keys, values))
    scores = graph.add("MatMul", queries, graph.add("Transpose", keys, perm=[0, 2, 3, 1]))
    found = graph.add("MatMul", graph.add("Softmax", scores), graph.add("Transpose", values, perm=[0, 2, 1, 3]))
    found = graph.add("Reshape", graph.add("Transpose", found, perm=[0, 2, 1, 3]), [BATCH, PLACES // 4, MAPS])
    net = graph.read(tmp_path, graph.linear(found))
    core = next(layer for layer in net.layers if layer.kind == "attend")
    assert net.shapes[core.name].map_size == PLACES // 4
    expected = PLACES * 3 * MAPS**2 + PLACES // 4 * (MAPS**2 + 2 * PLACES * MAPS)
    assert (net.n_params, net.n_macs) == (PROJECTIONS, expected)


@pytest.mark.parametrize("n_copies", [1, N_WINDOWS])
def test_queries_of_the_whole_picture_meet_the_keys_of_every_window(n_copies, tmp_path):
    """As in GC ViT (Hatamizadeh et al., 2023): the same queries, repeated for every window."""
    graph = Graph()
    small = graph.add("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2])
    pooled, maps = (graph.add("Transpose", each, perm=[0, 2, 3, 1]) for each in (small, "x"))
    queries = graph.add("Reshape", graph.linear(pooled), [BATCH, 1, WINDOW, WINDOW, MAPS])
    queries = graph.add("Tile", graph.add("Tile", queries, [1, N_WINDOWS // n_copies, 1, 1, 1]), [1, n_copies, 1, 1, 1])
    queries = graph.add("Reshape", queries, [BATCH * N_WINDOWS, INSIDE, N_HEADS, EACH])
    keys, values = (graph.add("Reshape", in_windows(graph, graph.linear(maps)), [-1, INSIDE, N_HEADS, EACH]) for _ in range(2))
    queries, values = (graph.add("Transpose", each, perm=[0, 2, 1, 3]) for each in (queries, values))
    scores = graph.add("MatMul", queries, graph.add("Transpose", keys, perm=[0, 2, 3, 1]))
    found = graph.add("Transpose", graph.add("MatMul", graph.add("Softmax", scores), values), perm=[0, 2, 1, 3])
    found = graph.linear(out_of_windows(graph, graph.add("Reshape", found, [-1, INSIDE, MAPS])))
    net = graph.read(tmp_path, graph.add("Add", maps, found))
    core = next(layer for layer in net.layers if layer.kind == "attend")
    assert (core.groups, net.shapes[core.name].map_size) == (N_WINDOWS, PLACES)
    assert [net.shapes[layer.name].map_size for layer in net.layers if layer.kind == "resize"] == [PLACES]
    assert (net.n_params, net.n_macs) == (PROJECTIONS, MACS - (PLACES - INSIDE) * MAPS**2)


def test_products_without_a_softmax_between_say_where_and_what_to_do(tmp_path):
    """Keys with values first, as in linear attention (Katharopoulos et al., 2020)."""
    graph = tokens()
    queries, keys, values = (heads_of(graph, graph.linear("x"), perm=(0, 2, 1, 3)) for _ in range(3))
    among = graph.add("MatMul", graph.add("Transpose", keys, perm=[0, 1, 3, 2]), values)
    found = graph.add("MatMul", queries, among)
    with pytest.raises(DataError, match=f"node '{found}': got the operation MatMul of heads or windows.*\n.*TOML"):
        graph.read(tmp_path, found)
