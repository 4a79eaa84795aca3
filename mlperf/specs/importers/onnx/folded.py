"""What an exporter folded or dropped, and says so: batch norms inside convolutions, and biases of zeros."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mlperf.specs.importers.imported import Imported, unknown_operation
from mlperf.specs.importers.onnx.constants import FLOATING, told
from mlperf.specs.importers.onnx.node import OnnxNode

WEIGHTS_FIRST = {"Conv": True, "ConvTranspose": False, "Gemm": True}
"""Operators that a batch norm is folded into; whether the first dimension of their weights is what they write."""

FOLDED = "FuseBatchNormInto"
"""How torch's exporter names the rules by which it folds batch norms, in the metadata of a node."""

UNFOLDED = (
    "How many numbers are learnt is gone from the file: export it with torch.onnx.export(..., optimize=False), or in training mode "
    "with dynamo=False and do_constant_folding=False."
)

RULES, SCOPES = "pkg.onnxscript.rewriter.rule_name", "pkg.torch.onnx.name_scopes"
"""Keys of a node's metadata: rules that made it, modules that it is of."""


def unfold(graph: Any, constants: dict[str, Any]) -> None:
    """Give layers the batch norms and biases that training has, where the file tells of them.

    Files that torch exports by default (``dynamo=True``) have batch norms folded into the convolutions before them and no biases
    of zeros; the metadata beside lists the network's parameters and the rules by which each node was rewritten. Other files stay
    as they are.

    Parameters
    ----------
    graph : GraphProto
        Changed in place.
    constants : dict
        Known tensors by name; those that are missing in the file are added, without numbers.
    """
    parameters = told(graph, "PARAMETER")
    if not parameters:
        return
    stored = {each.name for each in graph.initializer}
    nodes = [each for node in graph.node for each in _unfolded(node, parameters, stored, constants)]
    del graph.node[:]
    graph.node.extend(nodes)


def folded_tensors(graph: Any) -> set[str]:
    """Names of the tensors in floating point that an exporter made of others, where the file tells which the network had."""
    own = {name for kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR") for name in told(graph, kind)}
    return {each.name for each in graph.initializer if each.data_type in FLOATING and each.dims} - own if own else set()


def check_unfolded(imported: Imported, node: OnnxNode, names: Iterable[str]) -> None:
    """Refuse numbers of a node that were computed when the file was written: fewer or more may be learnt.

    Raises
    ------
    DataError
        Names the tensors.
    """
    lost = sorted(imported.folded.intersection(names))
    if lost:
        made = f"{node.operator} of numbers that the exporter computed from learnt ones ({', '.join(lost)})"
        raise unknown_operation(imported.name, node.name, made, UNFOLDED)


def _unfolded(node: Any, parameters: set[str], stored: set[str], constants: dict[str, Any]) -> Iterator[Any]:
    """The node with the biases that it learns, and those alone, and the batch norm behind it."""
    weights = node.input[1] if node.op_type in WEIGHTS_FIRST and len(node.input) > 1 else ""
    if weights not in parameters or weights not in constants:
        yield node
        return
    from onnx import NodeProto, helper

    metadata = {each.key: each.value for each in node.metadata_props}
    layer, n_maps = NodeProto(), _n_maps(node, constants[weights].dims)
    layer.CopyFrom(node)
    norm, bias = _norm(metadata, parameters), f"{weights.removesuffix('weight')}bias"
    if norm or (bias not in parameters and not stored.intersection(layer.input[2:])):
        del layer.input[2:]
    if norm:
        layer.output[0] = f"{node.output[0]}_unfolded"
    if bias in parameters and len(layer.input) < len(("data", "weights", "bias")):
        layer.input.append(_learnt(bias, n_maps, constants))
    yield layer
    if norm:
        learnt = [_learnt(f"{norm}.{each}", n_maps, constants) for each in ("weight", "bias", "running_mean", "running_var")]
        yield helper.make_node("BatchNormalization", [layer.output[0], *learnt], list(node.output), name=f"{node.name}_{norm}")


def _n_maps(node: Any, dims: Any) -> int:
    """Maps or numbers that a node writes."""
    numbers = {each.name: each.i for each in node.attribute}
    is_first = numbers.get("transB", 0) if node.op_type == "Gemm" else WEIGHTS_FIRST[node.op_type]
    return int(dims[0] if is_first else dims[1] * numbers.get("group", 1))


def _norm(metadata: Mapping[str, str], parameters: set[str]) -> str:
    """Name of the batch norm that was folded into a node, if that learns; else nothing."""
    scopes = re.findall(r"'([^']*)'", metadata.get(SCOPES, "")) if FOLDED in metadata.get(RULES, "") else []
    return next((each for each in reversed(scopes) if f"{each}.weight" in parameters), "")


def _learnt(name: str, size: int, constants: dict[str, Any]) -> str:
    """A vector of which only the size is known, unless the file has it."""
    from onnx import TensorProto

    if name not in constants or math.prod(constants[name].dims) != size:
        outside = TensorProto.EXTERNAL
        constants[name] = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[size], data_location=outside)
    return name
