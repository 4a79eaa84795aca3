"""What each ONNX operator becomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mlperf.core.errors import DataError
from mlperf.specs.importers.imported import MAPS_FIRST, Imported, same_padding
from mlperf.specs.network.shape import Size


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """A node with its attributes as plain values and the constants among its inputs.

    Attributes
    ----------
    name : str
        The node's name, or that of its output where it has none.
    operator : str
        ``Conv``, ``Gemm``, ...
    inputs : tuple of str
        Tensor names; an omitted optional input is the empty string.
    output : str
        First output.
    attributes : Mapping
        By name.
    constants : Mapping
        Shapes (and, through `values`, contents) of the inputs known from the file.
    """

    name: str
    operator: str
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, Any]
    constants: Mapping[str, Any]

    @classmethod
    def read(cls, proto: Any, constants: Mapping[str, Any]) -> OnnxNode:
        """Read the attribute from the file's own form."""
        from onnx.helper import get_attribute_value

        attributes = {each.name: get_attribute_value(each) for each in proto.attribute}
        known = {name: constants[name] for name in proto.input if name in constants}
        return cls(proto.name or proto.output[0], proto.op_type, tuple(proto.input), proto.output[0], attributes, known)

    @property
    def tensors(self) -> tuple[str, ...]:
        """Inputs that are computed, not constant."""
        return tuple(name for name in self.inputs if name and name not in self.constants)

    @property
    def remark(self) -> str:
        """What distinguishes this use of the operator."""
        return f" with {dict(self.attributes)}" if self.attributes else ""

    def has_input(self, place: int) -> bool:
        """Whether the optional input at that place is given."""
        return len(self.inputs) > place and bool(self.inputs[place])

    def dims(self, place: int) -> tuple[int, ...]:
        """Shape of a constant input; empty where it is not constant."""
        tensor = self.constants.get(self.inputs[place]) if self.has_input(place) else None
        return tuple(tensor.dims) if tensor is not None else ()

    def values(self, place: int) -> list[float]:
        """Numbers of a constant input; empty where it is absent or not constant."""
        tensor = self.constants.get(self.inputs[place]) if self.has_input(place) else None
        if tensor is None or tensor.data_location:  # what lies in files beside the model is not read
            return []
        from onnx.numpy_helper import to_array

        return [float(value) for value in to_array(tensor).ravel()]


Rule = Callable[[Imported, OnnxNode], bool]
"""Adds the layer of a node; False where this use of the operator has no layer."""


def _plain(imported: Imported, node: OnnxNode, *, kind: str, **numbers: Any) -> bool:
    imported.add(node.output, kind, node.inputs[:1], **numbers)
    return True


def _same(imported: Imported, node: OnnxNode) -> bool:
    imported.same(node.output, node.inputs[0])
    return True


def _conv(imported: Imported, node: OnnxNode) -> bool:
    weights, groups = node.dims(1), node.attributes.get("group", 1)
    if len(weights) != 4:
        return False
    imported.check_width(node.output, "maps", weights[1] * groups, imported.shape(node.inputs[0]).n_maps)
    window = _window(imported, node, (weights[2], weights[3]))
    imported.add(node.output, "conv", node.inputs[:1], n_maps=weights[0], groups=groups, bias=node.has_input(2), **window)
    return True


def _pool(imported: Imported, node: OnnxNode, *, mode: str) -> bool:
    filter_size = tuple(node.attributes["kernel_shape"])
    if len(filter_size) != 2:
        return False
    window = _window(imported, node, filter_size)
    imported.add(node.output, "pool", node.inputs[:1], mode=mode, ceil_mode=bool(node.attributes.get("ceil_mode", 0)), **window)
    return True


def _window(imported: Imported, node: OnnxNode, filter_size: Size) -> dict[str, Size]:
    """Filter, stride, padding and dilation; ONNX steps by 1 unless told, pools too."""
    stride = tuple(node.attributes.get("strides", (1, 1)))
    dilation = tuple(node.attributes.get("dilations", (1, 1)))
    return {
        "filter_size": filter_size,
        "stride": stride,
        "padding": _padding(imported, node, filter_size, stride, dilation),
        "dilation": dilation,
    }


