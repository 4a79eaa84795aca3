"""One row of a network's layer table: its kind and the few numbers that kind needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from mlperf.core.errors import DataError
from mlperf.core.suggest import nearest_hint
from mlperf.specs.network.shape import Size, pair

NETWORK_INPUT = "input"
"""The name under which layers refer to the network's input."""

FUNCTIONS = (
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "gelu",
    "silu",
    "hardswish",
    "hardsigmoid",
    "sigmoid",
    "tanh",
    "softplus",
    "mish",
    "identity",
)
MODES = ("max", "average")
RESIZE_MODES = ("nearest", "bilinear")

CELLS: Mapping[str, int] = {"rnn": 1, "gru": 3, "lstm": 4}
"""Recurrent cells, and products of each with its input and with its state."""

_WINDOW = ("filter_size", "stride", "padding", "dilation")
KIND_FIELDS: Mapping[str, tuple[str, ...]] = {
    "conv": ("n_maps", *_WINDOW, "groups", "bias"),
    "pool": (*_WINDOW, "mode", "output_size", "ceil_mode"),
    "fc": ("n_maps", "bias"),
    "batch_norm": ("bias",),
    "activation": ("function",),
    "softmax": (),
    "dropout": (),
    "flatten": (),
    "add": (),
    "concat": (),
    "transposed_conv": ("n_maps", *_WINDOW, "output_padding", "groups", "bias"),
    "resize": ("mode", "output_size", "scale"),
    "multiply": (),
    "layer_norm": ("bias",),
    "group_norm": ("groups", "bias"),
    "layer_scale": (),
    "layer_shift": (),
    "prelu": ("n_slopes",),
    "tokens": (),
    "unflatten": ("n_maps", "output_size"),
    "class_token": ("n_tokens",),
    "select_token": ("n_tokens",),
    "position_embedding": (),
    "embedding": ("n_embeddings", "n_maps"),
    "attention": ("n_heads", "bias"),
    "attend": ("n_heads", "groups", "n_biases"),
    "recurrent": ("n_maps", "cell", "bidirectional", "bias"),
    "part": ("n_maps", "first"),
    "shuffle": ("groups",),
}
"""The fields that each kind of layer reads, beyond ``name``, ``kind`` and ``inputs``."""

