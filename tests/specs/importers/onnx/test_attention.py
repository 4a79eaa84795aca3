"""Attention as exporters write it out, read as one layer; parameters and products counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numbered_graph import NumberedGraph
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.shape import Shape

BATCH, TOKENS, MAPS, N_HEADS = 2, 6, 8, 4
EACH = MAPS // N_HEADS
PARAMS, MACS = 4 * MAPS * (MAPS + 1), TOKENS * 4 * MAPS**2 + 2 * TOKENS**2 * MAPS


class Graph(NumberedGraph):
    """Nodes with numbered tensors; weights of zeros."""

    def __init__(self, batch: int | str = BATCH, mask=None, weights="Softmax") -> None:
        super().__init__()
        self.batch, self.mask, self.weights = batch, mask, weights

    def linear(self, source, n_inputs=MAPS, n_maps=MAPS, bias=True):
        found = self.add("MatMul", source, np.zeros((n_inputs, n_maps)))
        return self.add("Add", np.zeros(n_maps), found) if bias else found

    def weighted(self, queries, keys, values, *, scale=True):
        """Scores, their softmax with dropout, and what it makes of the values."""
        scores = self.add("MatMul", queries, keys)
        if scale:
            scores = self.add("Div", scores, 2.0)
        if self.mask is not None:
            scores = self.add("Add", scores, self.mask)
        return self.add("MatMul", self.add("Dropout", self.add(self.weights, scores)), values)

    def read(self, tmp_path, output) -> CnnSpec:
        value = helper.make_tensor_value_info
        ends = [value("x", TensorProto.FLOAT, (self.batch, TOKENS, MAPS)), value(output, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "net", ends[:1], ends[1:], self.known)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
        return from_onnx(tmp_path / "net.onnx")


def apart(graph, bias=True, linear=None):
    """Three projections, each cut into heads; keys at once transposed for the product."""
    linear = linear or graph.linear
    queries, keys, values = (graph.add("Reshape", linear("x", bias=bias), [-1, TOKENS, N_HEADS, EACH]) for _ in range(3))
    queries, values = (graph.add("Transpose", each, perm=[0, 2, 1, 3]) for each in (queries, values))
    return graph.weighted(queries, graph.add("Transpose", keys, perm=[0, 2, 3, 1]), values)


def joined(graph, found):
    return graph.add("Reshape", graph.add("Transpose", found, perm=[0, 2, 1, 3]), [-1, TOKENS, MAPS])


def fused_and_split(graph):
    """One projection to [batch, tokens, 3, heads, maps]; queries are scaled before the product."""
    found = graph.add("Reshape", graph.linear("x", n_maps=3 * MAPS), [BATCH, TOKENS, 3, N_HEADS, EACH])
    parts = graph.add("Split", graph.add("Transpose", found, perm=[2, 0, 3, 1, 4]), [1, 1, 1], n_outputs=3, axis=0)
    queries, keys, values = (graph.add("Squeeze", part, [0]) for part in parts)
    keys = graph.add("Transpose", keys, perm=[0, 1, 3, 2])
    return joined(graph, graph.weighted(graph.add("Mul", queries, 0.5), keys, values, scale=False))


def fused_and_sliced(graph):
    """One projection whose maps are sliced, each part then cut into heads."""
    found, heads = graph.linear("x", n_maps=3 * MAPS), []
    for place in range(3):
        part = graph.add("Slice", found, [place * MAPS], [(place + 1) * MAPS], [2])
        heads.append(graph.add("Transpose", graph.add("Reshape", part, [0, 0, N_HEADS, -1]), perm=[0, 2, 1, 3]))
    heads[1] = graph.add("Transpose", heads[1], perm=[0, 1, 3, 2])
    return joined(graph, graph.weighted(*heads))


def interleaved(graph):
    """Queries, keys and values of each head side by side, as GPT-NeoX has them."""
    found = graph.add("Reshape", graph.linear("x", n_maps=3 * MAPS), [BATCH, TOKENS, N_HEADS, 3 * EACH])
    parts = graph.add("Split", graph.add("Transpose", found, perm=[0, 2, 1, 3]), [EACH] * 3, n_outputs=3, axis=3)
    keys = graph.add("Transpose", parts[1], perm=[0, 1, 3, 2])
    return joined(graph, graph.weighted(parts[0], keys, parts[2]))


def steps_first(graph):
    """As torch's MultiheadAttention: tokens before samples, samples and heads in one dimension, a product of rows behind."""
    found = graph.linear(graph.add("Transpose", "x", perm=[1, 0, 2]), n_maps=3 * MAPS)
    found = graph.add("Unsqueeze", graph.add("Reshape", found, [TOKENS, BATCH, 3, MAPS]), [0])
    found = graph.add("Squeeze", graph.add("Transpose", found, perm=[3, 1, 2, 0, 4]), [3])
    heads = [graph.add("Gather", found, place, axis=0) for place in range(3)]
    heads = [graph.add("Reshape", each, [TOKENS, BATCH * N_HEADS, EACH]) for each in heads]
    queries, keys, values = (graph.add("Transpose", each, perm=[1, 0, 2]) for each in heads)
    found = graph.weighted(queries, graph.add("Transpose", keys, perm=[0, 2, 1]), values)
    found = graph.add("Reshape", found, [BATCH, N_HEADS, TOKENS, EACH])
    return graph.add("Reshape", graph.add("Transpose", found, perm=[2, 0, 1, 3]), [TOKENS * BATCH, MAPS])


