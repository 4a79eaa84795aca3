"""Vision transformers (Dosovitskiy et al., 2021): patches of an image as tokens."""

from __future__ import annotations

from collections.abc import Iterator

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer

WIDTH, HIDDEN, HEADS, DEPTH, PATCH = 768, 3072, 12, 12, 16
"""Maps of a token, maps inside the two layers that follow attention, heads, blocks, and pixels along a patch."""


def vit_b_16(name: str, input_size: int) -> CnnSpec:
    """Twelve blocks on patches of 16 x 16 pixels, 86,567,656 parameters at 224 x 224."""
    layers = [
        Layer("patches", "conv", n_maps=WIDTH, filter_size=(PATCH, PATCH), stride=(PATCH, PATCH)),
        Layer("tokens", "tokens"),
        Layer("class_token", "class_token"),
        Layer("position", "position_embedding"),
    ]
    for block in range(1, DEPTH + 1):
        layers += _block(f"block{block}", layers[-1].name)
    layers += [Layer("norm", "layer_norm"), Layer("first", "select_token"), Layer("head", "fc", n_maps=1000)]
    return CnnSpec(name, 3, (input_size, input_size), tuple(layers))


def _block(name: str, source: str) -> Iterator[Layer]:
    yield Layer(f"{name}_norm1", "layer_norm")
    yield Layer(f"{name}_attention", "attention", n_heads=HEADS)
    yield Layer(f"{name}_add1", "add", inputs=(f"{name}_attention", source))
    yield Layer(f"{name}_norm2", "layer_norm")
    yield Layer(f"{name}_hidden", "conv", n_maps=HIDDEN, filter_size=(1, 1))
    yield Layer(f"{name}_gelu", "activation", function="gelu")
    yield Layer(f"{name}_out", "conv", n_maps=WIDTH, filter_size=(1, 1))
    yield Layer(f"{name}_add2", "add", inputs=(f"{name}_out", f"{name}_add1"))