LAYER_KINDS = tuple(KIND_FIELDS)
EXPLICIT_KINDS = LAYER_KINDS[: LAYER_KINDS.index("transposed_conv")]
"""Kinds whose kernels the measuring engine runs one by one; the others run as layers of a library."""
NORMS = ("batch_norm", "layer_norm", "group_norm")
"""Kinds that normalise; their ``bias`` stands for scale and shift."""
RESHAPES = ("flatten", "tokens", "unflatten")
"""Kinds whose output is their input under another shape."""
WEIGHTED = (
    *("conv", "transposed_conv", "fc", *NORMS),
    *("layer_scale", "layer_shift", "prelu", "class_token", "position_embedding", "embedding", "attention", "recurrent"),
)
"""Kinds with parameters to learn."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of a network.

    A sequence of tokens is a map of one column: ``n_maps`` numbers for each token, as many rows as tokens. ``tokens`` lays out a
    map in that way, ``unflatten`` makes maps of ``output_size`` of tokens or of a flat vector, ``class_token`` puts learnt tokens
    before the others, ``select_token`` keeps some alone, ``position_embedding`` adds a learnt number to every element; a ``conv``
    of 1 x 1 is a linear layer applied to each token, one of c x 1 slides over c tokens.
    ``embedding`` reads one map of indices. ``attention`` is multi-head self-attention with its projections, ``attend`` its
    products without them, of the queries, keys and values that it reads; ``recurrent`` goes
    through the tokens one after another and writes its state at each. ``layer_norm``
    normalises over the maps at each place, ``group_norm`` over groups of maps. ``multiply`` broadcasts inputs of one map or of
    1 x 1 elements, ``layer_scale`` multiplies every map by a learnt number, ``layer_shift`` adds one; ``prelu`` multiplies what is
    negative by a learnt slope. ``part`` hands on some of the maps, one behind the
    other; ``shuffle`` takes the first map of every group, then the second of each. Stochastic depth is no layer.

    A pair is (height, width); a single integer stands for a square. A field that the layer's kind does not read
    (`KIND_FIELDS`) must keep its default.

    Attributes
    ----------
    name : str
        Unique in its network.
    kind : str
        One of `LAYER_KINDS`.
    inputs : tuple of str
        The producing layers; ``()`` means the layer before, ``"input"`` the network's input.
    n_maps : int
        Maps (channels, neurons) that a ``conv``, ``transposed_conv`` or ``fc`` writes, or the width of an ``embedding``; of a
        ``recurrent`` layer the units of one direction, of a ``part`` or ``unflatten`` the maps that it hands on.
    filter_size : (int, int)
        Window of a ``conv``, ``transposed_conv`` or ``pool``.
    stride : (int, int)
        Step of the window; by default 1 for convolutions, the window itself for ``pool``.
    padding : (int, int)
        Rows and columns added on either side.
    dilation : (int, int)
        Distance between the window's elements.
    groups : int
        Independent groups of maps of a convolution or a ``group_norm``; of a ``shuffle`` those whose maps are mixed; of an
        ``attend`` windows, whose tokens meet each other alone.
    bias : bool
        Whether a convolution, ``fc`` or ``attention`` adds learnt biases, a ``recurrent`` layer one to each of its two products, or
        a norm has a learnt scale and shift.
    mode : str
        ``max`` or ``average``, for ``pool``; ``nearest`` or ``bilinear``, for ``resize``.
    output_size : (int, int)
        Fixed output size of an adaptive ``pool``, a ``resize`` or an ``unflatten``; (1, 1) pools globally, (0, 0) means not
        adaptive.
    function : str
        One of `FUNCTIONS`, for ``activation``.
    ceil_mode : bool
        Whether a ``pool`` rounds its output size up instead of down.
    output_padding : (int, int)
        Rows and columns that a ``transposed_conv`` writes in addition.
    scale : (int, int)
        By how much a ``resize`` enlarges, where ``output_size`` is not given.
    n_heads : int
        Heads of an ``attention`` or ``attend``.
    n_biases : int
        Learnt numbers that an ``attend`` adds to the products of queries and keys, each wherever its relative position occurs.
    n_tokens : int
        Tokens that a ``class_token`` puts before the others, or a ``select_token`` keeps.
    n_embeddings : int
        Rows of the table of an ``embedding``: the vocabulary.
    cell : str
        One of `CELLS`, for ``recurrent``.
    bidirectional : bool
        Whether a ``recurrent`` layer goes through the tokens from either end; it then writes twice as many maps.
    n_slopes : int
        Slopes that a ``prelu`` learns: 1 for all maps, or one a map.
    first : int
        Number, from 0, of the first map that a ``part`` hands on.

    Raises
    ------
    DataError
        Unknown kind or function, a missing or impossible value, a field that the kind does not read.
    """

    name: str
    kind: str
    inputs: tuple[str, ...] = ()
    n_maps: int = 0
    filter_size: Size = (0, 0)
    stride: Size = (0, 0)
    padding: Size = (0, 0)
    dilation: Size = (1, 1)
    groups: int = 1
    bias: bool = True
    mode: str = "max"
    output_size: Size = (0, 0)
    function: str = "relu"
    ceil_mode: bool = False
    output_padding: Size = (0, 0)
    scale: Size = (0, 0)
    n_heads: int = 0
    n_biases: int = 0
    n_tokens: int = 1
    n_embeddings: int = 0
    cell: str = "lstm"
    bidirectional: bool = False
    first: int = 0
    n_slopes: int = 1

    def __post_init__(self) -> None:
        _check_name(self)
        _check_types(self)
        object.__setattr__(self, "inputs", tuple(self.inputs))
        _check_choice(self, "kind", LAYER_KINDS)
        for field in _LEAST:
            object.__setattr__(self, field, _checked_pair(self, field))
        _check_unused_fields(self)
        _CHECKS.get(self.kind, _check_nothing)(self)

    @property
    def is_adaptive(self) -> bool:
        """Whether a pool's output size is fixed and its window follows from the input."""
        return self.output_size != (0, 0)

    @property
    def n_directions(self) -> int:
        """How often a ``recurrent`` layer goes through the tokens."""
        return 1 + self.bidirectional

    @property
    def window(self) -> int:
        """Elements of the filter, c_h * c_w."""
        return self.filter_size[0] * self.filter_size[1]


DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in fields(Layer)}


def layer_error(name: str, field: str, got: object, expected: str, hint: str) -> DataError:
    """The one way in which a layer complains."""
    return DataError(f"got {got!r}, expected {expected}", place=f"layer {name!r}, {field}", hint=hint)


def _refusal(layer: Layer, field: str, expected: str, hint: str) -> DataError:
    return layer_error(layer.name, field, getattr(layer, field), expected, hint)


def _check_name(layer: Layer) -> None:
    if not isinstance(layer.name, str) or not layer.name or layer.name == NETWORK_INPUT:
        raise _refusal(layer, "name", f"a name other than {NETWORK_INPUT!r}", "Give every layer a name of its own.")


def _check_types(layer: Layer) -> None:
    if not isinstance(layer.inputs, (tuple, list)) or not all(isinstance(source, str) for source in layer.inputs):
        raise _refusal(layer, "inputs", "a list of layer names", 'As in inputs = ["conv1"].')
    for field in ("bias", "ceil_mode", "bidirectional"):
        if not isinstance(getattr(layer, field), bool):
            raise _refusal(layer, field, "true or false", "Without quotes.")


def _check_choice(layer: Layer, field: str, known: tuple[str, ...]) -> None:
    value = getattr(layer, field)
    if value not in known:
        raise _refusal(layer, field, f"one of {', '.join(known)}", nearest_hint(str(value), known))


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


_LEAST = {"filter_size": 0, "stride": 0, "padding": 0, "dilation": 1, "output_size": 0, "output_padding": 0, "scale": 0}


def _checked_pair(layer: Layer, field: str) -> Size:
    value, least = getattr(layer, field), _LEAST[field]
    both = (value, value) if isinstance(value, int) else value
    if not isinstance(both, (tuple, list)) or len(both) != 2 or not all(_is_count(one, least) for one in both):
        expected = f"an integer or [height, width], each >= {least}"
        raise _refusal(layer, field, expected, "Sizes are whole numbers of elements.")
    return pair(tuple(both))


def _check_unused_fields(layer: Layer) -> None:
    known = ("name", "kind", "inputs", *KIND_FIELDS[layer.kind])
    for field, default in DEFAULTS.items():
        if field not in known and getattr(layer, field) != default:
            hint = f"A {layer.kind} layer reads: {', '.join(known)}."
            raise _refusal(layer, field, f"no such field for kind {layer.kind!r}", hint)


def _check_nothing(layer: Layer) -> None:
    """Kinds without numbers of their own."""


_COUNTS = {
    "n_maps": "n_maps is the number of maps (neurons) the layer writes.",
    "groups": "Every group holds the same number of maps.",
    "n_embeddings": "n_embeddings is the number of different tokens.",
    "n_slopes": "One slope for all maps, or one for each.",
    "n_heads": "The maps are divided among the heads.",
    "n_tokens": "As many tokens, each a row.",
}
"""Numbers of things, of which there is at least one, and the hint where there is not."""


def _check_counts(layer: Layer, *names: str) -> None:
    for name in names:
        if not _is_count(getattr(layer, name), 1):
            raise _refusal(layer, name, "an integer >= 1", _COUNTS[name])


def _check_sizes(layer: Layer, field: str, hint: str) -> None:
    if min(getattr(layer, field)) < 1:
        raise _refusal(layer, field, "an integer or [height, width], each >= 1", hint)


