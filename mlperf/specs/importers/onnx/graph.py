"""A network from an ONNX file; only the graph and the weights' shapes are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlperf.core.errors import PATH, DataError, MissingExtraError, check_type
from mlperf.specs.importers.imported import IN_TOML, Imported, unknown_operation
from mlperf.specs.importers.onnx.attention import of_heads
from mlperf.specs.importers.onnx.constants import (
    computed_tensors,
    fixed_ranges,
    is_lookup,
    known_tensors,
    learnt_numbers,
    learnt_tensors,
    own_tensor,
    size_tensor,
    with_sizes,
)
from mlperf.specs.importers.onnx.folded import folded_tensors, unfold
from mlperf.specs.importers.onnx.hints import hint_apart, hint_of
from mlperf.specs.importers.onnx.input import RECURRENT, TOKENS, input_layout
from mlperf.specs.importers.onnx.node import OnnxNode
from mlperf.specs.importers.onnx.operators import NODES
from mlperf.specs.importers.onnx.paths import of_paths
from mlperf.specs.importers.onnx.patterns import whole_functions
from mlperf.specs.importers.onnx.places import OF_PLACES, of_laid_out
from mlperf.specs.importers.onnx.recurrent import of_states
from mlperf.specs.importers.sample import sample_shape
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import NETWORK_INPUT
from mlperf.specs.network.shape import Shape

WEIGHTS_AT = {"Conv": 1, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1, "Gather": 0, **dict.fromkeys(RECURRENT, 1)}
"""Which input of an operator holds a matrix of weights."""

DIMENSIONS = {"b": "batch", "c": "maps", "h": "height", "w": "width", "t": "tokens"}

READS_NUMBERS = ("Reshape", "Slice", "Split", "Clip", "Pad", "Resize", "Upsample", "Expand", "Squeeze", "Unsqueeze", "Gather")
"""Operators whose inputs may hold sizes, bounds or places."""

DOMAINS = ("", "ai.onnx", "com.microsoft")
"""Sets of operators whose names mean what they mean here."""


OF_HEADS = (*OF_PLACES, of_heads, of_laid_out)
"""What may know a node that reads maps of heads or places in another order."""


def from_onnx(path: str | Path, input_shape: tuple[int, int, int] | None = None, name: str | None = None) -> CnnSpec:
    """The layer table of an ONNX graph.

    Parameters
    ----------
    path : path
        The ``.onnx`` file. Weights kept in files beside it are not needed, but sizes and bounds are.
    input_shape : (int, int, int), optional
        Maps, height and width of one sample, where the file leaves them open.
    name : str, optional
        What reports call the network; by default the file's name without its ending.

    Raises
    ------
    MissingExtraError
        onnx is not installed.
    DataError
        Not an ONNX file, an open input size, an operator that has no layer (names the node and the operator), weights that
        several nodes share, or shapes that do not fit.
    """
    check_type(path, PATH, "path", "an .onnx file")
    path = Path(path)
    model = _load(path)
    graph = model.graph
    with _as_onnx_says(str(path)):
        with_sizes(graph, path.parent)
        constants = known_tensors(graph)
        unfold(graph, constants)
    images = _input(path, graph, constants)
    layout = input_layout(graph, images, constants)
    imported = Imported(name or path.stem, _input_shape(path, images, layout, input_shape), batch=_batch(images, layout))
    imported.aliases[images.name], imported.layouts[images.name] = NETWORK_INPUT, layout
    imported.tokens = images.name if layout == TOKENS else ""
    _check_own_weights(imported.name, graph, constants)
    for proto in graph.node:
        with _as_onnx_says(f"network {imported.name!r}, node {proto.name!r} ({proto.op_type})"):
            constants.update(_computed(imported, constants, proto, model.opset_import))
    imported.learnt, imported.learnt_numbers = learnt_tensors(graph, constants), learnt_numbers(model)
    imported.folded = folded_tensors(graph)
    imported.partly_learnt = fixed_ranges(graph, constants, imported.learnt)
    with _as_onnx_says(str(path)):
        nodes = whole_functions(graph, constants)
    for proto in nodes:
        with _as_onnx_says(f"network {imported.name!r}, node {proto.name!r} ({proto.op_type})"):
            _add_node(imported, constants, proto, model.opset_import)
    _check_output(path, imported, [output.name for output in graph.output])
    return imported.finish()


@contextmanager
def _as_onnx_says(place: str) -> Iterator[None]:
    """Read what the format promises: inputs, attributes and tensors of the kinds that an operator has.

    Raises
    ------
    DataError
        The file breaks that promise, which the reading then trips over.
    """
    try:
        yield
    except DataError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError) as error:
        words = f"is not what ONNX says of such a node: {type(error).__name__}: {error}"
        raise DataError(words, place=place, hint="onnx.checker.check_model tells more; export the network again.") from error


def _load(path: Path) -> Any:
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError as error:
        raise MissingExtraError("onnx is not installed", hint="Install the extra: pip install 'mlperf-estimator[onnx]'.") from error
    try:
        return _inlined(onnx.load(str(path), load_external_data=False))
    except OSError as error:
        raise DataError(error.strerror or "cannot be read", place=str(path), hint="Check the path and its permissions.") from error
    except DecodeError as error:
        raise DataError("not an ONNX file", place=str(path), hint="Export the network again.") from error


def _inlined(model: Any) -> Any:
    """The model with the nodes of its own functions in place of the calls of these."""
    if not model.functions:
        return model
    from onnx import inliner

    return inliner.inline_local_functions(model)


def _input(path: Path, graph: Any, constants: dict[str, Any]) -> Any:
    inputs = [each for each in graph.input if each.name not in constants]
    if len(inputs) != 1:
        names = f" ({', '.join(each.name for each in inputs)})" if inputs else ""
        hint = "Export the network with images (or tokens) as its only input: masks and kinds of tokens have defaults."
        raise DataError(f"got {len(inputs)} inputs{names}, expected one", place=str(path), hint=hint)
    return inputs[0]


def _input_shape(path: Path, tensor: Any, layout: str, given: tuple[int, int, int] | None) -> Shape:
    if given is not None:
        return sample_shape(given, str(path))
    dims = [dim.dim_value for dim in tensor.type.tensor_type.shape.dim]
    if len(dims) != len(layout) or any(size < 1 for size, letter in zip(dims, layout, strict=True) if letter != "b"):
        hint = "Export with fixed sizes (the batch may stay open), or in Python give from_onnx input_shape = (maps, height, width)."
        expected = ", ".join(DIMENSIONS[letter] for letter in layout)
        raise DataError(f"got an input of {dims}, expected [{expected}]", place=str(path), hint=hint)
    sizes = dict(zip(layout, dims, strict=True))
    return Shape(sizes.get("c", 1), sizes.get("h", sizes.get("t", 1)), sizes.get("w", 1))


def _batch(tensor: Any, layout: str) -> int:
    """Samples in the graph's tensors; 1 where the file leaves that open."""
    dims = [dim.dim_value for dim in tensor.type.tensor_type.shape.dim]
    return max(dims[layout.index("b")], 1) if len(dims) == len(layout) else 1


