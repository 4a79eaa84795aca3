"""ONNX graphs that grow node by node, their tensors and constants numbered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.network.cnn import CnnSpec


class NumberedGraph:
    """Nodes and the constants that they read."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.known: list[Any] = []

    def add(self, operator: str, *inputs: Any, n_outputs: int = 1, **attributes: Any) -> Any:
        """Name of a node's output, or names of several; inputs are names, or numbers that become constants."""
        names = [f"t{len(self.nodes)}_{place}" for place in range(n_outputs)]
        given = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(helper.make_node(operator, given, names, **attributes))
        return names[0] if n_outputs == 1 else names

    def constant(self, values: Any) -> str:
        """Name of numbers; floating ones in single precision."""
        array = np.asarray(values)
        array = array.astype(np.float32) if array.dtype == float else array
        self.known.append(numpy_helper.from_array(array, f"k{len(self.known)}"))
        return str(self.known[-1].name)


class GraphOfMaps(NumberedGraph):
    """Nodes that read one tensor x of some shape; weights of zeros."""

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.shape = shape

    def linear(self, source: str, n_maps: int, n_inputs: int) -> Any:
        """A product with weights, and biases."""
        return self.add("Add", np.zeros(n_maps), self.add("MatMul", source, np.zeros((n_inputs, n_maps))))

    def conv(self, source: str, n_maps: int, n_inputs: int, size: int = 1, **attributes: Any) -> Any:
        """A convolution without biases that leaves maps as large as they are."""
        return self.add("Conv", source, np.zeros((n_maps, n_inputs, size, size)), pads=[size // 2] * 4, **attributes)

    def read(self, tmp_path: Path, output: str, producer: str = "") -> CnnSpec:
        """The network that ends with this tensor, by way of a file that this program wrote."""
        value = helper.make_tensor_value_info
        ends = [value("x", TensorProto.FLOAT, self.shape), value(output, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "net", ends[:1], ends[1:], self.known)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name=producer)
        (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
        return from_onnx(tmp_path / "net.onnx")
