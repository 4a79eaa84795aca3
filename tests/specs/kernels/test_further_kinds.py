"""Kernels of attention, tokens, norms and resizing: sizes by hand, counts against the network's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.specs.kernels.kernels import FURTHER_KERNELS, GEMM_KERNELS, kernel_calls
from mlperf.specs.kernels.layer_calls import library_calls
from mlperf.specs.kernels.memory import training_memory
from mlperf.specs.network.cnn import CnnSpec, Layer
from mlperf.specs.network.output_shape import output_shape
from mlperf.specs.network.shape import Shape
from mlperf.specs.zoo.zoo import load_cnn

WORDS = CnnSpec(
    "words",
    1,
    (5, 1),
    (
        Layer("words", "embedding", n_embeddings=50, n_maps=12),
        Layer("heads", "attention", n_heads=3),
        Layer("out", "fc", n_maps=2),
    ),
)


def calls_of(cnn, layer, subbatch_size=2):
    return {call.kernel: call for call in kernel_calls(cnn, subbatch_size) if call.layer == layer}


def test_attention_by_hand():
    """Five tokens of twelve maps, three heads of four, two samples: six products of each head's kind."""
    found = calls_of(WORDS, "heads")
    sizes = {name: (call.m, call.n, call.k, call.groups, call.trans) for name, call in found.items() if name in GEMM_KERNELS}
    assert sizes == {
        "attention_in": (10, 36, 12, 1, "NN"),
        "attention_scores": (5, 5, 4, 6, "NT"),
        "attention_values": (5, 4, 5, 6, "NN"),
        "attention_out": (10, 12, 12, 1, "NN"),
        "dedb": (1, 48, 10, 1, "NN"),
        "dedw-attention_out": (12, 12, 10, 1, "TN"),
        "dedx-attention_out": (10, 12, 12, 1, "NT"),
        "dedx-attention_softmax": (5, 5, 4, 6, "NT"),
        "dedx-attention_values": (5, 4, 5, 6, "TN"),
        "dedx-attention_queries": (5, 4, 5, 6, "NN"),
        "dedx-attention_keys": (5, 4, 5, 6, "TN"),
        "dedw-attention_in": (12, 36, 10, 1, "TN"),
        "dedx-attention_in": (10, 12, 36, 1, "NT"),
    }
    assert found["attention_softmax"].access_bytes == found["attention_softmax_gradient"].access_bytes == 4 * 2 * 3 * 25
    assert calls_of(WORDS, "words")["embedding"].access_bytes == 4 * 2 * 5 * 12


def test_attention_multiplies_as_numpy_does():
    """The six products without weights, with those sizes, are the derivatives of softmax(q k') v: against differences."""
    rng = np.random.default_rng(0)
    q, k, v, wanted = (rng.standard_normal((5, 4)) for _ in range(4))

    def value(q, k, v):
        scores = np.exp(q @ k.T)
        return float(np.sum(wanted * (scores / scores.sum(1, keepdims=True) @ v)))

    scores = np.exp(q @ k.T)
    p = scores / scores.sum(1, keepdims=True)
    dp, dv = wanted @ v.T, p.T @ wanted
    ds = p * (dp - np.sum(p * dp, 1, keepdims=True))
    dq, dk = ds @ k, ds.T @ q
    step = 1e-6
    for number, gradient in enumerate((dq, dk, dv)):
        inputs = [q.copy(), k.copy(), v.copy()]
        inputs[number][2, 1] += step
        assert (value(*inputs) - value(q, k, v)) / step == pytest.approx(gradient[2, 1], rel=1e-4)
    found = calls_of(WORDS, "heads", 1)
    by_size = {name: (found[name].m, found[name].n) for name in found if name in GEMM_KERNELS}
    assert by_size["dedx-attention_softmax"] == dp.shape
    assert by_size["dedx-attention_values"] == dv.shape
    assert by_size["dedx-attention_queries"] == dq.shape
    assert by_size["dedx-attention_keys"] == dk.shape


