"""Parts of maps and their shuffling: ShuffleNet and blocks that split their maps, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.network.cnn import CnnSpec, Shape

node = helper.make_node


class Graph:
    """A graph that grows node by node; weights have sizes only."""

    def __init__(self) -> None:
        self.nodes, self.weights, self.n_tensors = [], [], 0

    def constant(self, *numbers):
        return self._known(np.asarray(numbers, np.int64))

    def add(self, operator, *inputs, n_outputs=1, **attributes):
        self.n_tensors += 1
        outputs = [f"t{self.n_tensors}_{place}" for place in range(n_outputs)]
        self.nodes.append(node(operator, list(inputs), outputs, **attributes))
        return outputs[0] if n_outputs == 1 else outputs

    def conv(self, source, maps_in, maps, size, stride=1, groups=1, function="Relu"):
        """A convolution without bias, a batch norm, an activation."""
        pads = [size // 2] * 4
        weights = self._sized(maps, maps_in // groups, size, size)
        found = self.add("Conv", source, weights, strides=[stride] * 2, group=groups, pads=pads)
        found = self.add("BatchNormalization", found, *(self._sized(maps) for _ in range(4)))
        return self.add(function, found) if function else found

    def fc(self, source, n_inputs, n_maps):
        return self.add("Gemm", source, self._sized(n_maps, n_inputs), self._sized(n_maps), transB=1)

    def read(self, tmp_path, output, shape, opset=17) -> CnnSpec:
        ends = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        out = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "net", ends, out, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
        return from_onnx(tmp_path / "net.onnx")

    def _known(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def _sized(self, *dims):
        name = f"w{len(self.weights)}"
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights.bin")
        self.weights.append(tensor)
        return name


def shuffle(graph, source, maps, size):
    rows = graph.add("Reshape", source, graph.constant(-1, 2, maps // 2, size, size))
    columns = graph.add("Transpose", rows, perm=[0, 2, 1, 3, 4])
    return graph.add("Reshape", columns, graph.constant(-1, maps, size, size))


def shufflenet_v2(graph):
    """ShuffleNetV2 x1.0 of Ma et al. (2018), as torchvision has it."""
    found = graph.add("MaxPool", graph.conv("x", 3, 24, 3, 2), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    maps_in, size = 24, 56
    for maps, repeats in ((116, 4), (232, 8), (464, 4)):
        half, size = maps // 2, size // 2
        left = graph.conv(graph.conv(found, maps_in, maps_in, 3, 2, maps_in, function=""), maps_in, half, 1)
        right = graph.conv(graph.conv(found, maps_in, half, 1), half, half, 3, 2, half, function="")
        found = shuffle(graph, graph.add("Concat", left, graph.conv(right, half, half, 1), axis=1), maps, size)
        for _ in range(repeats - 1):
            kept, other = graph.add("Split", found, n_outputs=2, axis=1)
            other = graph.conv(graph.conv(other, half, half, 1), half, half, 3, 1, half, function="")
            found = shuffle(graph, graph.add("Concat", kept, graph.conv(other, half, half, 1), axis=1), maps, size)
        maps_in = maps
    found = graph.conv(found, 464, 1024, 1)
    return graph.fc(graph.add("ReduceMean", found, axes=[2, 3], keepdims=0), 1024, 1000)


def test_shufflenet_has_the_parameters_and_the_work_that_are_published(tmp_path):
    """2,278,604 parameters (torchvision), 146 million multiply-adds (Table 8 of Ma et al., with theirs of smaller operations)."""
    graph = Graph()
    found = graph.read(tmp_path, shufflenet_v2(graph), ("b", 3, 224, 224))
    assert found.n_params == 2_278_604
    assert found.n_macs / 1e6 == pytest.approx(146, rel=0.02)
    kinds = [layer.kind for layer in found.layers]
    assert (kinds.count("part"), kinds.count("shuffle")) == (26, 16)
    last = [layer for layer in found.layers if layer.kind == "part"][-2:]
    assert [(layer.first, layer.n_maps) for layer in last] == [(0, 232), (232, 232)]


@pytest.mark.parametrize(
    ("attributes", "sizes", "opset", "expected"),
    [
        ({"axis": 1}, None, 17, [3, 3]),
        ({"axis": -3}, (2, 4), 17, [2, 4]),
        ({"axis": 1, "split": [5, 1]}, None, 11, [5, 1]),
        ({"axis": 1, "num_outputs": 4}, None, 18, [2, 2, 2]),
    ],
)
def test_parts_of_given_and_of_equal_sizes(attributes, sizes, opset, expected, tmp_path):
    graph = Graph()
    n_outputs = len(expected)
    if attributes.get("num_outputs"):
        attributes = attributes | {"num_outputs": n_outputs}
    inputs = [graph.constant(*sizes)] if sizes else []
    parts = graph.add("Split", "x", *inputs, n_outputs=n_outputs, **attributes)
    found = graph.read(tmp_path, graph.add("Concat", *reversed(parts), axis=1), ("b", 6, 4, 4), opset)
    assert [found.shapes[layer.name].n_maps for layer in found.layers if layer.kind == "part"] == expected
    assert found.output_shape == Shape(6, 4, 4)


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "expected"),
    [
        ((0,), (2,), (1,), (0, 2)),
        ((2,), (2**63 - 1,), (1,), (2, 4)),
        ((-3,), (-1,), (-3,), (3, 2)),
        ((0, 1, 0), (2**31 - 1, 5, 4), (0, 1, 2), (1, 4)),
    ],
)
def test_maps_behind_one_another_are_a_part(starts, ends, axes, expected, tmp_path):
    graph = Graph()
    sliced = graph.add("Slice", "x", *(graph.constant(*each) for each in (starts, ends, axes)))
    found = graph.read(tmp_path, sliced, ("b", 6, 4, 4))
    assert [(layer.kind, layer.first, layer.n_maps) for layer in found.layers] == [("part", *expected)]


def test_maps_mixed_in_another_way_have_no_layer(tmp_path):
    graph = Graph()
    rows = graph.add("Reshape", "x", graph.constant(0, 2, 3, 4, 4))
    with pytest.raises(DataError, match="got the operation Transpose"):
        graph.read(tmp_path, graph.add("Transpose", rows, perm=[0, 2, 1, 4, 3]), ("b", 6, 4, 4))


def test_every_second_row_and_column_are_windows_of_one_element(tmp_path):
    """As LeViT makes fewer queries of its maps."""
    graph = Graph()
    rows = graph.add("Slice", "x", *(graph.constant(each) for each in (0, 99, 2, 2)))
    found = graph.read(tmp_path, graph.add("Slice", rows, *(graph.constant(each) for each in (0, 2**63 - 1, 3, 2))), ("b", 4, 7, 8))
    assert [(layer.kind, layer.stride) for layer in found.layers] == [("pool", (2, 1)), ("pool", (1, 2))]
    assert found.output_shape == Shape(4, 4, 4)
    graph = Graph()
    with pytest.raises(DataError, match=r"Slice by \[1\], \[99\], \[2\], \[2\]"):
        graph.read(tmp_path, graph.add("Slice", "x", *(graph.constant(each) for each in (1, 99, 2, 2))), ("b", 4, 7, 8))
