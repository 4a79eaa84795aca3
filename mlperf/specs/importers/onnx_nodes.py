"""What each ONNX operator becomes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from mlperf.specs.importers.imported import STEPS_FIRST, TOKENS_FIRST, Imported
from mlperf.specs.importers.onnx_attention import product
from mlperf.specs.importers.onnx_input import RECURRENT
from mlperf.specs.importers.onnx_node import OnnxNode, Rule
from mlperf.specs.importers.onnx_parts import slice_maps, split_maps
from mlperf.specs.importers.onnx_recurrent import recurrent
from mlperf.specs.importers.onnx_views import expand, flatten, reshape, same, squeeze, transpose, unsqueeze
from mlperf.specs.importers.onnx_windows import conv, global_pool, pad, pool, resize, transposed_conv


def _plain(imported: Imported, node: OnnxNode, *, kind: str, **numbers: Any) -> bool:
    imported.add(node.output, kind, node.inputs[:1], **numbers)
    return True


def _gemm(imported: Imported, node: OnnxNode) -> bool:
    """A fully connected layer: what is added is one number a neuron, or, with a factor of 0, nothing."""
    is_transposed, bias = bool(node.attributes.get("transB", 0)), node.has_input(2) and node.attributes.get("beta", 1.0) != 0.0
    weights = node.dims(1)
    if node.attributes.get("transA", 0) or (bias and len(weights) == 2 and math.prod(node.dims(2)) != weights[not is_transposed]):
        return False
    return _fc(imported, node, is_transposed=is_transposed, bias=bias)


def _matmul(imported: Imported, node: OnnxNode) -> bool:
    """A linear layer; of two tensors part of attention."""
    if len(node.tensors) == len(node.inputs):
        return product(imported, node)
    return _fc(imported, node, is_transposed=False, bias=False)


def _fc(imported: Imported, node: OnnxNode, *, is_transposed: bool, bias: bool) -> bool:
    weights = node.dims(1)
    if len(weights) != 2:
        return False
    n_inputs, n_maps = reversed(weights) if is_transposed else weights
    imported.linear(node.output, node.inputs[0], n_inputs, n_maps, bias=bias)
    return True


def _add(imported: Imported, node: OnnxNode) -> bool:
    """A sum of tensors; with a constant the bias of the layer before, one number, one for each map, or a position embedding."""
    if len(node.tensors) == len(node.inputs):
        imported.joined(node.output, "add", node.inputs)
        return True
    if len(node.tensors) != 1:
        return False
    constant = next(place for place, name in enumerate(node.inputs) if name in node.constants)
    dims, source = node.dims(constant), node.tensors[0]
    is_one = math.prod(dims) == 1
    by_map = imported.varies_by_map(source, dims) or (is_one and imported.shape(source).n_maps == 1)
    if by_map and imported.add_bias(node.output, source):
        return True
    if is_one:
        return imported.number(node.output, source)
    if by_map:
        return _plain(imported, replace(node, inputs=(source,)), kind="layer_shift")
    return imported.with_constant(node.output, "position_embedding", source, dims)


def _multiply(imported: Imported, node: OnnxNode) -> bool:
    """A product of tensors, or with one number, or layer scale where one operand is another constant."""
    if len(node.tensors) == len(node.inputs):
        imported.add(node.output, "multiply", sorted(node.inputs, key=lambda name: -imported.shape(name).size))
        return True
    if len(node.tensors) != 1:
        return False
    constant = next(place for place, name in enumerate(node.inputs) if name in node.constants)
    if math.prod(node.dims(constant)) == 1:
        return imported.number(node.output, node.tensors[0])
    return imported.with_constant(node.output, "layer_scale", node.tensors[0], node.dims(constant))


def _stochastic_depth(imported: Imported, node: OnnxNode) -> bool:
    """One number drawn for each sample is no layer, one for each element is dropout."""
    sizes = node.dims(1)
    if not sizes and node.inputs[1] not in node.constants:
        return False
    if math.prod(sizes[1:]) == 1:
        return same(imported, node)
    return math.prod(sizes[1:]) == imported.shape(node.inputs[0]).size and _plain(imported, node, kind="dropout")


def _number(imported: Imported, node: OnnxNode) -> bool:
    """A difference or quotient with one number, or with one for each map, as pictures are normalised at the entry."""
    if len(node.tensors) != 1 or len(node.inputs) != 2:
        return False
    constant = next(place for place, name in enumerate(node.inputs) if name in node.constants)
    dims = node.dims(constant)
    if math.prod(dims) != 1 and not imported.varies_by_map(node.tensors[0], dims):
        return False
    return imported.number(node.output, node.tensors[0])


def _prelu(imported: Imported, node: OnnxNode) -> bool:
    """A slope for all maps, or one for each; of other learnt slopes there is no layer."""
    dims, source = node.dims(1), node.inputs[0]
    if node.inputs[1] not in node.constants or not (math.prod(dims) == 1 or imported.varies_by_map(source, dims)):
        return False
    return _plain(imported, node, kind="prelu", n_slopes=math.prod(dims))


def _layer_norm(imported: Imported, node: OnnxNode) -> bool:
    """Over the maps at each place; with a scale alone that is a layer of its own. ``axes`` are those of a norm of several nodes."""
    layout, source = imported.layout(node.inputs[0]), node.inputs[0]
    axes = node.attributes.get("axes", range(node.attributes.get("axis", -1) % len(layout), len(layout)))
    sizes = [size for size in node.dims(1) if size > 1]
    if "".join(layout[axis] for axis in axes) != "c" or sizes not in ([], [imported.shape(source).n_maps]):
        return False
    if node.has_input(1) and not node.has_input(2):
        imported.add(f"{node.output}_norm", "layer_norm", [source], bias=False)
        return imported.with_constant(node.output, "layer_scale", f"{node.output}_norm", node.dims(1))
    return _plain(imported, node, kind="layer_norm", bias=node.has_input(2))


def _group_norm(imported: Imported, node: OnnxNode) -> bool:
    """With a scale and shift of each map, or without; of one a group, as opset 18 has them alone, there is no layer."""
    learns, n_maps = node.has_input(1), imported.shape(node.inputs[0]).n_maps
    if learns and math.prod(node.dims(1)) != n_maps:
        return False
    return _plain(imported, node, kind="group_norm", groups=node.attributes["num_groups"], bias=learns)


def _batch_norm(imported: Imported, node: OnnxNode) -> bool:
    """With numbers for each map; where the second dimension is another one, there is no layer."""
    return math.prod(node.dims(1)) in (1, imported.shape(node.inputs[0]).n_maps) and _plain(imported, node, kind="batch_norm")


def _instance_norm(imported: Imported, node: OnnxNode) -> bool:
    """Every map is a group of its own."""
    return _plain(imported, node, kind="group_norm", groups=imported.shape(node.inputs[0]).n_maps)


def _gather(imported: Imported, node: OnnxNode) -> bool:
    """Rows of a table of embeddings, of places or kinds of tokens too; or the first or the last token."""
    axis, table = node.attributes.get("axis", 0), node.dims(0)
    indices = imported.tokens if node.inputs[1] in node.constants else node.inputs[1]
    if len(table) == 2 and axis == 0 and indices:
        imported.add(node.output, "embedding", [indices], n_embeddings=table[0], n_maps=table[1])
        return True
    layout, n_tokens = imported.layout(node.inputs[0]), imported.shape(node.inputs[0]).height
    is_one = layout in (TOKENS_FIRST, STEPS_FIRST) and layout[axis] == "t" and not node.dims(1)
    is_end = node.values(1) in ([0.0], [-1.0], [n_tokens - 1.0])
    return is_one and is_end and _plain(imported, node, kind="select_token")


def _concat(imported: Imported, node: OnnxNode) -> bool:
    """Maps joined, or a learnt token put before the others."""
    if not node.tensors:
        return False
    along = imported.layout(node.tensors[0])[node.attributes["axis"]]
    if along == "t" and node.dims(0)[1:] == (1, imported.shape(node.tensors[0]).n_maps) and len(node.inputs) == 2:
        imported.add(node.output, "class_token", node.tensors)
        return True
    if along != "c" or len(node.tensors) != len(node.inputs):
        return False
    imported.joined(node.output, "concat", node.inputs)
    return True


def _reduce(imported: Imported, node: OnnxNode, *, mode: str) -> bool:
    keeps = bool(node.attributes.get("keepdims", 1))
    return imported.global_pool(node.output, node.inputs[0], node.axes(1), keeps=keeps, mode=mode)


def _dropout(imported: Imported, node: OnnxNode) -> bool:
    """Of nothing it is no layer."""
    if 0.0 in (node.attributes.get("ratio"), *node.values(1)):
        return same(imported, node)
    return _plain(imported, node, kind="dropout")


def _bounded(imported: Imported, node: OnnxNode) -> bool:
    """The larger or smaller of each element and one number: one comparison, as of a ReLU."""
    constants = [place for place, name in enumerate(node.inputs) if name in node.constants]
    if len(node.tensors) != 1 or any(math.prod(node.dims(place)) != 1 for place in constants):
        return False
    return _plain(imported, replace(node, inputs=node.tensors), kind="activation", function="relu")


def _clip(imported: Imported, node: OnnxNode) -> bool:
    """Two comparisons as of a ReLU6, or one as of a ReLU, whatever the bounds; without bounds nothing at all."""
    low = node.values(1) or [node.attributes.get("min", -math.inf)]
    high = node.values(2) or [node.attributes.get("max", math.inf)]
    n_bounds = math.isfinite(low[0]) + math.isfinite(high[0])
    if any(node.has_input(place) and not node.values(place) for place in (1, 2)):
        return False
    return _plain(imported, node, kind="activation", function=("relu", "relu6")[n_bounds - 1]) if n_bounds else same(imported, node)


_ACTIVATIONS = {
    "Relu": "relu",
    "LeakyRelu": "leaky_relu",
    **dict.fromkeys(("Elu", "Selu", "Celu"), "elu"),
    "Gelu": "gelu",
    "Swish": "silu",
    "HardSwish": "hardswish",
    "HardSigmoid": "hardsigmoid",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Softplus": "softplus",
    "Mish": "mish",
}
"""Functions; a SELU or CELU is an ELU with other numbers."""

NODES: Mapping[str, Rule] = {
    "Conv": conv,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MaxPool": partial(pool, mode="max"),
    "AveragePool": partial(pool, mode="average"),
    "GlobalMaxPool": partial(global_pool, mode="max"),
    "GlobalAveragePool": partial(global_pool, mode="average"),
    "ReduceMean": partial(_reduce, mode="average"),
    "ReduceMax": partial(_reduce, mode="max"),
    **dict.fromkeys(RECURRENT, recurrent),
    "ConvTranspose": transposed_conv,
    "Transpose": transpose,
    "LayerNormalization": _layer_norm,
    "GroupNormalization": _group_norm,
    "InstanceNormalization": _instance_norm,
    "Gather": _gather,
    "Resize": resize,
    "Upsample": resize,
    "Pad": pad,
    "PRelu": _prelu,
    "Mul": _multiply,
    "StochasticDepth": _stochastic_depth,
    "Div": _number,
    "Sub": _number,
    "BatchNormalization": _batch_norm,
    "Dropout": _dropout,
    "Softmax": partial(_plain, kind="softmax"),
    "LogSoftmax": partial(_plain, kind="softmax"),
    "Flatten": flatten,
    "Reshape": reshape,
    "Expand": expand,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Identity": same,
    "Cast": same,
    "CastLike": same,
    "Add": _add,
    "Sum": _add,
    "Concat": _concat,
    "Clip": _clip,
    "Max": _bounded,
    "Min": _bounded,
    "Slice": slice_maps,
    "Split": split_maps,
    **{operator: partial(_plain, kind="activation", function=function) for operator, function in _ACTIVATIONS.items()},
}
