"""ShuffleNetV2 (Ma et al., 2018): half of the maps pass a block as they are, and both halves are shuffled behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer
from mlperf.specs.zoo.parts import conv_norm, pooled


def shufflenet_v2_x1_0(name: str, input_size: int) -> CnnSpec:
    """4, 8, 4 blocks of 116, 232 and 464 maps, 2,278,604 parameters."""
    return shufflenet(name, input_size, ((116, 4), (232, 8), (464, 4)))


def shufflenet(
    name: str, input_size: int, stages: Sequence[tuple[int, int]], stem: int = 24, last: int = 1024, n_classes: int = 1000
) -> CnnSpec:
    """Stages of (maps, blocks), each at half the size, between convolutions to ``stem`` and to ``last`` maps."""
    layers = [*conv_norm("stem", stem, 3, 2), Layer("stem_relu", "activation")]
    layers.append(Layer("stem_pool", "pool", filter_size=(3, 3), stride=(2, 2), padding=(1, 1)))
    maps = stem
    for stage, (width, depth) in enumerate(stages, start=1):
        for block in range(1, depth + 1):
            place, source = f"stage{stage}_block{block}", layers[-1].name
            layers += _halving(place, source, maps, width) if block == 1 else _passing(place, source, width)
        maps = width
    layers += [*conv_norm("last", last, 1), Layer("last_relu", "activation"), *pooled(), Layer("fc", "fc", n_maps=n_classes)]
    return CnnSpec(name, 3, (input_size, input_size), tuple(layers))


def _halving(name: str, source: str, maps: int, width: int) -> Iterator[Layer]:
    """A block of half the height and width: both halves are worked out from all maps."""
    yield from conv_norm(f"{name}_left_depthwise", maps, 3, 2, groups=maps, inputs=(source,))
    yield from conv_norm(f"{name}_left_conv", width // 2, 1)
    yield Layer(f"{name}_left_relu", "activation")
    yield from _branch(name, source, width // 2, 2)
    yield from _together(name, f"{name}_left_relu")


def _passing(name: str, source: str, width: int) -> Iterator[Layer]:
    yield Layer(f"{name}_left", "part", inputs=(source,), n_maps=width // 2)
    yield Layer(f"{name}_right", "part", inputs=(source,), n_maps=width // 2, first=width // 2)
    yield from _branch(name, f"{name}_right", width // 2, 1)
    yield from _together(name, f"{name}_left")


def _branch(name: str, source: str, maps: int, stride: int) -> Iterator[Layer]:
    """1 x 1, one filter for each map, 1 x 1."""
    yield from conv_norm(f"{name}_conv1", maps, 1, inputs=(source,))
    yield Layer(f"{name}_relu1", "activation")
    yield from conv_norm(f"{name}_depthwise", maps, 3, stride, groups=maps)
    yield from conv_norm(f"{name}_conv2", maps, 1)
    yield Layer(f"{name}_relu2", "activation")


def _together(name: str, left: str) -> Iterator[Layer]:
    yield Layer(f"{name}_concat", "concat", inputs=(left, f"{name}_relu2"))
    yield Layer(f"{name}_shuffle", "shuffle", groups=2)