def test_a_transposed_convolution_has_the_products_of_its_convolution():
    """From 4 x 4 to 9 x 9 as the convolution from 9 x 9 to 4 x 4: the same multiply-accumulates, forward and back."""
    first = Layer("first", "conv", n_maps=6, filter_size=1)
    up = Layer("layer", "transposed_conv", n_maps=8, filter_size=3, stride=2, groups=2)
    down = Layer("layer", "conv", n_maps=6, filter_size=3, stride=2, groups=2)
    large, small = (9, 9), (4, 4)
    there = CnnSpec("up", 3, small, (first, up))
    back = CnnSpec("down", 3, large, (Layer("first", "conv", n_maps=8, filter_size=1), down))
    assert (there.shapes["layer"].height, back.shapes["layer"].height) == (9, 4)
    assert there.layer_macs["layer"] == back.layer_macs["layer"] == 16 * 9 * 6 * 4
    products = {name: call.n_flops for name, call in calls_of(there, "layer").items() if call.n_flops and name != "dedb"}
    assert set(products) == {"transposed_convolution", "dedw", "dedx-conv"}
    assert set(products.values()) == {2 * 2 * 16 * 9 * 6 * 4}
    assert calls_of(there, "layer")["col2im"].access_bytes == calls_of(back, "layer")["im2col"].access_bytes


@pytest.mark.parametrize("name", ["vit_b_16", "convnext_tiny", "efficientnet_b0", "mobilenet_v3_small"])
def test_products_of_the_zoo_add_up(name):
    """Forward, backward, and the one library call of each layer."""
    cnn = load_cnn(name)
    calls = kernel_calls(cnn, 2)
    assert sum(call.n_flops for call in calls if not call.kernel.startswith("ded")) == 2 * cnn.n_flops
    assert sum(call.n_flops for call in calls if call.kernel.startswith(("dedw", "dedx"))) == 2 * cnn.n_flops_backward
    whole = [call for call in library_calls(cnn, 2) if call.kernel.endswith("_forward")]
    assert sum(call.n_flops for call in whole) == 2 * cnn.n_flops


def test_every_further_kernel_is_run_by_some_layer():
    layers = (
        Layer("c", "conv", n_maps=4, filter_size=1),
        Layer("group", "group_norm", groups=2),
        Layer("mean", "pool", inputs=("group",), mode="average", output_size=1),
        Layer("times", "multiply", inputs=("group", "mean")),
        Layer("near", "resize", mode="nearest", scale=2),
        Layer("line", "resize", mode="bilinear", output_size=3),
        Layer("scale", "layer_scale"),
        Layer("shift", "layer_shift"),
        Layer("slope", "prelu"),
        Layer("layer", "layer_norm"),
        Layer("tokens", "tokens"),
        Layer("class", "class_token"),
        Layer("met", "attend", inputs=("class",) * 3, n_heads=1, n_biases=2),
        Layer("place", "position_embedding"),
        Layer("read", "recurrent", n_maps=2),
        Layer("select", "select_token"),
    )
    run = {call.kernel for cnn in (WORDS, CnnSpec("all", 3, 6, layers)) for call in kernel_calls(cnn, 1)}
    assert set(FURTHER_KERNELS) - {"embedding_gradient"} <= run
    assert "embedding_gradient" in run


WINDOWS = CnnSpec(
    "windows",
    3,
    (4, 6),
    (
        Layer("q", "conv", inputs=("input",), n_maps=8, filter_size=1),
        Layer("k", "conv", inputs=("input",), n_maps=4, filter_size=1, stride=(2, 1)),
        Layer("v", "conv", inputs=("input",), n_maps=6, filter_size=1, stride=(2, 1)),
        Layer("met", "attend", inputs=("q", "k", "v"), n_heads=4, groups=3, n_biases=5),
        Layer("out", "fc", n_maps=2),
    ),
)
"""Three windows of eight queries and four keys; four heads of two maps share two heads of keys, and of three maps of values."""


