"""Parameters and multiply-accumulates of one layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mlperf.specs.network.layer import CELLS, Layer
from mlperf.specs.network.shape import Shape


def fan(layer: Layer, source: Shape) -> int:
    """Elements of the input that one output element of a ``conv`` or ``fc`` reads; 0 for other kinds.

    c^2 m_{l-1} / groups for a convolution, x_{l-1}^2 m_{l-1} for a fully connected layer (the factor of eq. 3 in Oyama et al.).
    """
    if layer.kind == "conv":
        return layer.window * (source.n_maps // layer.groups)
    return source.size if layer.kind == "fc" else 0


def layer_n_params(layer: Layer, source: Shape) -> int:
    """Learnt parameters: weights and biases, scales and shifts, embeddings and tokens."""
    return _PARAMS[layer.kind](layer, source) if layer.kind in _PARAMS else 0


def layer_n_macs(layer: Layer, sources: Sequence[Shape], target: Shape) -> int:
    """Multiply-accumulates of the forward pass for one sample: those of matrix products.

    Only convolutions, fully connected and recurrent layers and attention have any, its products of activations with activations
    included; norms, activations, sums and resizing count nothing. What torchvision's model pages call GFLOPS is this number.
    """
    source = sources[0]
    if layer.kind == "attend":
        return score_size(layer, sources) * (source.n_maps + target.n_maps) // layer.n_heads
    if layer.kind == "attention":
        return projection_macs(source) + 2 * activation_macs(source)
    if layer.kind == "recurrent":
        return input_macs(layer, source) + state_macs(layer, source)
    if layer.kind == "transposed_conv":
        return source.size * layer.window * (layer.n_maps // layer.groups)
    return target.size * fan(layer, source)


def layer_n_macs_backward(layer: Layer, sources: Sequence[Shape], target: Shape, *, reaches_input: bool) -> int:
    """Multiply-accumulates of the backward pass for one sample: those of weight gradients, and of input gradients where needed.

    Inside attention and a recurrent layer every product has both, but that with the input, which like other layers has the latter
    only if ``reaches_input``.
    """
    source, forward = sources[0], layer_n_macs(layer, sources, target)
    if layer.kind == "attend":
        return 2 * forward
    if layer.kind == "attention":
        return 2 * forward - (0 if reaches_input else 3 * projection_macs(source) // 4)
    if layer.kind == "recurrent":
        return 2 * forward - (0 if reaches_input else input_macs(layer, source))
    return forward * (1 + reaches_input)


def input_macs(layer: Layer, source: Shape) -> int:
    """Products of a recurrent layer's input with its weights: T g F H in each direction, g of `CELLS`."""
    return source.map_size * layer.n_directions * CELLS[layer.cell] * source.n_maps * layer.n_maps


def state_macs(layer: Layer, source: Shape) -> int:
    """Products of its state, step by step: T g H^2 in each direction."""
    return source.map_size * layer.n_directions * CELLS[layer.cell] * layer.n_maps**2


def projection_macs(source: Shape) -> int:
    """Products of an attention with its weights: queries, keys and values from every token, and the output; T 4 d^2."""
    return source.map_size * 4 * source.n_maps**2


def activation_macs(source: Shape) -> int:
    """One of the two products of an attention without weights, queries with keys or probabilities with values: T^2 d."""
    return source.map_size**2 * source.n_maps


def score_size(layer: Layer, sources: Sequence[Shape]) -> int:
    """Products of an ``attend`` of one query with one key: heads x tokens x the tokens of a window."""
    return layer.n_heads * sources[0].map_size * (sources[1].map_size // layer.groups)


def _maps_and_fan(layer: Layer, source: Shape) -> int:
    return layer.n_maps * (fan(layer, source) + layer.bias)


def _transposed(layer: Layer, source: Shape) -> int:
    return layer.n_maps * (source.n_maps // layer.groups * layer.window + layer.bias)


def _scale_and_shift(layer: Layer, source: Shape) -> int:
    return 2 * source.n_maps if layer.bias else 0


_PARAMS: Mapping[str, Callable[[Layer, Shape], int]] = {
    "conv": _maps_and_fan,
    "transposed_conv": _transposed,
    "fc": _maps_and_fan,
    "batch_norm": _scale_and_shift,
    "layer_norm": _scale_and_shift,
    "group_norm": _scale_and_shift,
    "layer_scale": lambda _layer, source: source.n_maps,
    "layer_shift": lambda _layer, source: source.n_maps,
    "prelu": lambda layer, _source: layer.n_slopes,
    "class_token": lambda layer, source: layer.n_tokens * source.n_maps,
    "position_embedding": lambda _layer, source: source.size,
    "embedding": lambda layer, _source: layer.n_embeddings * layer.n_maps,
    "attention": lambda layer, source: 4 * source.n_maps * (source.n_maps + layer.bias),
    "attend": lambda layer, _source: layer.n_biases,
    "recurrent": lambda layer, source: (
        layer.n_directions * CELLS[layer.cell] * layer.n_maps * (source.n_maps + layer.n_maps + 2 * layer.bias)
    ),
}
