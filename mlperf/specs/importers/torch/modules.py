"""What each class of torch module becomes; a table from class names, so that torch need not be imported to read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mlperf.core.errors import DataError
from mlperf.specs.importers.imported import MAPS_FIRST, Imported, unknown_operation
from mlperf.specs.importers.padding import same_padding
from mlperf.specs.importers.reshapes import reshaped
from mlperf.specs.network.layer import RESIZE_MODES
from mlperf.specs.network.shape import Size, pair

Rule = Callable[[Imported, str, str, Any], None]

ACTIVATIONS: Mapping[str, str] = {
    "ReLU": "relu",
    **dict.fromkeys(("ReLU6", "Hardtanh"), "relu6"),
    "LeakyReLU": "leaky_relu",
    "ELU": "elu",
    "SELU": "elu",
    "CELU": "elu",
    "GELU": "gelu",
    "SiLU": "silu",
    "Hardswish": "hardswish",
    "Hardsigmoid": "hardsigmoid",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Softplus": "softplus",
    "Mish": "mish",
}


def _conv(imported: Imported, tensor: str, source: str, module: Any, *, kind: str = "conv") -> None:
    sizes, padded = directions(module), imported.unpadded(source)[0] if kind == "conv" else source
    imported.check_width(tensor, "maps", module.in_channels, imported.shape(padded).n_maps)
    read, padding = _conv_padding(imported, tensor, source, module)
    own = ("stride", "dilation") if kind == "conv" else ("stride", "dilation", "output_padding")
    imported.add(
        tensor,
        kind,
        [read if kind == "conv" else source],
        n_maps=module.out_channels,
        filter_size=sizes(module.kernel_size),
        padding=padding,
        groups=module.groups,
        bias=module.bias is not None,
        **{name: sizes(getattr(module, name), int(name != "output_padding")) for name in own},
    )


def directions(module: Any) -> Callable[..., Size]:
    """How sizes of this module become height and width: one number of a class for sequences is the height."""

    def of_one(value: Any, other: int = 1) -> Size:
        height = value[0] if isinstance(value, (tuple, list)) else value
        return (height, other)

    def of_two(value: Any, _other: int = 1) -> Size:
        return pair(value if isinstance(value, int) else tuple(value))

    return of_one if type(module).__name__.endswith("1d") else of_two


def _conv_padding(imported: Imported, tensor: str, source: str, module: Any) -> tuple[str, Size]:
    """What the window reads, and its rows and columns on either side."""
    sizes = directions(module)
    window = (sizes(module.kernel_size), sizes(module.stride), sizes(module.dilation))
    if module.padding == "same":
        shape = imported.shape(source)
        return source, same_padding(shape, *window, f"layer {tensor!r}")
    rows, columns = (0, 0) if module.padding == "valid" else sizes(module.padding, 0)
    if not any(imported.unpadded(source)[1]):
        return source, (rows, columns)
    return imported.under_window(source, window, (rows, columns, rows, columns), f"layer {tensor!r}")


def _linear(imported: Imported, tensor: str, source: str, module: Any) -> None:
    imported.linear(tensor, source, module.in_features, module.out_features, bias=module.bias is not None)


def _pool(imported: Imported, tensor: str, source: str, module: Any, *, mode: str) -> None:
    sizes = directions(module)
    _check_one_output(imported, tensor, module)
    imported.add(
        tensor,
        "pool",
        [source],
        mode=mode,
        filter_size=sizes(module.kernel_size),
        stride=sizes(module.stride),
        padding=sizes(module.padding, 0),
        dilation=sizes(getattr(module, "dilation", 1)),
        ceil_mode=module.ceil_mode,
    )


def _adaptive_pool(imported: Imported, tensor: str, source: str, module: Any, *, mode: str) -> None:
    _check_one_output(imported, tensor, module)
    wanted = module.output_size
    if type(module).__name__.endswith("1d"):
        wanted = directions(module)(wanted)
    imported.add(tensor, "pool", [source], mode=mode, output_size=adaptive_size(imported, source, wanted))


def adaptive_size(imported: Imported, source: str, wanted: Any) -> Size:
    """Output size of an adaptive pool; ``None`` keeps the size of the input in that direction."""
    height, width = wanted if isinstance(wanted, (tuple, list)) else (wanted, wanted)
    shape = imported.shape(source)
    return (shape.height if height is None else height, shape.width if width is None else width)


def _check_one_output(imported: Imported, tensor: str, module: Any) -> None:
    if getattr(module, "return_indices", False):
        raise unknown_operation(imported.name, tensor, "max pooling that returns its indices")


def _batch_norm(imported: Imported, tensor: str, source: str, module: Any) -> None:
    imported.check_width(tensor, "maps", module.num_features, imported.shape(source).n_maps)
    imported.add(tensor, "batch_norm", [source], bias=module.affine)


def _group_norm(imported: Imported, tensor: str, source: str, module: Any) -> None:
    imported.check_width(tensor, "maps", module.num_channels, imported.shape(source).n_maps)
    imported.add(tensor, "group_norm", [source], groups=module.num_groups, bias=module.affine)


def _instance_norm(imported: Imported, tensor: str, source: str, module: Any) -> None:
    imported.check_width(tensor, "maps", module.num_features, imported.shape(source).n_maps)
    imported.add(tensor, "group_norm", [source], groups=module.num_features, bias=module.affine)


def _prelu(imported: Imported, tensor: str, source: str, module: Any) -> None:
    if module.num_parameters > 1:
        imported.check_width(tensor, "maps", module.num_parameters, imported.shape(source).n_maps)
    imported.add(tensor, "prelu", [source], n_slopes=module.num_parameters)


def _shuffle(imported: Imported, tensor: str, source: str, module: Any) -> None:
    imported.add(tensor, "shuffle", [source], groups=module.groups)


def _pad(imported: Imported, tensor: str, source: str, module: Any) -> None:
    """Left, right, top and bottom, as torch counts; of a sequence before and behind."""
    given = tuple(module.padding)
    left, right, top, bottom = given if len(given) == 4 else (0, 0, *given)
    if not imported.pad(tensor, source, (top, left, bottom, right)):
        raise unknown_operation(imported.name, tensor, f"{type(module).__name__} of {given}")


def _unflatten(imported: Imported, tensor: str, source: str, module: Any) -> None:
    if module.dim != 1 or not reshaped(imported, tensor, source, (0, *module.unflattened_size)):
        raise unknown_operation(imported.name, tensor, f"Unflatten to {tuple(module.unflattened_size)}")


def _layer_norm(imported: Imported, tensor: str, source: str, module: Any) -> None:
    has_half = module.elementwise_affine and module.bias is None
    if has_half or not layer_norm(imported, tensor, source, module.normalized_shape, bias=module.elementwise_affine):
        raise unknown_operation(imported.name, tensor, f"LayerNorm over {tuple(module.normalized_shape)}")


def layer_norm(imported: Imported, tensor: str, source: str, over: Any, *, bias: bool) -> bool:
    """A norm over the last dimension, which must hold the maps; False where it does not."""
    if tuple(over) != (imported.shape(source).n_maps,) or not imported.layout(source).endswith("c"):
        return False
    imported.add(tensor, "layer_norm", [source], bias=bias)
    return True


def _embedding(imported: Imported, tensor: str, source: str, module: Any) -> None:
    imported.add(tensor, "embedding", [source], n_embeddings=module.num_embeddings, n_maps=module.embedding_dim)


def _attention(imported: Imported, tensor: str, source: str, module: Any) -> None:
    is_plain = module.batch_first and module._qkv_same_embed_dim and module.bias_k is None and not module.add_zero_attn
    if not is_plain or imported.layout(source) != "btc":
        raise unknown_operation(imported.name, tensor, "MultiheadAttention other than of [batch, tokens, maps] with batch_first")
    imported.check_width(tensor, "maps", module.embed_dim, imported.shape(source).n_maps)
    imported.add(tensor, "attention", [source], n_heads=module.num_heads, bias=module.in_proj_bias is not None)


def _recurrent(imported: Imported, tensor: str, source: str, module: Any) -> None:
    if not module.batch_first or module.proj_size or imported.layout(source) != "btc":
        kind = type(module).__name__
        raise unknown_operation(imported.name, tensor, f"{kind} other than of [batch, tokens, maps] with batch_first")
    imported.check_width(tensor, "maps", module.input_size, imported.shape(source).n_maps)
    numbers = {"n_maps": module.hidden_size, "cell": module.mode.partition("_")[0].lower(), "bias": module.bias}
    for number in range(module.num_layers):
        last = number == module.num_layers - 1
        name = tensor if last else f"{tensor}_{number}"
        imported.add(name, "recurrent", [source], bidirectional=module.bidirectional, **numbers)
        source = name
        if module.dropout and not last:
            source = f"{name}_dropout"
            imported.add(source, "dropout", [name])


def _upsample(imported: Imported, tensor: str, source: str, module: Any) -> None:
    if not resize(imported, tensor, source, module.size, module.scale_factor, module.mode):
        raise unknown_operation(imported.name, tensor, f"Upsample with mode {module.mode!r}")


def resize(imported: Imported, tensor: str, source: str, size: Any, scale: Any, mode: str) -> bool:
    """A resize to ``size``, or by ``scale`` where that is None; False for another interpolation."""
    if mode not in RESIZE_MODES:
        return False
    shape = imported.shape(source)
    if size is None:
        factors = tuple(scale) if isinstance(scale, (tuple, list)) else (scale, scale)
        size = tuple(int(side * factor) for side, factor in zip((shape.height, shape.width), factors, strict=True))
    imported.add(tensor, "resize", [source], mode=mode, output_size=pair(size if isinstance(size, int) else tuple(size)))
    return True


def _flatten(imported: Imported, tensor: str, source: str, module: Any) -> None:
    if module.start_dim == 2 and module.end_dim in (-1, 3) and imported.layout(source) == MAPS_FIRST:
        imported.add(tensor, "tokens", [source])
        return
    if module.start_dim != 1 or module.end_dim not in (-1, 3):
        raise DataError(
            f"got dimensions {module.start_dim} to {module.end_dim}, expected 1 to -1",
            place=f"network {imported.name!r}, {tensor!r}",
            hint="Only whole samples can be flattened, or maps of [batch, maps, height, width] into tokens.",
        )
    imported.add(tensor, "flatten", [source])


def _plain(imported: Imported, tensor: str, source: str, _module: Any, *, kind: str, **numbers: Any) -> None:
    imported.add(tensor, kind, [source], **numbers)


def _dropout(imported: Imported, tensor: str, source: str, module: Any) -> None:
    if module.p:
        imported.add(tensor, "dropout", [source])
    else:
        imported.same(tensor, source)


def _identity(imported: Imported, tensor: str, source: str, _module: Any) -> None:
    imported.same(tensor, source)


MODULES: Mapping[str, Rule] = {
    **dict.fromkeys(("Conv2d", "Conv1d"), _conv),
    "Linear": _linear,
    **dict.fromkeys(("ConvTranspose2d", "ConvTranspose1d"), partial(_conv, kind="transposed_conv")),
    "GroupNorm": _group_norm,
    "LayerNorm": _layer_norm,
    "Embedding": _embedding,
    "MultiheadAttention": _attention,
    **dict.fromkeys(("RNN", "GRU", "LSTM"), _recurrent),
    **dict.fromkeys(("Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"), _upsample),
    **dict.fromkeys(("MaxPool2d", "MaxPool1d"), partial(_pool, mode="max")),
    **dict.fromkeys(("AvgPool2d", "AvgPool1d"), partial(_pool, mode="average")),
    **dict.fromkeys(("AdaptiveMaxPool2d", "AdaptiveMaxPool1d"), partial(_adaptive_pool, mode="max")),
    **dict.fromkeys(("AdaptiveAvgPool2d", "AdaptiveAvgPool1d"), partial(_adaptive_pool, mode="average")),
    **dict.fromkeys(("InstanceNorm2d", "InstanceNorm1d"), _instance_norm),
    **{f"{sort}Pad{rank}d": _pad for sort in ("Zero", "Constant", "Reflection", "Replication") for rank in (1, 2)},
    "PReLU": _prelu,
    "ChannelShuffle": _shuffle,
    "Unflatten": _unflatten,
    "BatchNorm1d": _batch_norm,
    "BatchNorm2d": _batch_norm,
    "SyncBatchNorm": _batch_norm,
    "Flatten": _flatten,
    "Identity": _identity,
    **dict.fromkeys(("Dropout", "Dropout1d", "Dropout2d", "AlphaDropout", "FeatureAlphaDropout"), _dropout),
    **{name: partial(_plain, kind="softmax") for name in ("Softmax", "LogSoftmax", "Softmax2d")},
    **{name: partial(_plain, kind="activation", function=function) for name, function in ACTIVATIONS.items()},
}

READS_MAPS_FIRST = tuple(
    name for name in MODULES if name.endswith(("2d", "Upsample", "GroupNorm", "SyncBatchNorm")) and "Drop" not in name
)
"""Classes that take dimension 1 for the maps."""

READS_SEQUENCES = tuple(name for name in MODULES if name.endswith("1d") and "Drop" not in name)
"""Classes that take dimension 1 for the maps of a sequence; batch norms those of a flat sample, too."""