def test_products_of_attention_in_windows_by_hand():
    found = calls_of(WINDOWS, "met")
    sizes = {name: (call.m, call.n, call.k, call.groups, call.trans) for name, call in found.items() if name in GEMM_KERNELS}
    assert sizes == {
        "attention_scores": (8, 4, 2, 24, "NT"),
        "attention_values": (8, 3, 4, 24, "NN"),
        "dedx-attention_softmax": (8, 4, 3, 24, "NT"),
        "dedx-attention_values": (4, 3, 8, 24, "TN"),
        "dedx-attention_queries": (8, 2, 4, 24, "NN"),
        "dedx-attention_keys": (4, 2, 8, 24, "TN"),
    }
    scores = 4 * 2 * 4 * 3 * 8 * 4
    assert {name: call.access_bytes for name, call in found.items() if call.access_bytes} == dict.fromkeys(
        ("attention_bias", "attention_softmax", "attention_softmax_gradient"), scores
    )
    assert WINDOWS.shapes["met"] == Shape(12, 4, 6)
    whole = {call.kernel: call.n_flops for call in library_calls(WINDOWS, 2) if call.layer == "met"}
    assert whole == dict.fromkeys(("attend_forward", "attend_backward"), 2 * 2 * WINDOWS.layer_macs["met"])
    assert WINDOWS.layer_macs["met"] == 4 * 24 * 4 * (2 + 3)
    assert sum(call.n_flops for call in found.values()) == 2 * 2 * 3 * WINDOWS.layer_macs["met"]
    assert WINDOWS.n_params == 4 * (8 + 4 + 6) + 5 + 2 * (12 * 24 + 1)
    outputs = [3 * 24, 8 * 24, 4 * 12, 6 * 12, 12 * 24, 2]
    assert training_memory(WINDOWS, 1).activations_bytes == 4 * (sum(outputs) + 4 * 24 * 4)


@pytest.mark.parametrize(
    ("maps", "groups", "expected"),
    [
        ((8, 4), 3, "three: queries, keys and values"),
        ((8, 7, 6), 3, "keys of 8 maps like the queries"),
        ((8, 6, 6), 3, "keys of 8 maps like the queries"),
        ((6, 4, 6), 3, "maps that 4 heads divide"),
        ((8, 4, 7), 3, "maps that 2 heads divide"),
        ((8, 4, 6), 5, "tokens that 5 windows divide"),
    ],
)
def test_products_of_attention_of_what_does_not_fit(maps, groups, expected):
    layer = replace(WINDOWS.layers[3], groups=groups)
    with pytest.raises(DataError, match=expected):
        output_shape(layer, tuple(Shape(n, 4, 6) for n in maps))


def test_every_key_of_attention_has_a_value():
    with pytest.raises(DataError, match="values for 12 tokens"):
        output_shape(WINDOWS.layers[3], (Shape(8, 4, 6), Shape(4, 2, 6), Shape(6, 4, 6)))


def test_several_learnt_tokens_and_several_that_are_kept():
    layers = (Layer("c", "class_token", n_tokens=5), Layer("s", "select_token", n_tokens=3))
    cnn = CnnSpec("several", 4, (7, 1), layers)
    assert (cnn.n_params, cnn.shapes["c"], cnn.shapes["s"]) == (20, Shape(4, 12, 1), Shape(4, 3, 1))
    with pytest.raises(DataError, match="at least 13 tokens"):
        output_shape(replace(layers[1], n_tokens=13), (Shape(4, 12, 1),))


def test_memory_of_attention_by_hand():
    """Queries, keys, values and what the heads found beside input and outputs, probabilities of three heads."""
    found = training_memory(WORDS, 2)
    outputs = [5, 5 * 12, 5 * 12, 2]
    assert found.activations_bytes == 4 * 2 * (sum(outputs) + 4 * 60 + 3 * 25)


def sequence(cell="lstm", **numbers):
    """Seven tokens of five maps through six units, then through four behind them."""
    layers = (
        Layer("first", "recurrent", n_maps=6, cell=cell, **numbers),
        Layer("second", "recurrent", n_maps=4, cell=cell, **numbers),
        Layer("last", "select_token"),
        Layer("out", "fc", n_maps=3),
    )
    return CnnSpec("sequence", 5, (7, 1), layers)