def one_layer(found: CnnSpec, n_heads=N_HEADS):
    (layer,) = found.layers
    assert (layer.kind, layer.n_heads, layer.bias) == ("attention", n_heads, True)
    assert (found.n_params, found.n_macs) == (PARAMS, MACS)


@pytest.mark.parametrize("write", [fused_and_split, fused_and_sliced, interleaved, lambda graph: joined(graph, apart(graph))])
def test_attention_is_one_layer_however_it_is_written(write, tmp_path):
    graph = Graph()
    one_layer(graph.read(tmp_path, graph.linear(write(graph))))


def with_fixed_keys(graph, behind=False):
    """As BEiT and Swin V2: biases of queries and values are learnt, those of keys are zeros that stand in a node."""
    zeros = f"keys_{len(graph.nodes)}"
    graph.nodes.append(helper.make_node("Constant", [], [zeros], value=numpy_helper.from_array(np.zeros(MAPS), zeros)))
    bias = graph.add("Concat", np.zeros(MAPS), zeros, np.zeros(MAPS), axis=0)
    rows = graph.add("Add", graph.linear("x", n_maps=3 * MAPS, bias=False), bias)
    if behind:
        return graph.linear(rows, n_inputs=3 * MAPS)
    found = graph.add("Reshape", rows, [BATCH, TOKENS, 3, N_HEADS, EACH])
    parts = graph.add("Split", graph.add("Transpose", found, perm=[2, 0, 3, 1, 4]), [1, 1, 1], n_outputs=3, axis=0)
    queries, keys, values = (graph.add("Squeeze", part, [0]) for part in parts)
    found = graph.weighted(queries, graph.add("Transpose", keys, perm=[0, 1, 3, 2]), values)
    return graph.linear(joined(graph, found))


def test_biases_of_keys_that_are_never_learnt_are_not_counted(tmp_path):
    graph = Graph()
    found = graph.read(tmp_path, with_fixed_keys(graph))
    assert [(layer.kind, layer.bias) for layer in found.layers[:3]] == [("conv", True), ("conv", False), ("conv", True)]
    assert [layer.kind for layer in found.layers[3:]] == ["attend", "conv"]
    assert (found.n_params, found.n_macs) == (PARAMS - MAPS, MACS)


