"""Modules of torch for the kinds of layers that the explicit engine does not run; values are maps, tokens a map of one column."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from mlperf.specs.network.cnn import CnnSpec, Layer

Function = Callable[..., Any]


def further_module(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    """The module of a layer of such a kind; it takes and returns values of four dimensions."""
    return _MODULES[layer.kind](torch, cnn, layer)


def _applied(torch: Any, function: Function, **shapes: tuple[int, ...]) -> Any:
    """A module that hands its parameters, of the given shapes, to ``function(parameters, *inputs)``."""

    class Applied(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for name, shape in shapes.items():
                self.register_parameter(name, torch.nn.Parameter(torch.empty(shape)))

        def forward(self, *inputs: Any) -> Any:
            return function(self._parameters, *inputs)

    return Applied()


def _transposed_conv(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    return torch.nn.ConvTranspose2d(
        cnn.input_shapes(layer.name)[0].n_maps,
        layer.n_maps,
        layer.filter_size,
        stride=layer.stride,
        padding=layer.padding,
        output_padding=layer.output_padding,
        groups=layer.groups,
        bias=layer.bias,
        dilation=layer.dilation,
    )


def _resize(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    target = cnn.shapes[layer.name]
    return torch.nn.Upsample(size=(target.height, target.width), mode=layer.mode)


def _multiply(torch: Any, _cnn: CnnSpec, _layer: Layer) -> Any:
    def product(_own: Any, first: Any, *others: Any) -> Any:
        for other in others:
            first = first * other
        return first

    return _applied(torch, product)


def _layer_norm(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    maps = (cnn.shapes[layer.name].n_maps,)

    def normalised(own: Any, x: Any) -> Any:
        last = torch.nn.functional.layer_norm(x.permute(0, 2, 3, 1), maps, own.get("weight"), own.get("bias"))
        return last.permute(0, 3, 1, 2)

    return _applied(torch, normalised, **({"weight": maps, "bias": maps} if layer.bias else {}))


def _group_norm(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    return torch.nn.GroupNorm(layer.groups, cnn.shapes[layer.name].n_maps, affine=layer.bias)


def _layer_scale(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    return _applied(torch, lambda own, x: x * own["scale"], scale=(cnn.shapes[layer.name].n_maps, 1, 1))


def _layer_shift(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    return _applied(torch, lambda own, x: x + own["shift"], shift=(cnn.shapes[layer.name].n_maps, 1, 1))


def _prelu(torch: Any, _cnn: CnnSpec, layer: Layer) -> Any:
    return torch.nn.PReLU(layer.n_slopes)


def _unflatten(torch: Any, _cnn: CnnSpec, layer: Layer) -> Any:
    return _applied(torch, lambda _own, x: x.reshape(len(x), layer.n_maps, *layer.output_size))


def _class_token(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    def joined(own: Any, x: Any) -> Any:
        return torch.cat([own["token"].expand(len(x), -1, -1, -1), x], 2)

    return _applied(torch, joined, token=(1, cnn.shapes[layer.name].n_maps, layer.n_tokens, 1))


def _select_token(torch: Any, _cnn: CnnSpec, layer: Layer) -> Any:
    return _applied(torch, lambda _own, x: x[:, :, : layer.n_tokens].contiguous())


def _position_embedding(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    shape = cnn.shapes[layer.name]
    return _applied(torch, lambda own, x: x + own["position"], position=(shape.n_maps, shape.height, shape.width))


def _embedding(torch: Any, _cnn: CnnSpec, layer: Layer) -> Any:
    def looked_up(own: Any, x: Any) -> Any:
        return torch.nn.functional.embedding(x.long().flatten(1), own["weight"]).transpose(1, 2).unsqueeze(3)

    return _applied(torch, looked_up, weight=(layer.n_embeddings, layer.n_maps))


def _attention(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    maps, functions = cnn.shapes[layer.name].n_maps, torch.nn.functional

    def attended(own: Any, x: Any) -> Any:
        tokens = x.flatten(2).transpose(1, 2)
        projected = functions.linear(tokens, own["in_weight"], own.get("in_bias"))
        heads = projected.unflatten(2, (3, layer.n_heads, -1)).permute(2, 0, 3, 1, 4)
        found = functions.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        return functions.linear(found, own["out_weight"], own.get("out_bias")).transpose(1, 2).unsqueeze(3)

    weights = {"in_weight": (3 * maps, maps), "out_weight": (maps, maps)}
    return _applied(torch, attended, **weights, **({"in_bias": (3 * maps,), "out_bias": (maps,)} if layer.bias else {}))


def _attend(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    """Tokens of a window follow one another here, and learnt numbers stand in turn: the work is the same wherever they do.

    Windows are samples of their own: the library has fused code for four dimensions alone.
    """
    query, key, _ = cnn.input_shapes(layer.name)
    scores = (layer.n_heads, query.map_size // layer.groups, key.map_size // layer.groups)
    n_shared = key.n_maps * layer.n_heads // query.n_maps

    def in_windows(x: Any, n_heads: int) -> Any:
        tokens = x.flatten(2).transpose(1, 2).unflatten(1, (layer.groups, -1)).flatten(0, 1)
        heads = tokens.unflatten(2, (n_heads, -1)).transpose(1, 2)
        return heads if n_heads == layer.n_heads else heads.repeat_interleave(layer.n_heads // n_heads, 1)

    def attended(own: Any, queries: Any, keys: Any, values: Any) -> Any:
        learnt = own.get("bias")
        if learnt is not None:
            learnt = learnt[torch.arange(math.prod(scores), device=learnt.device) % layer.n_biases].view(scores)
        heads = in_windows(queries, layer.n_heads), in_windows(keys, n_shared), in_windows(values, n_shared)
        found = torch.nn.functional.scaled_dot_product_attention(*heads, attn_mask=learnt)
        windows = found.transpose(1, 2).flatten(2).unflatten(0, (-1, layer.groups)).flatten(1, 2)
        return windows.transpose(1, 2).unflatten(2, (query.height, query.width))

    return _applied(torch, attended, **({"bias": (layer.n_biases,)} if layer.n_biases else {}))


def _recurrent(torch: Any, cnn: CnnSpec, layer: Layer) -> Any:
    """The library's own layer, between maps and tokens."""
    kinds = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}
    inputs = cnn.input_shapes(layer.name)[0].n_maps

    class Recurrent(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            options = {"bias": layer.bias, "bidirectional": layer.bidirectional, "batch_first": True}
            self.cell = kinds[layer.cell](inputs, layer.n_maps, **options)

        def forward(self, x: Any) -> Any:
            return self.cell(x.flatten(2).transpose(1, 2))[0].transpose(1, 2).unsqueeze(3)

    return Recurrent()


def _part(torch: Any, _cnn: CnnSpec, layer: Layer) -> Any:
    return _applied(torch, lambda _own, x: x[:, layer.first : layer.first + layer.n_maps].contiguous())


def _shuffle(torch: Any, _cnn: CnnSpec, layer: Layer) -> Any:
    return _applied(torch, lambda _own, x: x.unflatten(1, (layer.groups, -1)).transpose(1, 2).flatten(1, 2))


_MODULES: Mapping[str, Callable[[Any, CnnSpec, Layer], Any]] = {
    "transposed_conv": _transposed_conv,
    "resize": _resize,
    "multiply": _multiply,
    "layer_norm": _layer_norm,
    "group_norm": _group_norm,
    "layer_scale": _layer_scale,
    "layer_shift": _layer_shift,
    "prelu": _prelu,
    "unflatten": _unflatten,
    "class_token": _class_token,
    "select_token": _select_token,
    "position_embedding": _position_embedding,
    "embedding": _embedding,
    "attention": _attention,
    "attend": _attend,
    "recurrent": _recurrent,
    "part": _part,
    "shuffle": _shuffle,
}
FURTHER_KINDS = (*_MODULES, "tokens")
"""Kinds that these modules compute, and the one that is a mere reshape."""