def _padding(imported: Imported, node: OnnxNode, filter_size: Size, stride: Size, dilation: Size) -> Size:
    place = f"network {imported.name!r}, node {node.name!r}"
    if node.attributes.get("auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER"):
        return same_padding(imported.shape(node.inputs[0]), filter_size, stride, dilation, place)
    top, left, bottom, right = node.attributes.get("pads", (0, 0, 0, 0))
    if (top, left) != (bottom, right):
        hint = "Only equal padding on both sides is supported."
        raise DataError(
            f"got pads {[top, left, bottom, right]}, expected the same at the start and the end", place=place, hint=hint
        )
    return (top, left)


def _gemm(imported: Imported, node: OnnxNode) -> bool:
    if node.attributes.get("transA", 0):
        return False
    return _fc(imported, node, is_transposed=bool(node.attributes.get("transB", 0)), bias=node.has_input(2))


def _matmul(imported: Imported, node: OnnxNode) -> bool:
    return _fc(imported, node, is_transposed=False, bias=False)


def _fc(imported: Imported, node: OnnxNode, *, is_transposed: bool, bias: bool) -> bool:
    weights = node.dims(1)
    if len(weights) != 2:
        return False
    n_inputs, n_maps = reversed(weights) if is_transposed else weights
    imported.linear(node.output, node.inputs[0], n_inputs, n_maps, bias=bias)
    return True


def _add(imported: Imported, node: OnnxNode) -> bool:
    """A sum of tensors; with a constant the bias of the layer before, or a position embedding."""
    if len(node.tensors) == len(node.inputs):
        imported.add(node.output, "add", node.inputs)
        return True
    if len(node.tensors) != 1:
        return False
    constant = next(place for place, name in enumerate(node.inputs) if name in node.constants)
    dims, source = node.dims(constant), node.tensors[0]
    if math.prod(dims) == imported.shape(source).n_maps and imported.add_bias(node.output, source):
        return True
    return imported.with_constant(node.output, "position_embedding", source, dims)


def _multiply(imported: Imported, node: OnnxNode) -> bool:
    """A product of tensors, or layer scale where one operand is a constant."""
    if len(node.tensors) == len(node.inputs):
        imported.add(node.output, "multiply", sorted(node.inputs, key=lambda name: -imported.shape(name).size))
        return True
    if len(node.tensors) != 1:
        return False
    constant = next(place for place, name in enumerate(node.inputs) if name in node.constants)
    return imported.with_constant(node.output, "layer_scale", node.tensors[0], node.dims(constant))


def _transposed_conv(imported: Imported, node: OnnxNode) -> bool:
    weights, groups = node.dims(1), node.attributes.get("group", 1)
    if len(weights) != 4 or "output_shape" in node.attributes or node.attributes.get("auto_pad", b"NOTSET") != b"NOTSET":
        return False
    imported.check_width(node.output, "maps", weights[0], imported.shape(node.inputs[0]).n_maps)
    window = _window(imported, node, (weights[2], weights[3]))
    window["output_padding"] = tuple(node.attributes.get("output_padding", (0, 0)))
    imported.add(
        node.output, "transposed_conv", node.inputs[:1], n_maps=weights[1] * groups, groups=groups, bias=node.has_input(2), **window
    )
    return True


def _transpose(imported: Imported, node: OnnxNode) -> bool:
    return imported.permuted(node.output, node.inputs[0], tuple(node.attributes.get("perm", ())))


def _layer_norm(imported: Imported, node: OnnxNode) -> bool:
    layout = imported.layout(node.inputs[0])
    if node.attributes.get("axis", -1) not in (-1, len(layout) - 1) or not layout.endswith("c") or not node.has_input(2):
        return False
    return _plain(imported, node, kind="layer_norm")


def _group_norm(imported: Imported, node: OnnxNode) -> bool:
    return _plain(imported, node, kind="group_norm", groups=node.attributes["num_groups"])


def _gather(imported: Imported, node: OnnxNode) -> bool:
    """Rows of a table of embeddings, or the first token."""
    axis, table = node.attributes.get("axis", 0), node.dims(0)
    if len(table) == 2 and axis == 0 and node.inputs[1] not in node.constants:
        imported.add(node.output, "embedding", node.inputs[1:], n_embeddings=table[0], n_maps=table[1])
        return True
    is_first = axis == 1 and node.values(1) == [0.0] and not node.dims(1)
    return is_first and imported.layout(node.inputs[0]) == "btc" and _plain(imported, node, kind="select_token")


