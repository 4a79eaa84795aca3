"""ConvNeXt (Liu et al., 2022): convolutions in the manner of a transformer, with layer norms and GELU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer

STAGES = ((96, 3), (192, 3), (384, 9), (768, 3))
"""Maps and blocks of the tiny network."""
EXPANSION = 4


def convnext_tiny(name: str, input_size: int) -> CnnSpec:
    """Eighteen blocks in four stages, 28,589,128 parameters."""
    return convnext(name, input_size, STAGES)


def convnext(name: str, input_size: int, stages: Sequence[tuple[int, int]], patch: int = 4, n_classes: int = 1000) -> CnnSpec:
    """Stages of (maps, blocks), the first on patches of ``patch`` x ``patch`` pixels, each further one at half the size."""
    layers = [
        Layer("stem", "conv", n_maps=stages[0][0], filter_size=(patch, patch), stride=(patch, patch)),
        Layer("stem_norm", "layer_norm"),
    ]
    for stage, (maps, depth) in enumerate(stages, start=1):
        if stage > 1:
            layers.append(Layer(f"down{stage}_norm", "layer_norm"))
            layers.append(Layer(f"down{stage}", "conv", n_maps=maps, filter_size=(2, 2), stride=(2, 2)))
        for block in range(1, depth + 1):
            layers += _block(f"stage{stage}_block{block}", layers[-1].name, maps)
    layers += [
        Layer("average", "pool", mode="average", output_size=(1, 1)),
        Layer("norm", "layer_norm"),
        Layer("flatten", "flatten"),
        Layer("fc", "fc", n_maps=n_classes),
    ]
    return CnnSpec(name, 3, (input_size, input_size), tuple(layers))


def _block(name: str, source: str, maps: int) -> Iterator[Layer]:
    yield Layer(f"{name}_depthwise", "conv", n_maps=maps, filter_size=(7, 7), padding=(3, 3), groups=maps)
    yield Layer(f"{name}_norm", "layer_norm")
    yield Layer(f"{name}_expand", "conv", n_maps=EXPANSION * maps, filter_size=(1, 1))
    yield Layer(f"{name}_gelu", "activation", function="gelu")
    yield Layer(f"{name}_project", "conv", n_maps=maps, filter_size=(1, 1))
    yield Layer(f"{name}_scale", "layer_scale")
    yield Layer(f"{name}_add", "add", inputs=(f"{name}_scale", source))
