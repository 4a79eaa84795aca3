"""Vision transformers (Dosovitskiy et al., 2021): patches of an image as tokens."""

from __future__ import annotations

from collections.abc import Iterator

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer


def vit_b_16(name: str, input_size: int) -> CnnSpec:
    """Twelve blocks on patches of 16 x 16 pixels, 86,567,656 parameters at 224 x 224."""
    return vision_transformer(name, input_size, patch=16, width=768, depth=12, n_heads=12)


def vision_transformer(
    name: str, input_size: int, patch: int, width: int, depth: int, n_heads: int, widening: int = 4, n_classes: int = 1000
) -> CnnSpec:
    """Blocks of attention on patches and a class token.

    Parameters
    ----------
    name : str
        Of the network.
    input_size, patch : int
        Pixels along a sample and along a patch.
    width, depth, n_heads : int
        Maps of a token; blocks; heads of each.
    widening, n_classes : int
        Maps inside the two layers that follow attention, as a multiple of ``width``; classes.
    """
    layers = [
        Layer("patches", "conv", n_maps=width, filter_size=(patch, patch), stride=(patch, patch)),
        Layer("tokens", "tokens"),
        Layer("class_token", "class_token"),
        Layer("position", "position_embedding"),
    ]
    for block in range(1, depth + 1):
        layers += attention_block(f"block{block}", layers[-1].name, width, n_heads, widening)
    layers += [Layer("norm", "layer_norm"), Layer("first", "select_token"), Layer("head", "fc", n_maps=n_classes)]
    return CnnSpec(name, 3, (input_size, input_size), tuple(layers))


def attention_block(name: str, source: str, width: int, n_heads: int, widening: int = 4) -> Iterator[Layer]:
    """Attention, then two layers on each token, both behind a layer norm and beside a shortcut."""
    yield Layer(f"{name}_norm1", "layer_norm")
    yield Layer(f"{name}_attention", "attention", n_heads=n_heads)
    yield Layer(f"{name}_add1", "add", inputs=(f"{name}_attention", source))
    yield Layer(f"{name}_norm2", "layer_norm")
    yield Layer(f"{name}_hidden", "conv", n_maps=widening * width, filter_size=(1, 1))
    yield Layer(f"{name}_gelu", "activation", function="gelu")
    yield Layer(f"{name}_out", "conv", n_maps=width, filter_size=(1, 1))
    yield Layer(f"{name}_add2", "add", inputs=(f"{name}_out", f"{name}_add1"))