def _resize(imported: Imported, node: OnnxNode) -> bool:
    """Sizes where they are given, else scales; both name all four dimensions."""
    mode = {b"nearest": "nearest", b"linear": "bilinear"}.get(node.attributes.get("mode", b"nearest"), "")
    shape = imported.shape(node.inputs[0])
    sizes = node.values(3)[2:] or [
        side * scale for side, scale in zip((shape.height, shape.width), node.values(2)[2:], strict=False)
    ]
    if not mode or len(sizes) != 2:
        return False
    return _plain(imported, node, kind="resize", mode=mode, output_size=(int(sizes[0]), int(sizes[1])))


def _concat(imported: Imported, node: OnnxNode) -> bool:
    """Maps joined, or a learnt token put before the others."""
    if not node.tensors:
        return False
    along = imported.layout(node.tensors[0])[node.attributes["axis"]]
    if along == "t" and node.dims(0) == (1, 1, imported.shape(node.tensors[0]).n_maps) and len(node.inputs) == 2:
        imported.add(node.output, "class_token", node.tensors)
        return True
    if along != "c" or len(node.tensors) != len(node.inputs):
        return False
    imported.add(node.output, "concat", node.inputs)
    return True


def _flatten(imported: Imported, node: OnnxNode) -> bool:
    return node.attributes.get("axis", 1) == 1 and _plain(imported, node, kind="flatten")


def _reshape(imported: Imported, node: OnnxNode) -> bool:
    """Two dimensions of which the first is the batch: a flatten; batch, maps and one more: tokens."""
    sizes, shape, layout = node.values(1), imported.shape(node.inputs[0]), imported.layout(node.inputs[0])
    if len(sizes) == 3 and layout == MAPS_FIRST and sizes[1] in (0, shape.n_maps):
        return _plain(imported, node, kind="tokens")
    n_elements = shape.size
    return len(sizes) == 2 and sizes[1] in (-1, n_elements) and _plain(imported, node, kind="flatten")


def _squeeze(imported: Imported, node: OnnxNode) -> bool:
    shape = imported.shape(node.inputs[0])
    return shape.map_size == 1 and _axes(node) == {2, 3} and _plain(imported, node, kind="flatten")


def _reduce_mean(imported: Imported, node: OnnxNode) -> bool:
    axes = [int(axis) for axis in node.attributes.get("axes") or node.values(1)]
    return imported.global_mean(node.output, node.inputs[0], axes, keeps=bool(node.attributes.get("keepdims", 1)))


def _axes(node: OnnxNode) -> set[int]:
    """Axes from the attribute (old files) or the second input, counted from the front of four."""
    axes = node.attributes.get("axes") or node.values(1)
    return {int(axis) % 4 for axis in axes}


def _clip(imported: Imported, node: OnnxNode) -> bool:
    low = node.values(1) or [node.attributes.get("min", -1.0)]
    high = node.values(2) or [node.attributes.get("max", -1.0)]
    return (low, high) == ([0.0], [6.0]) and _plain(imported, node, kind="activation", function="relu6")


_ACTIVATIONS = {
    "Relu": "relu",
    "LeakyRelu": "leaky_relu",
    "Elu": "elu",
    "Gelu": "gelu",
    "Swish": "silu",
    "HardSwish": "hardswish",
    "HardSigmoid": "hardsigmoid",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Softplus": "softplus",
}

NODES: Mapping[str, Rule] = {
    "Conv": _conv,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MaxPool": partial(_pool, mode="max"),
    "AveragePool": partial(_pool, mode="average"),
    "GlobalMaxPool": partial(_plain, kind="pool", mode="max", output_size=(1, 1)),
    "GlobalAveragePool": partial(_plain, kind="pool", mode="average", output_size=(1, 1)),
    "ReduceMean": _reduce_mean,
    "ConvTranspose": _transposed_conv,
    "Transpose": _transpose,
    "LayerNormalization": _layer_norm,
    "GroupNormalization": _group_norm,
    "Gather": _gather,
    "Resize": _resize,
    "Mul": _multiply,
    "BatchNormalization": partial(_plain, kind="batch_norm"),
    "Dropout": partial(_plain, kind="dropout"),
    "Softmax": partial(_plain, kind="softmax"),
    "LogSoftmax": partial(_plain, kind="softmax"),
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Identity": _same,
    "Add": _add,
    "Sum": _add,
    "Concat": _concat,
    "Clip": _clip,
    **{operator: partial(_plain, kind="activation", function=function) for operator, function in _ACTIVATIONS.items()},
}
