"""Tensors of an ONNX graph that depend on no sample: from the file, computed from such, or sizes of what layers write."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

MOST_ELEMENTS = 4096
"""Larger tensors are weights: only their shape is followed."""

FLOATING = (1, 10, 11, 16)
"""TensorProto.FLOAT, FLOAT16, DOUBLE and BFLOAT16."""

SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
"""Key of a graph's metadata under which torch lists the parameters and buffers of the network before any rewriting."""

VIEWS = ("Identity", "Transpose", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten")
"""Operators that hand on the same numbers in another shape, order or format."""


def known_tensors(graph: Any) -> dict[str, Any]:
    """Tensors known from the file: initializers, and the outputs of Constant nodes."""
    from onnx import numpy_helper
    from onnx.helper import get_attribute_value

    known = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value":
                known[node.output[0]] = attribute.t
            elif attribute.name in ("value_int", "value_ints", "value_float", "value_floats"):
                dtype = np.int64 if "int" in attribute.name else np.float32
                known[node.output[0]] = numpy_helper.from_array(np.asarray(get_attribute_value(attribute), dtype=dtype))
    return known


def told(graph: Any, kind: str) -> set[str]:
    """Names of the tensors of a kind, PARAMETER or BUFFER, of the network that torch wrote; none where no file tells."""
    signature = next((each.value for each in graph.metadata_props if each.key == SIGNATURE), "")
    return set(re.findall(rf"\b{kind} target='([^']*)'", signature))


def learnt_tensors(graph: Any, known: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """What constants are made of: by name, learnt tensors and the numbers that these hold.

    Learnt are weights, tables and vectors of the file in floating point. Tensors of more than two sizes beyond 1 are not, where
    others meet them: those hold places of tokens, as do whole numbers. Nor are those that the file calls buffers.
    """
    buffers = told(graph, "BUFFER")
    learnt = [each for each in graph.initializer if each.data_type in FLOATING and each.name not in buffers]
    found = {each.name: {each.name: math.prod(each.dims)} for each in learnt}
    for node in graph.node:
        sources = [name for name in node.input if name in found]
        if not sources or any(name and name not in found and name not in known for name in node.input):
            continue
        merged = {name: size for source in sources for name, size in found[source].items()}
        if len(merged) > 1:
            merged = {name: size for name, size in merged.items() if sum(dim > 1 for dim in known[name].dims) <= 2}
        found.update(dict.fromkeys(node.output, merged))
    return found


def fixed_ranges(graph: Any, known: Mapping[str, Any], learnt: Mapping[str, Any]) -> dict[str, list[tuple[int, bool]]]:
    """Vectors that are joined of learnt ones and of ones that no training changes: sizes of these in order, and whether learnt.

    Torch keeps what is learnt among the file's tensors; numbers of a module that are not even saved stand in nodes.
    """
    found = {}
    for node in graph.node:
        if node.op_type != "Concat" or any(name not in known or len(known[name].dims) != 1 for name in node.input):
            continue
        parts = [(int(known[name].dims[0]), bool(learnt.get(name))) for name in node.input]
        if len({is_learnt for _, is_learnt in parts}) > 1:
            found[node.output[0]] = parts
    return found


def learnt_numbers(model: Any) -> set[str]:
    """Names of the file's tensors of one number that are learnt, as far as files of torch tell them from plain numbers.

    There a parameter of one number has a dimension, and plain numbers have none or stand in nodes; elsewhere both look alike.
    """
    ones = {each.name for each in model.graph.initializer if each.data_type in FLOATING and each.dims and math.prod(each.dims) == 1}
    return ones if model.producer_name == "pytorch" else set()


def with_sizes(graph: Any, folder: Path) -> None:
    """Read the small tensors that are kept in files of a folder: sizes, bounds, places. Where there is no such file they stay."""
    from onnx import TensorProto
    from onnx.checker import ValidationError
    from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

    tensors = [attribute.t for node in graph.node if node.op_type == "Constant" for attribute in node.attribute]
    for tensor in (*graph.initializer, *tensors):
        if not uses_external_data(tensor) or not is_small(tensor):
            continue
        try:
            load_external_data_for_tensor(tensor, str(folder))
        except (OSError, ValueError, ValidationError):
            continue
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]


def own_tensor(name: str, graph: Any, constants: Mapping[str, Any]) -> str:
    """The tensor of the file of which ``name`` is only another view; ``name`` itself where it is none."""
    views = {node.output[0]: node.input[0] for node in graph.node if node.op_type in VIEWS and node.input and node.output}
    for _ in range(len(views)):
        if name in constants or name not in views:
            break
        name = views[name]
    return name


def size_tensor(sizes: Sequence[int]) -> Any:
    """A vector of sizes as a tensor, as the operator Shape writes it."""
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(sizes, dtype=np.int64))


