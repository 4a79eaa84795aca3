"""What torch functions and tensor methods become, by name; a trailing underscore (in place) does not matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mlperf.specs.importers.imported import Imported
from mlperf.specs.importers.torch_modules import adaptive_size
from mlperf.specs.network.shape import pair

Rule = Callable[[Imported, Any], bool]
"""Adds the layer of a traced node; False where the call's arguments have no layer."""

SCALARS = ("size", "getattr", "dim")
"""Calls whose results are sizes, not tensors."""

_POOL_ARGUMENTS = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
_MAPS_DIMENSION = (1, -3)
_PLACE_DIMENSIONS = ((2, 3), (-2, -1), (-1, -2), (3, 2))


def _arguments(node: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Arguments after the tensor, by name."""
    return {**dict(zip(names, node.args[1:], strict=False)), **node.kwargs}


def _source(node: Any) -> str:
    return str(node.all_input_nodes[0].name)


def _plain(imported: Imported, node: Any, *, kind: str, **numbers: Any) -> bool:
    imported.add(node.name, kind, [_source(node)], **numbers)
    return True


def _same(imported: Imported, node: Any) -> bool:
    imported.same(node.name, _source(node))
    return True


def _add(imported: Imported, node: Any) -> bool:
    operands = [argument.name for argument in node.args[:2] if hasattr(argument, "name")]
    if len(operands) != 2:
        return False
    imported.add(node.name, "add", operands)
    return True


def _cat(imported: Imported, node: Any) -> bool:
    given = {**dict(zip(("tensors", "dim"), node.args, strict=False)), **node.kwargs}
    if given.get("dim", given.get("axis", 0)) not in _MAPS_DIMENSION or not isinstance(given["tensors"], (tuple, list)):
        return False
    imported.add(node.name, "concat", [each.name for each in given["tensors"]])
    return True


def _flatten(imported: Imported, node: Any) -> bool:
    given = {"start_dim": 0, "end_dim": -1, **_arguments(node, ("start_dim", "end_dim"))}
    if given["start_dim"] != 1 or given["end_dim"] not in (-1, 3):
        return False
    imported.add(node.name, "flatten", [_source(node)])
    return True


def _reshape(imported: Imported, node: Any) -> bool:
    """Two dimensions of which the first is the batch: a flatten."""
    sizes = node.args[1] if len(node.args) == 2 and isinstance(node.args[1], (tuple, list)) else node.args[1:]
    if len(sizes) != 2 or sizes[1] not in (-1, imported.shape(_source(node)).size):
        return False
    imported.add(node.name, "flatten", [_source(node)])
    return True


def _mean(imported: Imported, node: Any) -> bool:
    dimensions = _arguments(node, ("dim", "keepdim")).get("dim")
    if not isinstance(dimensions, (tuple, list)) or tuple(dimensions) not in _PLACE_DIMENSIONS:
        return False
    imported.add(node.name, "pool", [_source(node)], mode="average", output_size=(1, 1))
    return True


def _pool(imported: Imported, node: Any, *, mode: str, names: tuple[str, ...]) -> bool:
    given = _arguments(node, names)
    if given.get("return_indices"):
        return False
    sizes = {"filter_size": given["kernel_size"], "stride": given.get("stride") or given["kernel_size"]}
    sizes |= {"padding": given.get("padding", 0), "dilation": given.get("dilation", 1)}
    pairs = {name: pair(value if isinstance(value, int) else tuple(value)) for name, value in sizes.items()}
    imported.add(node.name, "pool", [_source(node)], mode=mode, ceil_mode=given.get("ceil_mode", False), **pairs)
    return True


def _adaptive_pool(imported: Imported, node: Any, *, mode: str) -> bool:
    wanted = _arguments(node, ("output_size",))["output_size"]
    imported.add(node.name, "pool", [_source(node)], mode=mode, output_size=adaptive_size(imported, _source(node), wanted))
    return True


_ACTIVATIONS = ("relu", "relu6", "leaky_relu", "elu", "gelu", "silu", "hardswish", "hardsigmoid", "sigmoid", "tanh", "softplus")

CALLS: Mapping[str, Rule] = {
    "add": _add,
    "iadd": _add,
    "cat": _cat,
    "concat": _cat,
    "flatten": _flatten,
    "view": _reshape,
    "reshape": _reshape,
    "mean": _mean,
    "contiguous": _same,
    "max_pool2d": partial(_pool, mode="max", names=_POOL_ARGUMENTS),
    "avg_pool2d": partial(_pool, mode="average", names=("kernel_size", "stride", "padding", "ceil_mode")),
    "adaptive_max_pool2d": partial(_adaptive_pool, mode="max"),
    "adaptive_avg_pool2d": partial(_adaptive_pool, mode="average"),
    **{name: partial(_plain, kind="dropout") for name in ("dropout", "dropout2d", "alpha_dropout", "feature_dropout")},
    **{name: partial(_plain, kind="softmax") for name in ("softmax", "log_softmax")},
    **{name: partial(_plain, kind="activation", function=name) for name in _ACTIVATIONS},
}