def _add_node(imported: Imported, constants: dict[str, Any], proto: Any, opsets: Sequence[Any]) -> None:
    if proto.output and all(name in constants for name in proto.output if name):
        return
    if proto.op_type == "Shape" and proto.input[0] not in constants:
        constants[proto.output[0]] = size_tensor(_sizes(imported, proto))
        return
    if proto.op_type == "CastLike" and proto.input[0] in constants:
        constants[proto.output[0]] = constants[proto.input[0]]
        return
    computed = dict(_computed(imported, constants, proto, opsets))
    constants.update(computed)
    if computed:
        return
    node = OnnxNode.read(proto, constants)
    if any(name in imported.states for name in node.inputs) and of_states(imported, node):
        return
    if of_paths(imported, node):
        return
    if any(name in imported.heads or name in imported.scores for name in node.inputs):
        if not any(rule(imported, node) for rule in OF_HEADS):
            of_scores = node.operator != "MatMul" and any(name in imported.scores for name in node.inputs)
            what = "scores of attention" if of_scores else "heads or windows"
            raise _unknown(imported, node, f"{node.operator}{node.remark} of {what}", hint_apart(node, what))
        return
    if proto.domain not in DOMAINS:
        raise _unknown(imported, node, f"{proto.domain}.{node.operator}{node.remark}")
    rule = NODES.get(node.operator)
    if rule is None or not rule(imported, node):
        raise _unknown(imported, node, f"{node.operator}{node.remark}")


def _computed(imported: Imported, constants: dict[str, Any], proto: Any, opsets: Sequence[Any]) -> Iterable[tuple[str, Any]]:
    """Outputs that depend on no sample; rows of a table for each token are those of a layer, which learns the whole table."""
    if is_lookup(proto, constants, imported.input_shape.height if imported.tokens else 0):
        return ()
    return computed_tensors(proto, constants, opsets)


def _unknown(imported: Imported, node: OnnxNode, operation: str, hint: str = IN_TOML) -> DataError:
    """The error for a node that has no layer; numbers that are not there come first."""
    if node.unread and node.operator in READS_NUMBERS:
        got = f"got {operation} by numbers that are kept in {node.unread!r}, expected that file beside the model"
        return DataError(
            got, place=f"network {imported.name!r}, node {node.name!r}", hint="Put the exporter's files into one folder."
        )
    return unknown_operation(imported.name, node.name, operation, hint_of(imported, node) or hint)


def _sizes(imported: Imported, proto: Any) -> list[int]:
    """Sizes of a tensor that a layer writes, or of heads of its maps."""
    from onnx.helper import get_attribute_value

    attributes = {each.name: get_attribute_value(each) for each in proto.attribute}
    tensor = proto.input[0]
    if tensor in imported.heads:
        found = imported.heads[tensor].sizes
    else:
        sizes = imported.sizes(tensor)
        found = [sizes[letter] for letter in imported.layout(tensor)]
    return found[attributes.get("start", 0) : attributes.get("end")]


def _check_own_weights(network: str, graph: Any, constants: dict[str, Any]) -> None:
    """Refuse matrices of weights that several nodes read: as layers each would have its own, and all would be counted.

    Vectors may be shared: exporters store equal ones, such as the scales of fresh norms, once.
    """
    readers: dict[str, str] = {}
    for node in graph.node:
        place = WEIGHTS_AT.get(node.op_type, len(node.input))
        name = own_tensor(node.input[place], graph, constants) if place < len(node.input) else ""
        if name not in constants or len(constants[name].dims) < 2:
            continue
        called = node.name or node.output[0]
        if name in readers:
            raise DataError(
                f"got the weights {name!r} in the nodes {readers[name]!r} and {called!r}, expected each in one",
                place=f"network {network!r}",
                hint="Layers here share nothing: n_params would count them twice. Exporters keep equal weights once, except in "
                "training mode: export there, or give each node a copy of its own.",
            )
        readers[name] = called


def _check_output(path: Path, imported: Imported, outputs: Sequence[str]) -> None:
    if not imported.layers or [imported.aliases.get(name) for name in outputs] != [imported.layers[-1].name]:
        raise DataError(
            f"got outputs {', '.join(map(str, outputs))}, expected the last layer's only",
            place=str(path),
            hint="Export the network with a single output.",
        )
