"""What torch functions and tensor methods become, by name; a trailing underscore (in place) does not matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from mlperf.specs.importers.imported import FLAT, MAPS_FIRST, TOKENS_LAST, Imported
from mlperf.specs.importers.reshapes import groups_swapped, reshaped
from mlperf.specs.importers.torch.modules import adaptive_size, layer_norm, resize
from mlperf.specs.network.layer import FUNCTIONS
from mlperf.specs.network.shape import pair


@dataclass(frozen=True, slots=True)
class Call:
    """A traced call, with the sizes that it was given as numbers.

    Attributes
    ----------
    name : str
        Of the tensor that it makes.
    args : tuple
        Tensors as traced nodes; sizes, and what follows from them, as numbers.
    kwargs : Mapping
        Likewise, by name.
    all_input_nodes : tuple
        The tensors among the arguments.
    users : Mapping
        The calls that read the result.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    all_input_nodes: tuple[Any, ...]
    users: Mapping[Any, Any]

    @classmethod
    def of(cls, node: Any, sizes: Mapping[str, Any]) -> Call:
        """The call of a traced node; ``sizes`` are the numbers known so far, by the node that gave them."""
        from torch import fx

        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda each: sizes.get(each.name, each))
        tensors = tuple(each for each in node.all_input_nodes if each.name not in sizes)
        return cls(node.name, args, kwargs, tensors, node.users)


Rule = Callable[[Imported, Call], bool]
"""Adds the layer of a traced node; False where the call's arguments have no layer."""

SCALARS = ("size", "getattr", "dim")
"""Calls whose results are sizes, not tensors."""

_POOL_ARGUMENTS = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
SAME_CONSTANT = ("expand", "contiguous", "view", "reshape")
"""Calls that leave a learnt tensor what it is, perhaps with other sizes."""