def _check_window(layer: Layer, default_stride: Size) -> None:
    _check_sizes(layer, "filter_size", "Give the window, as in filter_size = 3.")
    if layer.stride == (0, 0):
        object.__setattr__(layer, "stride", default_stride)
    _check_sizes(layer, "stride", "A window moves by at least one element.")


def _check_conv(layer: Layer) -> None:
    _check_counts(layer, "n_maps")
    _check_window(layer, (1, 1))
    if not _is_count(layer.groups, 1) or layer.n_maps % layer.groups:
        raise _refusal(layer, "groups", f"a divisor of n_maps = {layer.n_maps}", "Every group writes the same number of maps.")


def _check_pool(layer: Layer) -> None:
    _check_choice(layer, "mode", MODES)
    if not layer.is_adaptive:
        _check_window(layer, layer.filter_size)
        if any(2 * padding > filter_size for padding, filter_size in zip(layer.padding, layer.filter_size, strict=True)):
            raise _refusal(layer, "padding", "at most half of filter_size", "A window of padding alone has no maximum.")
        return
    _check_sizes(layer, "output_size", "output_size = 1 pools globally.")
    for field in (*_WINDOW, "ceil_mode"):
        if getattr(layer, field) != DEFAULTS[field]:
            raise _refusal(layer, field, "nothing beside output_size", "An adaptive pool finds its windows itself.")


def _check_transposed_conv(layer: Layer) -> None:
    _check_conv(layer)
    if any(extra >= max(step, gap) for extra, step, gap in zip(layer.output_padding, layer.stride, layer.dilation, strict=True)):
        hint = "More rows than one step of the window would belong to no window."
        raise _refusal(layer, "output_padding", "less than the stride or the dilation", hint)


def _check_resize(layer: Layer) -> None:
    _check_choice(layer, "mode", RESIZE_MODES)
    if (min(layer.output_size) < 1) == (min(layer.scale) < 1):
        hint = "As in output_size = [56, 56] or scale = 2."
        raise _refusal(layer, "scale", "either scale or output_size, each >= 1", hint)


def _check_recurrent(layer: Layer) -> None:
    _check_counts(layer, "n_maps")
    _check_choice(layer, "cell", tuple(CELLS))


def _check_attend(layer: Layer) -> None:
    _check_counts(layer, "n_heads", "groups")
    if not _is_count(layer.n_biases, 0):
        raise _refusal(layer, "n_biases", "an integer >= 0", "n_biases counts learnt numbers that are added to the scores.")


def _check_unflatten(layer: Layer) -> None:
    _check_counts(layer, "n_maps")
    _check_sizes(layer, "output_size", "As in n_maps = 32, output_size = [7, 7].")


def _check_part(layer: Layer) -> None:
    _check_counts(layer, "n_maps")
    if not _is_count(layer.first, 0):
        raise _refusal(layer, "first", "an integer >= 0", "Maps are counted from 0.")


_CHECKS: Mapping[str, Callable[[Layer], None]] = {
    "conv": _check_conv,
    "pool": _check_pool,
    "fc": lambda layer: _check_counts(layer, "n_maps"),
    "activation": lambda layer: _check_choice(layer, "function", FUNCTIONS),
    "transposed_conv": _check_transposed_conv,
    "resize": _check_resize,
    "group_norm": lambda layer: _check_counts(layer, "groups"),
    "prelu": lambda layer: _check_counts(layer, "n_slopes"),
    "unflatten": _check_unflatten,
    "embedding": lambda layer: _check_counts(layer, "n_maps", "n_embeddings"),
    "attention": lambda layer: _check_counts(layer, "n_heads"),
    "attend": _check_attend,
    **dict.fromkeys(("class_token", "select_token"), lambda layer: _check_counts(layer, "n_tokens")),
    "recurrent": _check_recurrent,
    "part": _check_part,
    "shuffle": lambda layer: _check_counts(layer, "groups"),
}