def test_recurrence_by_hand():
    """Products of the input once for all tokens, of the state at each of seven steps; 3 samples, two directions, four gates."""
    cnn = sequence(bidirectional=True)
    calls = [call for call in kernel_calls(cnn, 3) if call.layer == "second"]
    sizes = {call.kernel: (call.m, call.n, call.k, call.groups, call.trans) for call in calls if call.kernel in GEMM_KERNELS}
    assert sizes == {
        "recurrent_in": (21, 32, 12, 1, "NN"),
        "recurrent_step": (3, 16, 4, 2, "NN"),
        "dedx-recurrent_step": (3, 4, 16, 2, "NT"),
        "dedw-recurrent_step": (4, 16, 21, 2, "TN"),
        "dedw-recurrent_in": (12, 32, 21, 1, "TN"),
        "dedb": (1, 32, 21, 1, "NN"),
        "dedx-recurrent_in": (21, 12, 32, 1, "NT"),
    }
    names = [call.kernel for call in calls]
    assert (names.count("recurrent_step"), names.count("dedx-recurrent_step")) == (7, 7)
    gates = {call.kernel: call.access_bytes for call in calls if "gates" in call.kernel}
    assert gates == {"recurrent_gates": 4 * 3 * 7 * 32, "recurrent_gates_gradient": 4 * 3 * 7 * 32}
    assert cnn.output_shape == Shape(3, 1, 1)


@pytest.mark.parametrize(("cell", "gates"), [("rnn", 1), ("gru", 3), ("lstm", 4)])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_counts_of_a_recurrence(cell, gates, bidirectional, bias):
    """As torch counts parameters; multiply-adds are those of the kernels."""
    cnn = sequence(cell, bidirectional=bidirectional, bias=bias)
    ways = 1 + bidirectional
    first, second = ways * gates * 6 * (5 + 6 + 2 * bias), ways * gates * 4 * (6 * ways + 4 + 2 * bias)
    assert cnn.n_params == first + second + 3 * (4 * ways + 1)
    products = [call for call in kernel_calls(cnn, 1) if call.kernel in GEMM_KERNELS and call.kernel != "dedb"]
    macs = {way: sum(c.m * c.n * c.k * c.groups for c in products if c.kernel.startswith(way)) for way in ("recurrent", "ded")}
    forward = 7 * ways * gates * (6 * (5 + 6) + 4 * (6 * ways + 4))
    assert macs["recurrent"] == forward
    assert cnn.n_macs == forward + 3 * 4 * ways
    # On the way back everything twice, but for the product that would lead into the network's input.
    assert macs["ded"] == 2 * cnn.n_macs - 7 * ways * gates * 6 * 5


def test_a_recurrence_multiplies_as_numpy_does():
    """State by state, with the sizes of the kernels: gradients of an Elman layer against differences."""
    rng = np.random.default_rng(1)
    x, wanted = rng.standard_normal((7, 5)), rng.standard_normal((7, 6))
    w, u = rng.standard_normal((5, 6)) / 3, rng.standard_normal((6, 6)) / 3

    def states(u):
        projected, h, found = x @ w, np.zeros((1, 6)), []
        for step in range(7):
            h = np.tanh(projected[step] + h @ u)
            found.append(h[0])
        return np.array(found)

    h = states(u)
    before = np.vstack([np.zeros(6), h[:-1]])
    later, gates = np.zeros((1, 6)), np.zeros((7, 6))
    for step in reversed(range(7)):
        gates[step] = (wanted[step] + later[0]) * (1 - h[step] ** 2)
        later = gates[step : step + 1] @ u.T
    du = before.T @ gates
    step = 1e-6
    for place in ((0, 0), (2, 5), (5, 1)):
        moved = u.copy()
        moved[place] += step
        assert (np.sum(wanted * states(moved)) - np.sum(wanted * h)) / step == pytest.approx(du[place], rel=1e-4)
    calls = {call.kernel: call for call in kernel_calls(sequence("rnn"), 1) if call.layer == "first"}
    sizes = {name: (call.m, call.n, call.k) for name, call in calls.items()}
    assert sizes["recurrent_in"] == (*(x @ w).shape, 5)
    assert sizes["recurrent_step"] == (*later.shape, 6)
    assert sizes["dedw-recurrent_step"] == (*du.shape, 7)


