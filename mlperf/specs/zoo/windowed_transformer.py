"""Swin transformers (Liu et al., 2021): attention in windows of the maps, every second block in shifted ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Size
from mlperf.specs.zoo.parts import pooled

PATCH, MERGED = 4, 2
"""Pixels along a patch, and places along those that are merged between stages."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Blocks on maps of one size.

    Attributes
    ----------
    width, depth, n_heads : int
        Maps of a token; blocks; heads of each.
    """

    width: int
    depth: int
    n_heads: int


TINY = (Stage(96, 2, 3), Stage(192, 2, 6), Stage(384, 6, 12), Stage(768, 2, 24))


def swin_t(name: str, input_size: int) -> CnnSpec:
    """Twelve blocks in windows of 7 x 7, 28,288,354 parameters."""
    return windowed_transformer(name, input_size, TINY, window=7)


def windowed_transformer(
    name: str,
    input_size: int,
    stages: Sequence[Stage],
    window: int,
    widening: int = 4,
    n_classes: int = 1000,
    *,
    has_positions: bool = True,
) -> CnnSpec:
    """Stages of attention in windows on patches of 4 x 4 pixels, each further one at half the size.

    Parameters
    ----------
    name : str
        Of the network.
    input_size : int
        Pixels along a sample; windows divide the maps of every stage.
    stages : sequence of Stage
        From the largest maps to the smallest.
    window : int
        Places along a window.
    widening, n_classes : int
        Maps inside the two layers that follow attention, as a multiple of ``width``; classes.
    has_positions : bool
        Whether relative positions are learnt, a number for each and each head.
    """
    size = input_size // PATCH
    layers = [
        Layer("patches", "conv", n_maps=stages[0].width, filter_size=(PATCH, PATCH), stride=(PATCH, PATCH)),
        Layer("patches_norm", "layer_norm"),
    ]
    for number, stage in enumerate(stages, start=1):
        if number > 1:
            size //= MERGED
            layers += _merged(f"merge{number}", layers[-1].name, (size, size), stages[number - 2].width, stage.width)
        for block in range(1, stage.depth + 1):
            called, n_windows = f"stage{number}_block{block}", (size // window) ** 2
            n_biases = (2 * window - 1) ** 2 * stage.n_heads if has_positions else 0
            core = Layer(f"{called}_attend", "attend", n_heads=stage.n_heads, groups=n_windows, n_biases=n_biases)
            is_shifted = block % 2 == 0 and n_windows > 1
            layers += _block(called, layers[-1].name, stage.width, core, widening, is_shifted=is_shifted)
    layers += [Layer("norm", "layer_norm"), *pooled(), Layer("head", "fc", n_maps=n_classes)]
    return CnnSpec(name, 3, (input_size, input_size), tuple(layers))


def _merged(name: str, source: str, size: Size, before: int, after: int) -> Iterator[Layer]:
    """Four places with all their maps as one place, and fewer maps of it."""
    yield Layer(f"{name}_copy", "part", inputs=(source,), n_maps=before)
    yield Layer(f"{name}_places", "unflatten", n_maps=MERGED**2 * before, output_size=size)
    yield Layer(f"{name}_norm", "layer_norm")
    yield Layer(name, "conv", n_maps=after, filter_size=(1, 1), bias=False)


def _block(name: str, source: str, width: int, core: Layer, widening: int, *, is_shifted: bool) -> Iterator[Layer]:
    """Attention in windows, then two layers on each token, both behind a layer norm and beside a shortcut."""
    yield Layer(f"{name}_norm1", "layer_norm")
    if is_shifted:
        yield Layer(f"{name}_shift", "part", n_maps=width)
    yield Layer(f"{name}_projected", "conv", n_maps=3 * width, filter_size=(1, 1))
    for number, letter in enumerate("qkv"):
        yield Layer(f"{name}_{letter}", "part", inputs=(f"{name}_projected",), first=number * width, n_maps=width)
    inputs = tuple(f"{name}_{letter}" for letter in "qkv")
    yield Layer(core.name, core.kind, inputs=inputs, n_heads=core.n_heads, groups=core.groups, n_biases=core.n_biases)
    yield Layer(f"{name}_joined", "conv", n_maps=width, filter_size=(1, 1))
    if is_shifted:
        yield Layer(f"{name}_back", "part", n_maps=width)
    yield Layer(f"{name}_add1", "add", inputs=(f"{name}_back" if is_shifted else f"{name}_joined", source))
    yield Layer(f"{name}_norm2", "layer_norm")
    yield Layer(f"{name}_hidden", "conv", n_maps=widening * width, filter_size=(1, 1))
    yield Layer(f"{name}_gelu", "activation", function="gelu")
    yield Layer(f"{name}_out", "conv", n_maps=width, filter_size=(1, 1))
    yield Layer(f"{name}_add2", "add", inputs=(f"{name}_out", f"{name}_add1"))
