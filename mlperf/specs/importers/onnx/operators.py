"""What each ONNX operator becomes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from mlperf.specs.importers.imported import STEPS_FIRST, TOKENS_FIRST, TOKENS_LAST, Imported, unknown_operation
from mlperf.specs.importers.onnx.attention import einsum, product
from mlperf.specs.importers.onnx.folded import check_unfolded
from mlperf.specs.importers.onnx.input import RECURRENT
from mlperf.specs.importers.onnx.node import OnnxNode, Rule
from mlperf.specs.importers.onnx.parts import slice_maps, split_maps
from mlperf.specs.importers.onnx.recurrent import recurrent
from mlperf.specs.importers.onnx.views import expand, flatten, reshape, same, squeeze, times_rows, transpose, unsqueeze
from mlperf.specs.importers.onnx.windows import conv, global_pool, pad, pool, reduced, resize, transposed_conv


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
    if node.inputs[0] in node.constants:
        return False
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
        imported.joined(node.output, "add", imported.alike(node.inputs))
        return True
    if len(node.tensors) != 1:
        return False
    constant = next(place for place, name in enumerate(node.inputs) if name in node.constants)
    dims, source = node.dims(constant), node.tensors[0]
    is_one = math.prod(dims) == 1
    by_map = imported.varies_by_map(source, dims) or (is_one and imported.shape(source).n_maps == 1)
    if not is_one:
        check_unfolded(imported, node, node.inputs[constant : constant + 1])
    if by_map and imported.add_bias(node.output, source, imported.partly_learnt.get(node.inputs[constant], ())):
        return True
    if node.inputs[constant] in imported.learnt_numbers:
        return imported.learnt_number(node.output, source, "layer_shift")
    if is_one:
        return imported.number(node.output, source)
    if by_map:
        return _plain(imported, replace(node, inputs=(source,)), kind="layer_shift")
    _check_alone(imported, node, node.inputs[constant])
    return imported.with_constant(node.output, "position_embedding", source, dims)


def _check_alone(imported: Imported, node: OnnxNode, constant: str) -> None:
    """Refuse numbers that several learnt tensors make for each place: an embedding learns as many as there are."""
    learnt = imported.learnt.get(constant, {})
    if len(learnt) > 1:
        made = f"{node.operator} of {math.prod(node.dims(node.inputs.index(constant)))} numbers computed from {', '.join(learnt)}"
        raise unknown_operation(imported.name, node.name, made, "A position embedding learns its numbers themselves.")


def _multiply(imported: Imported, node: OnnxNode) -> bool:
    """A product of tensors, or with one number, or layer scale where one operand is another constant."""
    if len(node.tensors) == len(node.inputs):
        sources = imported.alike(sorted(node.inputs, key=lambda name: -imported.shape(name).size))
        if not times_rows(imported, node.output, sources):
            imported.add(node.output, "multiply", sources)
        return True
    if len(node.tensors) != 1:
        return False
    constant = next(place for place, name in enumerate(node.inputs) if name in node.constants)
    if node.inputs[constant] in imported.learnt_numbers:
        return imported.learnt_number(node.output, node.tensors[0], "layer_scale")
    if math.prod(node.dims(constant)) == 1:
        return imported.number(node.output, node.tensors[0])
    source, dims = node.tensors[0], node.dims(constant)
    if imported.layout(source) == TOKENS_LAST and not imported.varies_by_map(source, dims):
        source = imported.turned(source)
    return imported.with_constant(node.output, "layer_scale", source, dims)


def _stochastic_depth(imported: Imported, node: OnnxNode) -> bool:
    """One number drawn for each sample is no layer, one for each element is dropout."""
    sizes = node.dims(1)
    if not sizes and node.inputs[1] not in node.constants:
        return False
    if math.prod(sizes[1:]) == 1:
        return same(imported, node)
    return math.prod(sizes[1:]) == imported.shape(node.inputs[0]).size and _plain(imported, node, kind="dropout")


def _number(imported: Imported, node: OnnxNode) -> bool:
    """A difference or quotient with one number, or with one for each map, as pictures are normalised at the entry.

    A difference of two tensors is the work of a sum.
    """
    if node.operator == "Sub" and len(node.tensors) == len(node.inputs):
        imported.add(node.output, "add", node.inputs)
        return True
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
    shifts = node.has_input(2) and not _is_nothing(imported, node, 2)
    if node.has_input(1) and not shifts:
        imported.add(f"{node.output}_norm", "layer_norm", [source], bias=False)
        return imported.with_constant(node.output, "layer_scale", f"{node.output}_norm", node.dims(1))
    return _plain(imported, node, kind="layer_norm", bias=shifts)


def _is_nothing(imported: Imported, node: OnnxNode, place: int) -> bool:
    """Whether an input is zeros that the exporter wrote itself, where the network has no such numbers."""
    values = node.values(place)
    return bool(values) and not any(values) and node.inputs[place] not in imported.learnt


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
    """Rows of a table of embeddings, of places or kinds of tokens too; or one token."""
    axis, table = node.attributes.get("axis", 0), node.dims(0)
    indices = imported.tokens if node.inputs[1] in node.constants else node.inputs[1]
    if len(table) == 2 and axis == 0 and indices:
        imported.add(node.output, "embedding", [indices], n_embeddings=table[0], n_maps=table[1])
        return True
    layout = imported.layout(node.inputs[0])
    is_one = layout in (TOKENS_FIRST, STEPS_FIRST) and layout[axis] == "t" and not node.dims(1) and len(node.values(1)) == 1
    return is_one and _plain(imported, node, kind="select_token")


def _concat(imported: Imported, node: OnnxNode) -> bool:
    """Maps or tokens joined, or a learnt token put before the others."""
    if not node.tensors:
        return False
    along = imported.layout(node.tensors[0])[node.attributes["axis"]]
    if along == "t" and len(node.tensors) == 1:
        return _class_tokens(imported, node)
    if along == "t" and node.tensors == node.inputs:
        return _tokens_joined(imported, node)
    if along != "c" or len(node.tensors) != len(node.inputs):
        return False
    imported.joined(node.output, "concat", node.inputs)
    return True


def _tokens_joined(imported: Imported, node: OnnxNode) -> bool:
    """Tokens one behind the other: as many maps are joined, each of the numbers of a token; the same pass over the same numbers."""
    as_maps = [f"{node.output}_{place}" for place in range(len(node.inputs))]
    n_maps = {imported.shape(source).n_maps for source in node.inputs}
    if {imported.layout(source) for source in node.inputs} != {TOKENS_FIRST} or len(n_maps) > 1:
        return False
    for tensor, source in zip(as_maps, node.inputs, strict=True):
        shape = imported.shape(source)
        imported.add(tensor, "unflatten", [source], n_maps=shape.height, output_size=(shape.n_maps, 1))
    imported.add(f"{node.output}_maps", "concat", as_maps)
    n_tokens = imported.shape(f"{node.output}_maps").n_maps
    imported.add(node.output, "unflatten", [f"{node.output}_maps"], n_maps=n_maps.pop(), output_size=(n_tokens, 1))
    return True


def _class_tokens(imported: Imported, node: OnnxNode) -> bool:
    """Learnt tokens before or behind the others."""
    learnt = [node.dims(place) for place, name in enumerate(node.inputs) if name in node.constants]
    if any(len(dims) != 3 or dims[2] != imported.shape(node.tensors[0]).n_maps for dims in learnt):
        return False
    imported.add(node.output, "class_token", node.tensors, n_tokens=sum(dims[1] for dims in learnt))
    return True


def _unit_length(imported: Imported, node: OnnxNode) -> bool:
    """The maps at each place as a vector of length 1, or the only map: a norm without numbers of its own."""
    source = node.inputs[0]
    layout, shape = imported.layout(source), imported.shape(source)
    along = "".join(layout[axis] for axis in node.attributes.get("axes", (-1,)))
    if along != "t" or shape.n_maps > 1:
        return along == "c" and _plain(imported, node, kind="layer_norm", bias=False)
    turned, written = f"{node.output}_turned", f"{node.output}_written"
    imported.add(turned, "unflatten", [source], n_maps=shape.height, output_size=(1, 1))
    imported.add(written, "layer_norm", [turned], bias=False)
    imported.add(node.output, "unflatten", [written], n_maps=1, output_size=(shape.height, 1))
    imported.layouts[node.output] = layout
    return True


def _response(imported: Imported, node: OnnxNode) -> bool:
    """One number a map from all its places, then a norm over the maps of these."""
    pooled = f"{node.output}_length"
    if not imported.global_pool(pooled, node.inputs[0], node.attributes["axes"], keeps=True):
        return False
    imported.add(node.output, "layer_norm", [pooled], bias=False)
    return True


def _squares_to_maps(imported: Imported, node: OnnxNode) -> bool:
    """Squares of places as maps of fewer places: a copy."""
    source, size = node.inputs[0], node.attributes["blocksize"]
    shape, layout = imported.shape(source), imported.layout(source)
    if layout not in ("bchw", "bhwc") or shape.height % size or shape.width % size:
        return False
    copy = f"{node.output}_copy"
    imported.copied(copy, source)
    output_size = (shape.height // size, shape.width // size)
    imported.add(node.output, "unflatten", [copy], n_maps=shape.n_maps * size**2, output_size=output_size)
    imported.layouts[node.output] = layout
    return True


def _power(imported: Imported, node: OnnxNode) -> bool:
    """Of every element, by one number."""
    return node.tensors == node.inputs[:1] and math.prod(node.dims(1)) == 1 and imported.number(node.output, node.inputs[0])


def _rolled(imported: Imported, node: OnnxNode) -> bool:
    """Rows or columns from one end put to the other: a copy."""
    imported.copied(node.output, node.inputs[0])
    imported.layouts[node.output] = imported.layout(node.inputs[0])
    return True


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


ACTIVATIONS = {
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
    "Einsum": einsum,
    "MaxPool": partial(pool, mode="max"),
    "AveragePool": partial(pool, mode="average"),
    "GlobalMaxPool": partial(global_pool, mode="max"),
    "GlobalAveragePool": partial(global_pool, mode="average"),
    "ReduceMean": partial(reduced, mode="average"),
    "ReduceSum": partial(reduced, mode="average"),
    "ReduceMax": partial(reduced, mode="max"),
    **dict.fromkeys(RECURRENT, recurrent),
    "ConvTranspose": transposed_conv,
    "Transpose": transpose,
    "LayerNormalization": _layer_norm,
    "RMSNormalization": _layer_norm,
    "GroupNormalization": _group_norm,
    "LpNormalization": _unit_length,
    "RotaryEmbedding": partial(_plain, kind="activation", function="identity"),
    "GlobalResponse": _response,
    "Roll": _rolled,
    "SpaceToDepth": _squares_to_maps,
    "Pow": _power,
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
    **{operator: partial(_plain, kind="activation", function=function) for operator, function in ACTIVATIONS.items()},
}
