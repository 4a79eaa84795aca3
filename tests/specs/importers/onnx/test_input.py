"""What the dimensions of an input are, by what reads them: parameters and products of sequences by hand."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.network.cnn import CnnSpec, Shape

node = helper.make_node
FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64


def read(nodes, sizes, tmp_path, shape, known=None, dtype=FLOAT) -> CnnSpec:
    ends = [helper.make_tensor_value_info("x", dtype, shape), helper.make_tensor_value_info("y", FLOAT, None)]
    weights = [numpy_helper.from_array(np.ones(dims, np.float32), name) for name, dims in sizes.items()]
    numbers = [numpy_helper.from_array(np.asarray(values, np.int64), name) for name, values in (known or {}).items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [*weights, *numbers])
    (tmp_path / "net.onnx").write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    return from_onnx(tmp_path / "net.onnx")


def test_a_convolution_over_a_sequence_is_one_of_a_single_column(tmp_path):
    """Three rows of a wave of 40: padded, strided, dilated, in groups, normalised, pooled."""
    nodes = [
        node("Pad", ["x", "pads"], ["p"]),
        node("Conv", ["p", "w", "b"], ["c"], strides=[2], pads=[1, 2]),
        node("BatchNormalization", ["c", "s", "s", "s", "s"], ["n"]),
        node("PRelu", ["n", "slopes"], ["a"]),
        node("Conv", ["a", "v"], ["d"], dilations=[2], group=3, auto_pad="SAME_UPPER"),
        node("MaxPool", ["d"], ["m"], kernel_shape=[2], strides=[2]),
        node("ConvTranspose", ["m", "u"], ["t"], strides=[2], output_padding=[1]),
        node("Resize", ["t", "", "", "sizes"], ["r"]),
        node("AveragePool", ["r"], ["q"], kernel_shape=[3], strides=[1], pads=[1, 1]),
        node("GlobalAveragePool", ["q"], ["g"]),
        node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "k"], ["y"]),
    ]
    sizes = {"w": (6, 3, 5), "b": (6,), "s": (6,), "slopes": (6, 1), "v": (6, 2, 3), "u": (6, 4, 3), "k": (4, 7)}
    found = read(nodes, sizes, tmp_path, ("b", 3, 40), {"pads": [0, 0, 1, 0, 0, 0], "sizes": [1, 4, 30]})
    assert found.n_params == 90 + 6 + 2 * 6 + 6 + 36 + 72 + 28
    assert {name: found.shapes[name] for name in ("c", "d", "m", "t", "r")} == {
        "c": Shape(6, 20, 1),
        "d": Shape(6, 20, 1),
        "m": Shape(6, 10, 1),
        "t": Shape(4, 22, 1),
        "r": Shape(4, 30, 1),
    }
    assert found.n_macs == 20 * 90 + 20 * 36 + 10 * 72 + 28


@pytest.mark.parametrize(
    ("shape", "nodes", "sizes", "n_macs"),
    [
        (("b", 40), [node("Unsqueeze", ["x", "1"], ["s"]), node("Conv", ["s", "w"], ["y"])], {"w": (6, 1, 5)}, 36 * 30),
        (("b", 40), [node("Unsqueeze", ["x", "2"], ["s"]), node("MatMul", ["s", "w"], ["y"])], {"w": (1, 6)}, 40 * 6),
        (("b", 8, 40), [node("Unsqueeze", ["x", "1"], ["s"]), node("Conv", ["s", "w"], ["y"])], {"w": (6, 1, 8, 5)}, 36 * 240),
        (("b", 40, 8), [node("MatMul", ["x", "w"], ["y"])], {"w": (8, 6)}, 40 * 48),
        (
            ("b", 40, 8),
            [node("Transpose", ["x"], ["s"], perm=[0, 2, 1]), node("Conv", ["s", "w"], ["y"])],
            {"w": (6, 8, 5)},
            36 * 240,
        ),
        (("b", 8, 40), [node("Relu", ["x"], ["s"]), node("Conv", ["s", "w"], ["y"])], {"w": (6, 8, 5)}, 36 * 240),
    ],
)
def test_waves_rows_and_tokens(shape, nodes, sizes, n_macs, tmp_path):
    assert read(nodes, sizes, tmp_path, shape, {"1": [1], "2": [2]}).n_macs == n_macs


def test_steps_may_stand_before_the_samples(tmp_path):
    nodes = [node("GRU", ["x", "w", "r"], ["h"], hidden_size=6), node("Squeeze", ["h", "1"], ["y"])]
    found = read(nodes, {"w": (1, 18, 5), "r": (1, 18, 6)}, tmp_path, (7, "b", 5), {"1": [1]})
    assert found.output_shape == Shape(6, 7, 1)


def test_windows_of_other_directions_than_the_tensor_has_are_refused(tmp_path):
    with pytest.raises(DataError, match="node 'y': got the operation Conv"):
        read([node("Conv", ["x", "w"], ["y"])], {"w": (6, 8, 5)}, tmp_path, ("b", 8, 40, 1))
    # Maps last: the second dimension, which a convolution takes for the maps, holds rows, and as many.
    nodes = [node("Conv", ["x", "v"], ["c"]), node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]), node("Conv", ["t", "w"], ["y"])]
    with pytest.raises(DataError, match="node 'y': got the operation Conv"):
        read(nodes, {"v": (6, 3, 1, 1), "w": (5, 6, 1, 1)}, tmp_path, ("b", 3, 6, 8))


def test_tables_of_places_and_kinds_of_tokens_are_learnt_whole(tmp_path):
    """As in BERT: 5 of 9 places are read, and one of two kinds; a table of as many rows as tokens is a position embedding."""
    nodes = [
        node("Gather", ["words", "x"], ["a"]),
        node("Gather", ["places", "order"], ["b"]),
        node("Gather", ["kinds", "zeros"], ["c"]),
        node("Gather", ["fitting", "order"], ["d"]),
        *(node("Add", [first, second], [total]) for first, second, total in (("a", "b", "e"), ("c", "e", "f"), ("d", "f", "y"))),
    ]
    sizes = {"words": (20, 4), "places": (9, 4), "kinds": (2, 4), "fitting": (5, 4)}
    known = {"order": [[0, 1, 2, 3, 4]], "zeros": [[0] * 5]}
    found = read(nodes, sizes, tmp_path, ("n", 5), known, dtype=INT)
    kinds = ["embedding"] * 3 + ["add"] * 2 + ["position_embedding"]
    assert [layer.kind for layer in found.layers] == kinds
    assert [layer.n_embeddings for layer in found.layers[:3]] == [20, 9, 2]
    assert (found.n_params, found.output_shape) == ((20 + 9 + 2 + 5) * 4, Shape(4, 5, 1))