def test_partly_learnt_biases_of_maps_that_another_layer_reads_whole(tmp_path):
    graph = Graph()
    found = graph.read(tmp_path, with_fixed_keys(graph, behind=True))
    assert [layer.kind for layer in found.layers] == ["conv", "conv", "conv", "concat", "conv"]
    assert found.n_params == 3 * MAPS**2 + 2 * MAPS + 3 * MAPS**2 + MAPS


@pytest.mark.parametrize("batch", ["n", 1])
def test_attention_of_one_sample_and_of_any_number(batch, tmp_path):
    graph = Graph(batch)
    one_layer(graph.read(tmp_path, graph.linear(joined(graph, apart(graph)))))


def test_attention_with_tokens_first(tmp_path):
    graph = Graph()
    rows = graph.add("Gemm", steps_first(graph), np.zeros((MAPS, MAPS)), np.zeros(MAPS))
    found = graph.add("Transpose", graph.add("Reshape", rows, [TOKENS, BATCH, MAPS]), perm=[1, 0, 2])
    one_layer(graph.read(tmp_path, found))


def test_attention_of_one_head_needs_no_reshape(tmp_path):
    graph = Graph()
    queries, keys, values = (graph.linear("x") for _ in range(3))
    found = graph.weighted(queries, graph.add("Transpose", keys, perm=[0, 2, 1]), values)
    one_layer(graph.read(tmp_path, graph.linear(found)), n_heads=1)


@pytest.mark.parametrize("mask", [np.zeros((TOKENS, TOKENS)), np.zeros((1, 1, TOKENS, TOKENS)), np.zeros((BATCH, 1, 1, TOKENS))])
def test_a_mask_that_all_heads_share_changes_nothing(mask, tmp_path):
    graph = Graph(mask=mask)
    one_layer(graph.read(tmp_path, graph.linear(joined(graph, apart(graph)))))


def test_numbers_of_each_head_that_are_added_to_scores_are_learnt(tmp_path):
    graph = Graph(mask=np.zeros((N_HEADS, TOKENS, TOKENS)))
    found = graph.read(tmp_path, graph.linear(joined(graph, apart(graph))))
    assert [layer.kind for layer in found.layers] == ["conv"] * 3 + ["attend", "conv"]
    assert (found.n_params, found.n_macs) == (PARAMS + N_HEADS * TOKENS**2, MACS)


def test_biases_behind_attention_alone(tmp_path):
    graph = Graph()
    found = graph.read(tmp_path, graph.linear(joined(graph, apart(graph, bias=False))))
    assert [layer.kind for layer in found.layers] == ["attention", "layer_shift"]
    assert (found.n_params, found.n_macs) == (4 * MAPS**2 + MAPS, MACS)


def products_alone(found, params, macs):
    """Layers of attention that is none with the usual projections, with parameters and products by hand."""
    assert [layer.kind for layer in found.layers].count("attend") == 1
    assert "attention" not in [layer.kind for layer in found.layers]
    assert (found.n_params, found.n_macs) == (params, macs)


def test_attention_with_other_projections_is_its_products_and_these(tmp_path):
    graph = Graph()
    products_alone(graph.read(tmp_path, graph.linear(joined(graph, apart(graph)), bias=False)), PARAMS - MAPS, MACS)
    graph = Graph()
    narrower = TOKENS * MAPS * (MAPS - 5)
    products_alone(
        graph.read(tmp_path, graph.linear(joined(graph, apart(graph)), n_maps=5)), PARAMS - 3 * (MAPS + 1), MACS - narrower
    )
    graph = Graph()
    other = graph.add("Relu", "x")
    sources = iter(["x", other, other])
    crossed = apart(graph, linear=lambda _source, **more: graph.linear(next(sources), **more))
    products_alone(graph.read(tmp_path, graph.linear(joined(graph, crossed))), PARAMS, MACS)
    graph = Graph()
    heads = joined(graph, apart(graph, linear=lambda source, **_: source))
    products_alone(graph.read(tmp_path, graph.linear(heads)), MAPS * (MAPS + 1), TOKENS * MAPS**2 + 2 * TOKENS**2 * MAPS)


