"""Parameters and multiply-accumulates of one layer."""

from __future__ import annotations

from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape


def fan(layer: Layer, source: Shape) -> int:
    """Elements of the input that one output element of a ``conv`` or ``fc`` reads; 0 for other kinds.

    c^2 m_{l-1} / groups for a convolution, x_{l-1}^2 m_{l-1} for a fully connected layer (the factor of eq. 3 in Oyama et al.).
    """
    if layer.kind == "conv":
        return layer.window * (source.n_maps // layer.groups)
    return source.size if layer.kind == "fc" else 0


def layer_n_params(layer: Layer, source: Shape) -> int:
    """Learnt parameters: weights and biases; scale and shift of a batch norm."""
    if layer.kind == "batch_norm":
        return 2 * source.n_maps if layer.bias else 0
    return layer.n_maps * (fan(layer, source) + layer.bias)


def layer_n_macs(layer: Layer, source: Shape, target: Shape) -> int:
    """Multiply-accumulates of the forward pass for one sample; only ``conv`` and ``fc`` have any."""
    return target.size * fan(layer, source)
