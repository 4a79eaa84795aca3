"""An ONNX graph that grows node by node, its tensors and constants numbered."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper, numpy_helper


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