@pytest.mark.parametrize(("temperature", "n_learnt"), [(0.5, 0), (np.zeros((N_HEADS, 1, 1)), N_HEADS)])
def test_attention_among_the_maps_of_each_head(temperature, n_learnt, tmp_path):
    """As in XCiT (El-Nouby et al., 2021) and DaViT (Ding et al., 2022): scores of maps with maps, over all tokens."""
    graph = Graph()
    found = graph.add("Reshape", graph.linear("x", n_maps=3 * MAPS), [BATCH, TOKENS, 3, N_HEADS, EACH])
    parts = graph.add("Split", graph.add("Transpose", found, perm=[2, 0, 3, 4, 1]), [1, 1, 1], n_outputs=3, axis=0)
    queries, keys, values = (graph.add("Squeeze", part, [0]) for part in parts)
    keys = graph.add("Transpose", graph.add("Mul", keys, 0.5), perm=[0, 1, 3, 2])
    weights = graph.add("Softmax", graph.add("Mul", graph.add("MatMul", queries, keys), temperature))
    heads = graph.add("Transpose", graph.add("MatMul", weights, values), perm=[0, 3, 1, 2])
    found = graph.read(tmp_path, graph.linear(graph.add("Reshape", heads, [-1, TOKENS, MAPS])))
    products_alone(found, PARAMS + n_learnt, TOKENS * 4 * MAPS**2 + 2 * TOKENS * MAPS * EACH)
    core = next(layer for layer in found.layers if layer.kind == "attend")
    assert (core.n_heads, core.groups, found.shapes[core.name]) == (1, N_HEADS, Shape(TOKENS, MAPS, 1))
    assert found.output_shape == Shape(MAPS, TOKENS, 1)


def refused(tmp_path, graph, output):
    with pytest.raises(DataError) as caught:
        graph.read(tmp_path, output)
    return str(caught.value)


def test_scores_without_softmax_are_refused(tmp_path):
    graph = Graph(weights="Identity")
    assert "MatMul" in refused(tmp_path, graph, graph.linear(joined(graph, apart(graph))))


def test_rows_of_all_samples_are_tokens_again(tmp_path):
    """A linear layer between two reshapes, as language models write it."""
    graph = Graph()
    rows = graph.add("Gemm", graph.add("Reshape", "x", [-1, MAPS]), np.zeros((MAPS, 3)), np.zeros(3))
    found = graph.read(tmp_path, graph.add("Reshape", rows, [BATCH, -1, 3]))
    assert [(layer.kind, layer.filter_size) for layer in found.layers] == [("conv", (1, 1))]
    assert (found.n_params, found.n_macs) == (3 * (MAPS + 1), TOKENS * MAPS * 3)


def test_a_learnt_token_for_each_sample_of_the_file(tmp_path):
    graph = Graph()
    token = graph.add("Expand", np.zeros((1, 1, MAPS)), [BATCH, 1, MAPS])
    found = graph.read(tmp_path, graph.add("Concat", token, "x", axis=1))
    assert ([layer.kind for layer in found.layers], found.n_params) == (["class_token"], MAPS)


@pytest.mark.parametrize("n_more", [1, TOKENS])
def test_tokens_of_several_layers_are_joined_in_one_pass(n_more, tmp_path):
    """As PiT (Heo et al., 2021) puts its class token before the tokens of smaller maps."""
    graph = Graph()
    first = graph.linear(graph.add("Slice", "x", [0], [n_more], [1]) if n_more == 1 else "x")
    found = graph.read(tmp_path, graph.linear(graph.add("Concat", first, graph.linear("x"), axis=1)))
    assert [layer.kind for layer in found.layers if layer.kind not in ("conv", "select_token")] == ["unflatten"] * 2 + [
        "concat",
        "unflatten",
    ]
    assert found.output_shape == Shape(MAPS, TOKENS + n_more, 1)
    assert found.n_params == 3 * MAPS * (MAPS + 1)
    assert found.n_macs == 2 * (TOKENS + n_more) * MAPS**2
