"""In which order an ONNX graph expects the numbers of a sample, as told by the first nodes that read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mlperf.specs.importers.imported import FLAT, MAPS_FIRST, STEPS_FIRST, TOKENS_FIRST, TOKENS_LAST
from mlperf.specs.importers.onnx.node import OnnxNode

INTEGERS = (6, 7)
"""TensorProto.INT32 and INT64: indices of tokens."""

TAKES_MAPS_SECOND = (
    *("Conv", "ConvTranspose", "BatchNormalization", "InstanceNormalization", "GroupNormalization"),
    *("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"),
)
"""Operators for which dimension 1 holds the maps."""

KEEPS_ORDER = (
    *("Identity", "Cast", "Pad", "Add", "Sub", "Mul", "Div", "Dropout", "Clip", "Relu", "LeakyRelu", "PRelu"),
    *("Sigmoid", "Tanh", "Elu"),
)
"""Operators after which dimensions mean what they meant before."""

RECURRENT = ("RNN", "GRU", "LSTM")
"""Operators that go from token to token, over the first dimension unless told."""

ROWS = "bhw"
"""One map, without a dimension for it."""

TOKENS = "bt"
"""One number for each token, without a dimension for it."""


def input_layout(graph: Any, tensor: Any, constants: Mapping[str, Any]) -> str:
    """Order of the input's dimensions, one letter each as in `Imported.layouts`.

    Four are maps: these come last where the graph at once puts them first, as files of TensorFlow do. Three are tokens and their
    numbers; or a sequence of maps, or the rows of one map, where a convolution or the like takes them for that. Two are numbers
    of a sample, or tokens.
    """
    rank = len(tensor.type.tensor_type.shape.dim)
    readers = list(_readers(graph, tensor.name, constants))
    widened = {axis for node in readers for axis in _unsqueezed(node, constants, rank)}
    if rank == 2:
        is_sequence = bool(widened) and (widened == {2} or _meets_maps(graph, readers, constants))
        return TOKENS if tensor.type.tensor_type.elem_type in INTEGERS or is_sequence else FLAT
    if rank == 3:
        return ROWS if widened == {1} else _sequence(readers)
    return "bhwc" if rank == 4 and readers and all(_puts_maps_first(node) for node in readers) else MAPS_FIRST


def _sequence(readers: Iterable[Any]) -> str:
    if any(node.op_type in TAKES_MAPS_SECOND for node in readers):
        return TOKENS_LAST
    return STEPS_FIRST if any(node.op_type in RECURRENT and not _number(node, "layout") for node in readers) else TOKENS_FIRST


def _readers(graph: Any, name: str, constants: Mapping[str, Any]) -> Iterator[Any]:
    """Nodes that read a tensor, or what such as keep its order make of it."""
    same = {name}
    for node in graph.node:
        if not same.intersection(node.input):
            continue
        tensors = [each for each in node.input if each and each not in constants]
        if node.op_type in KEEPS_ORDER and len(tensors) == 1:
            same.update(node.output)
        else:
            yield node


def _puts_maps_first(node: Any) -> bool:
    return node.op_type == "Transpose" and [list(each.ints) for each in node.attribute] == [[0, 3, 1, 2]]


def _unsqueezed(node: Any, constants: Mapping[str, Any], rank: int) -> list[int]:
    """Where sizes of 1 are put between those of a tensor of ``rank`` dimensions; 0 stands for any other operator."""
    if node.op_type != "Unsqueeze":
        return [0]
    read = OnnxNode.read(node, constants)
    axes = [int(axis) for axis in read.attributes.get("axes") or read.values(1)]
    return [axis % (rank + len(axes)) for axis in axes]


def _meets_maps(graph: Any, nodes: Iterable[Any], constants: Mapping[str, Any]) -> bool:
    """Whether what these nodes write is taken for maps."""
    following = (reader for node in nodes for reader in _readers(graph, node.output[0], constants))
    return any(node.op_type in TAKES_MAPS_SECOND for node in following)


def _number(node: Any, name: str) -> int:
    return next((int(each.i) for each in node.attribute if each.name == name), 0)