def viewed(shape: tuple[int, ...], operation: str, node: Any) -> tuple[int, ...]:
    """Sizes of a learnt tensor behind one of `SAME_CONSTANT`."""
    given = node.args[1] if len(node.args) == 2 and isinstance(node.args[1], (tuple, list)) else node.args[1:]
    if operation not in ("view", "reshape") or not all(isinstance(size, int) for size in given):
        return shape
    known = prod(size for size in given if size > 0)
    return tuple(prod(shape) // known if size == -1 else size for size in given)


_ALL = slice(None)


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


def _operands(imported: Imported, given: Any) -> tuple[list[str], list[str]]:
    """Computed and learnt tensors among arguments; plain numbers are neither."""
    names = [argument.name for argument in given if hasattr(argument, "name")]
    return [name for name in names if name not in imported.constants], [name for name in names if name in imported.constants]


def _joined(imported: Imported, node: Any, *, kind: str, with_learnt: str) -> bool:
    """Two computed tensors, a computed and a learnt one, or a computed one and a number."""
    computed, learnt = _operands(imported, node.args[:2])
    if len(computed) == 2:
        imported.add(
            node.name, kind, sorted(computed, key=lambda name: -imported.shape(name).size) if kind == "multiply" else computed
        )
        return True
    if computed and any(isinstance(argument, (int, float)) for argument in node.args[:2]):
        return imported.number(node.name, computed[0])
    if not computed or not learnt:
        return False
    shape = imported.constants[learnt[0]]
    if learnt[0] not in imported.learnt:
        return _fits(imported, computed[0], shape) and imported.number(node.name, computed[0])
    if prod(shape) == 1:
        return imported.learnt_number(node.name, computed[0], {"add": "layer_shift"}.get(kind, "layer_scale"))
    return imported.with_constant(node.name, with_learnt, computed[0], shape)


def _fits(imported: Imported, tensor: str, shape: Sequence[int]) -> bool:
    """Whether numbers of a buffer meet those of a tensor without making it larger: a pass over its elements."""
    sizes = [imported.sizes(tensor)[letter] for letter in imported.layout(tensor)]
    return len(shape) <= len(sizes) and all(one in (1, our) for one, our in zip(shape[::-1], sizes[::-1], strict=False))


def _number(imported: Imported, node: Any) -> bool:
    """A difference or quotient of a tensor and a number."""
    has_number = any(isinstance(argument, (int, float)) for argument in node.args[:2])
    return has_number and len(node.all_input_nodes) == 1 and imported.number(node.name, _source(node))


def _clamp(imported: Imported, node: Any) -> bool:
    """Two comparisons as of a ReLU6, or one as of a ReLU, whatever the bounds."""
    given = _arguments(node, ("min", "max"))
    bounds = [given[name] for name in ("min", "max") if given.get(name) is not None]
    if not bounds or not all(isinstance(bound, (int, float)) for bound in bounds):
        return False
    return _plain(imported, node, kind="activation", function=("relu", "relu6")[len(bounds) - 1])


def _cat(imported: Imported, node: Any) -> bool:
    given = {**dict(zip(("tensors", "dim"), node.args, strict=False)), **node.kwargs}
    if not isinstance(given["tensors"], (tuple, list)):
        return False
    computed, learnt = _operands(imported, given["tensors"])
    along = imported.layout(computed[0])[given.get("dim", given.get("axis", 0))] if computed else ""
    if (
        len(computed) == 1
        and along == "t"
        and all(name in imported.learnt for name in learnt)
        and [imported.constants[name] for name in learnt] == [(1, 1, imported.shape(computed[0]).n_maps)]
    ):
        imported.add(node.name, "class_token", computed)
        return True
    if along != "c" or learnt:
        return False
    imported.joined(node.name, "concat", computed)
    return True


def _flatten(imported: Imported, node: Any) -> bool:
    """Dimensions that follow one another made one."""
    given = {"start_dim": 0, "end_dim": -1, **_arguments(node, ("start_dim", "end_dim"))}
    own, layout = imported.sizes(_source(node)), imported.layout(_source(node))
    sizes = [own[letter] for letter in layout]
    first, last = (place % len(sizes) for place in (given["start_dim"], given["end_dim"]))
    if first < 1 or last < first:
        return False
    return reshaped(imported, node.name, _source(node), [*sizes[:first], prod(sizes[first : last + 1]), *sizes[last + 1 :]])


def _reshape(imported: Imported, node: Any) -> bool:
    """Other sizes of a sample."""
    sizes = node.args[1] if len(node.args) == 2 and isinstance(node.args[1], (tuple, list)) else node.args[1:]
    return all(isinstance(size, int) for size in sizes) and reshaped(imported, node.name, _source(node), sizes)


def _unsqueeze(imported: Imported, node: Any) -> bool:
    """One number of each map gets sizes of 1 behind it, as a gate needs them."""
    place, layout = _arguments(node, ("dim",))["dim"], imported.layout(_source(node))
    after = WITH_ONE.get((layout, place % (len(layout) + 1)), "")
    if after:
        imported.same(node.name, _source(node), after)
    return bool(after)


WITH_ONE = {(FLAT, 2): TOKENS_LAST, (TOKENS_LAST, 3): MAPS_FIRST}
"""Order of the dimensions after a size of 1 was put at this place."""


def _squeeze(imported: Imported, node: Any) -> bool:
    """A size of 1 taken away: the width or height of a map, or all but its maps."""
    place = _arguments(node, ("dim",)).get("dim")
    source = _source(node)
    layout, own = imported.layout(source), imported.sizes(source)
    if not isinstance(place, int) or own[layout[place]] != 1 or layout[place] not in "hwt":
        return False
    left = layout.replace(layout[place], "")
    if left == "bch":
        imported.same(node.name, source, TOKENS_LAST)
    elif left == "bcw":
        imported.add(node.name, "tokens", [source])
    else:
        imported.same(node.name, source, FLAT)
    return left in ("bch", "bcw", FLAT)


def _expand(imported: Imported, node: Any) -> bool:
    """Sizes of 1 stretched, which a product does by itself; a layer that cannot refuses their shapes."""
    imported.same(node.name, _source(node))
    return True


def _pieces(imported: Imported, node: Any, *, of: Callable[[Any, int], Sequence[int]], name: str) -> bool:
    """Maps in parts that follow one another, each a tensor once it is taken."""
    given = _arguments(node, (name, "dim"))
    source, n_maps = _source(node), imported.shape(_source(node)).n_maps
    sizes = of(given[name], n_maps)
    if imported.layout(source)[given.get("dim", 0)] != "c" or sum(sizes) != n_maps:
        return False
    imported.pieces[node.name] = tuple((source, sum(sizes[:number]), size) for number, size in enumerate(sizes))
    return True


def _equal_pieces(size: int, n_maps: int) -> list[int]:
    return [min(size, n_maps - first) for first in range(0, n_maps, size)]


def _split_sizes(given: Any, n_maps: int) -> Sequence[int]:
    return _equal_pieces(given, n_maps) if isinstance(given, int) else given


def _chunk_sizes(n_pieces: int, n_maps: int) -> Sequence[int]:
    return _equal_pieces(-(-n_maps // n_pieces), n_maps)


def _permute(imported: Imported, node: Any) -> bool:
    given = node.kwargs.get("dims", node.args[1:])
    order = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    return all(isinstance(place, int) for place in order) and _reordered(imported, node, order)


def _reordered(imported: Imported, node: Any, order: Sequence[int]) -> bool:
    return groups_swapped(imported, node.name, _source(node), order) or imported.permuted(node.name, _source(node), order)


def _transpose(imported: Imported, node: Any) -> bool:
    given = _arguments(node, ("dim0", "dim1"))
    order = list(range(len(imported.layout(_source(node)))))
    order[given["dim0"]], order[given["dim1"]] = order[given["dim1"]], order[given["dim0"]]
    return _reordered(imported, node, order)


def _getitem(imported: Imported, node: Any) -> bool:
    """A part of the maps, the first or the last token, or the first of the two results of attention and recurrent layers."""
    source, place = _source(node), node.args[1]
    if _is_unread(node):
        return True
    if source in imported.pieces:
        return isinstance(place, int) and _part(imported, node.name, *imported.pieces[source][place])
    if isinstance(place, tuple) and len(place) > 1 and isinstance(place[1], slice) and place[1] != _ALL:
        return _sliced(imported, node.name, source, place)
    if place in ((_ALL, 0), (_ALL, -1)) and imported.layout(source) == "btc":
        imported.add(node.name, "select_token", [source])
        return True
    return place == 0 and imported.layers[-1].kind in ("attention", "recurrent") and _same(imported, node)


def _part(imported: Imported, tensor: str, source: str, first: int, n_maps: int) -> bool:
    imported.part(tensor, source, first, n_maps)
    return True


def _sliced(imported: Imported, tensor: str, source: str, place: tuple[Any, ...]) -> bool:
    """Maps that follow one another, of all samples and places."""
    is_whole = all(each in (_ALL, Ellipsis) for number, each in enumerate(place) if number != 1)
    if imported.layout(source)[1] != "c" or not is_whole:
        return False
    first, end, step = place[1].indices(imported.shape(source).n_maps)
    return step == 1 and end > first and _part(imported, tensor, source, first, end - first)


def _is_unread(node: Any) -> bool:
    """Whether nothing is made of a part of a result: ``h`` and ``c`` of ``y, (h, c) = lstm(x)``."""
    return all(getattr(user.target, "__name__", "") == "getitem" and _is_unread(user) for user in node.users)


def _channel_shuffle(imported: Imported, node: Any) -> bool:
    return _plain(imported, node, kind="shuffle", groups=_arguments(node, ("groups",))["groups"])


def _layer_norm(imported: Imported, node: Any) -> bool:
    given = _arguments(node, ("normalized_shape", "weight", "bias"))
    learns = [given.get(name) is not None for name in ("weight", "bias")]
    if learns[0] != learns[1]:
        return False
    return layer_norm(imported, node.name, _source(node), given["normalized_shape"], bias=learns[0])


def _linear(imported: Imported, node: Any) -> bool:
    """A product with a learnt matrix, and learnt biases."""
    given = _arguments(node, ("weight", "bias"))
    weight, bias = (getattr(given.get(name), "name", "") for name in ("weight", "bias"))
    shape = imported.constants.get(weight, ())
    if len(shape) != len(("outputs", "inputs")) or weight not in imported.learnt or (bias and bias not in imported.learnt):
        return False
    imported.linear(node.name, str(node.args[0].name), shape[1], shape[0], bias=bool(bias))
    return True


def _pad(imported: Imported, node: Any) -> bool:
    """Columns left and right, then rows above and below."""
    given = _arguments(node, ("pad", "mode", "value"))["pad"]
    if len(given) not in (2, 4) or not all(isinstance(size, int) for size in given):
        return False
    left, right, top, bottom = (*given, 0, 0)[:4] if imported.layout(_source(node)) == MAPS_FIRST else (0, 0, *given)[:4]
    return imported.pad(node.name, _source(node), (top, left, bottom, right))


def _batch_norm(imported: Imported, node: Any) -> bool:
    """With both learnt numbers of each map, or with neither."""
    given = _arguments(node, ("running_mean", "running_var", "weight", "bias"))
    learns = [given.get(name) is not None for name in ("weight", "bias")]
    if learns[0] != learns[1] or imported.layout(_source(node)) not in (MAPS_FIRST, TOKENS_LAST, FLAT):
        return False
    return _plain(imported, node, kind="batch_norm", bias=learns[0])


def _interpolate(imported: Imported, node: Any) -> bool:
    given = _arguments(node, ("size", "scale_factor", "mode"))
    size, scale = given.get("size"), given.get("scale_factor")
    return resize(imported, node.name, _source(node), size, scale, given.get("mode", "nearest"))


def _reduce(imported: Imported, node: Any, *, mode: str) -> bool:
    given = _arguments(node, ("dim", "keepdim"))
    dimensions = given.get("dim", ())
    places = tuple(dimensions) if isinstance(dimensions, (tuple, list)) else (dimensions,)
    return imported.global_pool(node.name, _source(node), places, keeps=given.get("keepdim", False), mode=mode)


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


_ACTIVATIONS = tuple(name for name in FUNCTIONS if name != "identity")

CALLS: Mapping[str, Rule] = {
    **dict.fromkeys(("add", "iadd"), partial(_joined, kind="add", with_learnt="position_embedding")),
    **dict.fromkeys(("mul", "imul", "multiply"), partial(_joined, kind="multiply", with_learnt="layer_scale")),
    **dict.fromkeys(("sub", "isub", "div", "truediv", "itruediv", "divide", "subtract"), _number),
    **dict.fromkeys(("clamp", "clip"), _clamp),
    "hardtanh": partial(_plain, kind="activation", function="relu6"),
    "cat": _cat,
    "concat": _cat,
    "flatten": _flatten,
    "view": _reshape,
    "reshape": _reshape,
    "permute": _permute,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    **dict.fromkeys(("expand", "expand_as"), _expand),
    "chunk": partial(_pieces, of=_chunk_sizes, name="chunks"),
    "split": partial(_pieces, of=_split_sizes, name="split_size_or_sections"),
    "channel_shuffle": _channel_shuffle,
    "transpose": _transpose,
    "getitem": _getitem,
    "mean": partial(_reduce, mode="average"),
    "amax": partial(_reduce, mode="max"),
    "layer_norm": _layer_norm,
    "batch_norm": _batch_norm,
    "linear": _linear,
    "pad": _pad,
    "interpolate": _interpolate,
    "contiguous": _same,
    "stochastic_depth": _same,
    "max_pool2d": partial(_pool, mode="max", names=_POOL_ARGUMENTS),
    "avg_pool2d": partial(_pool, mode="average", names=("kernel_size", "stride", "padding", "ceil_mode")),
    "adaptive_max_pool2d": partial(_adaptive_pool, mode="max"),
    "adaptive_avg_pool2d": partial(_adaptive_pool, mode="average"),
    **{name: partial(_plain, kind="dropout") for name in ("dropout", "dropout2d", "alpha_dropout", "feature_dropout")},
    **{name: partial(_plain, kind="softmax") for name in ("softmax", "log_softmax")},
    **{name: partial(_plain, kind="activation", function=name) for name in _ACTIVATIONS},
    **dict.fromkeys(("selu", "celu"), partial(_plain, kind="activation", function="elu")),
}
