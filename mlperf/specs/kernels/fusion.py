"""Which bias and which activation function run as one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer


@dataclass(frozen=True, slots=True)
class Fusion:
    """Bias and activation of a network.

    Attributes
    ----------
    function_of : Mapping[str, str]
        For every convolution or fc layer with a bias: the function applied in the same pass, ``"identity"`` where none.
    absorbed : Mapping[str, str]
        For every activation layer that runs inside another layer's pass: that convolution or fc layer.
    """

    function_of: Mapping[str, str]
    absorbed: Mapping[str, str]


def fusion(cnn: CnnSpec) -> Fusion:
    """Pair each biased convolution or fc with the activation layer that is its only reader."""
    consumers = cnn.consumers
    by_name = {layer.name: layer for layer in cnn.layers}
    function_of: dict[str, str] = {}
    absorbed: dict[str, str] = {}
    for layer in cnn.layers:
        if not has_bias_pass(layer):
            continue
        readers = consumers[layer.name]
        partner = by_name[readers[0]] if len(readers) == 1 else None
        if partner is not None and partner.kind == "activation":
            function_of[layer.name] = partner.function
            absorbed[partner.name] = layer.name
        else:
            function_of[layer.name] = "identity"
    return Fusion(function_of, absorbed)


def has_bias_pass(layer: Layer) -> bool:
    """Whether the layer adds a bias to its maps, which takes a pass of its own over them."""
    return layer.kind in ("conv", "transposed_conv", "fc") and layer.bias