def computed_tensors(proto: Any, constants: Mapping[str, Any], opsets: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Outputs of a node all of whose inputs are constant, by name; of large ones the shape alone, nothing where that is unknown.

    Raises
    ------
    ValueError
        The operator does not take such inputs.
    """
    inputs = [name for name in dict.fromkeys(proto.input) if name]
    if not inputs or any(name not in constants for name in inputs):
        return
    if proto.op_type == "Shape":
        bounds = {each.name: each.i for each in proto.attribute}
        yield proto.output[0], size_tensor(constants[inputs[0]].dims[bounds.get("start", 0) : bounds.get("end")])
        return
    if any(attribute.HasField("g") or attribute.graphs for attribute in proto.attribute):
        return
    from onnx.shape_inference import InferenceError

    given = {name: constants[name] for name in inputs}
    try:
        shapes = _shapes(proto, given, opsets)
    except InferenceError as error:
        raise ValueError(str(error)) from error
    if shapes and all(map(_is_inline, given.values())) and all(map(is_small, shapes.values())):
        shapes |= _values(proto, given, opsets)
    yield from shapes.items()


def is_lookup(proto: Any, constants: Mapping[str, Any], n_tokens: int) -> bool:
    """Whether a node looks a row up for each token by itself, by its place or kind, in a table with other than as many rows."""
    if proto.op_type != "Gather" or any(each.name == "axis" and each.i for each in proto.attribute):
        return False
    table, places = (constants.get(name) for name in proto.input)
    if table is None or places is None or len(table.dims) != 2 or n_tokens < 2:
        return False
    return bool(table.dims[0] != n_tokens and places.dims[-1:] == [n_tokens])


def is_small(tensor: Any) -> bool:
    """Whether the numbers of a tensor are followed, not its shape alone."""
    return bool(math.prod(tensor.dims) <= MOST_ELEMENTS)


def _is_inline(tensor: Any) -> bool:
    return is_small(tensor) and not tensor.data_location


def _graph(proto: Any, given: Mapping[str, Any], opsets: Sequence[Any], *, with_small: bool) -> Any:
    """The node alone in a graph; small tensors as initializers where ``with_small``, others as inputs."""
    from onnx import TensorProto, helper

    small, inputs = [], []
    for name, tensor in given.items():
        if with_small and _is_inline(tensor):
            copy = TensorProto()
            copy.CopyFrom(tensor)
            copy.name = name
            small.append(copy)
        else:
            inputs.append(helper.make_tensor_value_info(name, tensor.data_type, tuple(tensor.dims)))
    outputs = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in proto.output if name]
    for output in outputs:
        output.ClearField("type")
    graph = helper.make_graph([proto], "constant", inputs, outputs, small)
    return helper.make_model(graph, opset_imports=opsets)


def _values(proto: Any, given: Mapping[str, Any], opsets: Sequence[Any]) -> dict[str, Any]:
    """Numbers of the outputs; none where onnx itself cannot compute this version of the operator."""
    from onnx import numpy_helper
    from onnx.reference import ReferenceEvaluator

    numbers = {name: numpy_helper.to_array(tensor) for name, tensor in given.items()}
    try:
        evaluator = ReferenceEvaluator(_graph(proto, given, opsets, with_small=False))
    except RuntimeError:  # an operator, or a version of one, that onnx does not compute
        return {}
    found = evaluator.run(None, numbers)
    names = (name for name in proto.output if name)
    return {name: numpy_helper.from_array(np.asarray(value)) for name, value in zip(names, found, strict=False)}


def _shapes(proto: Any, given: Mapping[str, Any], opsets: Sequence[Any]) -> dict[str, Any]:
    from onnx import TensorProto, shape_inference

    model, found = shape_inference.infer_shapes(_graph(proto, given, opsets, with_small=True), data_prop=True), {}
    for output in model.graph.output:
        tensor = output.type.tensor_type
        dims = [dim.dim_value for dim in tensor.shape.dim]
        if tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim):
            found[output.name] = TensorProto(
                name=output.name, data_type=tensor.elem_type, dims=dims, data_location=TensorProto.EXTERNAL
            )
    return found
