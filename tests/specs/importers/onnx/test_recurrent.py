"""Recurrent operators as exporters write them: parameters by the sizes of the file's own tensors, products by hand."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.network.cnn import CnnSpec, Shape

node = helper.make_node
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
N_TOKENS, N_INPUTS, N_UNITS = 7, 5, 6


def constant(name, values):
    return numpy_helper.from_array(np.asarray(values, dtype=np.int64), name)


def cell_weights(operator, n_directions=1, n_inputs=N_INPUTS, name=""):
    rows = GATES[operator] * N_UNITS
    sizes = {"w": (n_directions, rows, n_inputs), "r": (n_directions, rows, N_UNITS), "b": (n_directions, 2 * rows)}
    return {f"{name}{key}": np.ones(dims, np.float32) for key, dims in sizes.items()}


def read(nodes, weights, known, tmp_path, shape=("batch", N_TOKENS, N_INPUTS)) -> CnnSpec:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name, sizes in (("x", shape), ("out", None))]
    tensors = [numpy_helper.from_array(values, name) for name, values in weights.items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [*tensors, *known])
    path = tmp_path / "net.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    return from_onnx(path)


STEPS_FIRST = node("Transpose", ["x"], ["s"], perm=[1, 0, 2])
BACK = node("Transpose", ["t"], ["out"], perm=[1, 0, 2])


@pytest.mark.parametrize("operator", GATES)
def test_one_direction_as_torch_writes_it(operator, tmp_path):
    nodes = [
        STEPS_FIRST,
        node(operator, ["s", "w", "r", "b"], ["y", "h"], hidden_size=N_UNITS),
        node("Squeeze", ["y", "one"], ["t"]),
        BACK,
    ]
    weights = cell_weights(operator)
    found = read(nodes, weights, [constant("one", [1])], tmp_path)
    assert found.n_params == sum(values.size for values in weights.values())
    assert found.n_macs == N_TOKENS * GATES[operator] * N_UNITS * (N_INPUTS + N_UNITS)
    assert [(layer.kind, layer.cell) for layer in found.layers] == [("recurrent", operator.lower())]
    assert found.output_shape == Shape(N_UNITS, N_TOKENS, 1)


def test_two_directions_and_two_layers_joined_by_a_reshape(tmp_path):
    nodes = [STEPS_FIRST]
    weights = cell_weights("LSTM", 2, name="0") | cell_weights("LSTM", 2, 2 * N_UNITS, name="1")
    source = "s"
    for each in "01":
        names = [f"{each}{key}" for key in "wrb"]
        nodes += [
            node("LSTM", [source, *names, "", "zeros", "zeros"], [f"y{each}"], hidden_size=N_UNITS, direction="bidirectional"),
            node("Transpose", [f"y{each}"], [f"z{each}"], perm=[0, 2, 1, 3]),
            node("Reshape", [f"z{each}", "joined"], [f"t{each}"]),
        ]
        source = f"t{each}"
    nodes.append(node("Transpose", ["t1"], ["out"], perm=[1, 0, 2]))
    zeros = numpy_helper.from_array(np.zeros((2, 1, N_UNITS), np.float32), "zeros")
    found = read(nodes, weights, [constant("joined", [0, 0, -1]), zeros], tmp_path)
    assert found.n_params == sum(values.size for values in weights.values())
    assert found.n_macs == N_TOKENS * 2 * 4 * N_UNITS * (N_INPUTS + N_UNITS + 2 * N_UNITS + N_UNITS)
    assert found.output_shape == Shape(2 * N_UNITS, N_TOKENS, 1)


def test_without_biases_and_with_samples_first(tmp_path):
    nodes = [node("GRU", ["x", "w", "r"], ["y"], hidden_size=N_UNITS, layout=1), node("Squeeze", ["y", "two"], ["out"])]
    weights = {name: values for name, values in cell_weights("GRU").items() if name != "b"}
    found = read(nodes, weights, [constant("two", [2])], tmp_path)
    assert found.n_params == sum(values.size for values in weights.values())
    assert not found.layers[0].bias


@pytest.mark.parametrize("picked", ["Gather", "Slice"])
def test_the_last_states_of_both_directions(picked, tmp_path):
    nodes = [STEPS_FIRST, node("LSTM", ["s", "w", "r", "b"], ["", "h"], hidden_size=N_UNITS, direction="bidirectional")]
    known = [constant(name, value) for name, value in {"-2": -2, "-1": -1, "[0]": [0], "[1]": [1], "[2]": [2]}.items()]
    if picked == "Gather":
        nodes += [node("Gather", ["h", place], [name], axis=0) for place, name in (("-2", "f"), ("-1", "g"))]
    else:
        nodes += [node("Slice", ["h", first, end, "[0]"], [f"s{first}"]) for first, end in (("[0]", "[1]"), ("[1]", "[2]"))]
        nodes += [node("Squeeze", ["s[0]", "[0]"], ["f"]), node("Squeeze", ["s[1]", "[0]"], ["g"])]
    nodes.append(node("Concat", ["f", "g"], ["out"], axis=1))
    weights = cell_weights("LSTM", 2)
    found = read(nodes, weights, known, tmp_path)
    assert found.n_params == sum(values.size for values in weights.values())
    assert [layer.kind for layer in found.layers] == ["recurrent", *2 * ["select_token", "part"], "concat"]
    assert [layer.first for layer in found.layers if layer.kind == "part"] == [0, N_UNITS]
    assert found.output_shape == Shape(2 * N_UNITS, 1, 1)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        (["", "ones"], {}, "LSTM with states at the begin other than zeros"),
        (["", "", "", "p"], {}, "LSTM with peepholes"),
        ([], {"input_forget": 1}, "LSTM with coupled gates"),
        (["lengths"], {}, "LSTM with sequences of different lengths"),
    ],
)
def test_what_the_layer_does_not_have_is_named(inputs, attributes, message, tmp_path):
    nodes = [
        STEPS_FIRST,
        node("Relu", ["s"], ["lengths"]),
        node("LSTM", ["s", "w", "r", "b", *inputs], ["y"], name="cell", hidden_size=N_UNITS, **attributes),
        node("Squeeze", ["y", "one"], ["t"]),
        BACK,
    ]
    weights = cell_weights("LSTM") | {"ones": np.ones((1, 1, N_UNITS), np.float32), "p": np.ones((1, 3 * N_UNITS), np.float32)}
    with pytest.raises(DataError, match=f"node 'cell': got the operation {message}"):
        read(nodes, weights, [constant("one", [1])], tmp_path)


@pytest.mark.parametrize(("start", "end"), [(-1, 2**63 - 1), (N_TOKENS - 1, N_TOKENS), (0, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_last_or_first_token_as_a_slice(start, end, axis, tmp_path):
    """``y[:, -1:]`` before and after tokens come second again."""
    known = {"one": [1], "start": [start], "end": [end], "axis": [axis]}
    nodes = [STEPS_FIRST, node("LSTM", ["s", "w", "r", "b"], ["y"], hidden_size=N_UNITS), node("Squeeze", ["y", "one"], ["t"])]
    nodes += [node("Transpose", ["t"], ["u"], perm=[1, 0, 2])] * axis
    nodes += [node("Slice", ["tu"[axis], "start", "end", "axis"], ["v"]), node("Squeeze", ["v", "axis"], ["z"])]
    nodes.append(node("Gemm", ["z", "f"], ["out"]))
    weights = cell_weights("LSTM") | {"f": np.zeros((N_UNITS, 3), np.float32)}
    found = read(nodes, weights, [constant(*each) for each in known.items()], tmp_path)
    assert [layer.kind for layer in found.layers] == ["recurrent", "select_token", "fc"]
    assert found.n_params == sum(values.size for values in weights.values())


def test_several_tokens_may_be_selected(tmp_path):
    known = {"one": [1], "start": [-2], "end": [N_TOKENS], "axis": [0]}
    nodes = [STEPS_FIRST, node("LSTM", ["s", "w", "r", "b"], ["y"], hidden_size=N_UNITS), node("Squeeze", ["y", "one"], ["t"])]
    nodes.append(node("Slice", ["t", "start", "end", "axis"], ["out"]))
    found = read(nodes, cell_weights("LSTM"), [constant(*each) for each in known.items()], tmp_path)
    assert [(layer.kind, layer.n_tokens) for layer in found.layers] == [("recurrent", 1), ("select_token", 2)]