def test_memory_of_a_recurrence_by_hand():
    """Four gates and the state of the cell at every step, beside input and outputs."""
    found = training_memory(sequence(), 2)
    outputs = [7 * 5, 7 * 6, 7 * 4, 4, 3]
    assert found.activations_bytes == 4 * 2 * (sum(outputs) + 5 * 7 * 6 + 5 * 7 * 4)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [({"n_maps": 0}, "n_maps"), ({"n_maps": 4, "cell": "lstn"}, "lstm"), ({"n_maps": 4, "bidirectional": 1}, "true or false")],
)
def test_what_a_recurrence_cannot_be(numbers, told):
    with pytest.raises(DataError, match=told):
        Layer("r", "recurrent", **numbers)


def test_a_recurrence_reads_a_sequence():
    with pytest.raises(DataError, match="'r'"):
        CnnSpec("maps", 3, (4, 4), (Layer("r", "recurrent", n_maps=2),))


def test_parts_of_different_maps_fill_one_gradient():
    """Split in half, one half through a convolution, joined and shuffled; two samples of 5 x 5 places."""
    layers = (
        Layer("c", "conv", n_maps=8, filter_size=1, bias=False),
        Layer("left", "part", n_maps=4),
        Layer("right", "part", inputs=("c",), n_maps=4, first=4),
        Layer("d", "conv", n_maps=4, filter_size=1, bias=False),
        Layer("join", "concat", inputs=("left", "d")),
        Layer("mixed", "shuffle", groups=2),
        Layer("y", "fc", n_maps=3),
    )
    cnn = CnnSpec("halves", 3, 5, layers)
    assert (cnn.n_params, cnn.n_macs) == (24 + 16 + 600 + 3, 25 * (24 + 16) + 600)
    assert {name: cnn.n_gradients[name] for name in ("c", "left", "right")} == {"c": 1, "left": 1, "right": 1}
    for name, maps in (("left", 4), ("right", 4), ("mixed", 8)):
        passes = {call.kernel: call.access_bytes for call in kernel_calls(cnn, 2) if call.layer == name}
        assert passes == {"concat": 4 * 2 * 25 * maps, "concat_gradient": 4 * 2 * 25 * maps}
    assert "add_gradient" not in {call.kernel for call in kernel_calls(cnn, 2)}
    names = [call.kernel for call in library_calls(cnn, 2) if call.layer in ("left", "mixed")]
    assert names == ["part_forward", "shuffle_forward", "shuffle_backward", "part_backward"]


def test_gradients_of_parts_that_overlap_meet():
    """Maps 2 and 3 are read by both parts, and all by the sum of the layer with itself behind a convolution."""
    layers = (
        Layer("c", "conv", n_maps=6, filter_size=1),
        Layer("low", "part", n_maps=4),
        Layer("high", "part", inputs=("c",), n_maps=4, first=2),
        Layer("sum", "add", inputs=("low", "high")),
        Layer("last", "concat", inputs=("c", "sum")),
    )
    cnn = CnnSpec("overlap", 3, 5, layers)
    assert cnn.n_gradients["c"] == 3
    (met,) = [call for call in kernel_calls(cnn, 1) if call.kernel == "add_gradient"]
    assert (met.layer, met.access_bytes) == ("c", 4 * 2 * 6 * 25)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (Layer("p", "part", n_maps=4, first=3), "got 6 maps of 5 x 5, expected at least 7 maps"),
        (Layer("s", "shuffle", groups=4), "expected a divisor of the 6 maps it reads"),
    ],
)
def test_parts_and_groups_must_fit(layer, message):
    with pytest.raises(DataError, match=message):
        CnnSpec("small", 6, 5, (layer,))
    with pytest.raises(DataError, match="first"):
        Layer("p", "part", n_maps=1, first=-1)
    with pytest.raises(DataError, match="n_maps"):
        Layer("p", "part")
