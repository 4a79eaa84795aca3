"""Residual networks (He et al., 2016) with the stride on the 3 x 3 convolution, as in torchvision."""

from __future__ import annotations

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer
from mlperf.specs.zoo.parts import conv_norm, pooled, residual_block

WIDTHS = (64, 128, 256, 512)
BOTTLENECK_EXPANSION = 4


def resnet18(name: str, input_size: int) -> CnnSpec:
    """Two basic blocks in each of four stages, 11,689,512 parameters."""
    return _resnet(name, input_size, (2, 2, 2, 2), is_bottleneck=False)


def resnet34(name: str, input_size: int) -> CnnSpec:
    """3, 4, 6, 3 basic blocks, 21,797,672 parameters."""
    return _resnet(name, input_size, (3, 4, 6, 3), is_bottleneck=False)


def resnet50(name: str, input_size: int) -> CnnSpec:
    """3, 4, 6, 3 bottleneck blocks, 25,557,032 parameters."""
    return _resnet(name, input_size, (3, 4, 6, 3), is_bottleneck=True)


def resnet101(name: str, input_size: int) -> CnnSpec:
    """3, 4, 23, 3 bottleneck blocks, 44,549,160 parameters."""
    return _resnet(name, input_size, (3, 4, 23, 3), is_bottleneck=True)


def resnet152(name: str, input_size: int) -> CnnSpec:
    """3, 8, 36, 3 bottleneck blocks, 60,192,808 parameters."""
    return _resnet(name, input_size, (3, 8, 36, 3), is_bottleneck=True)


def _resnet(name: str, input_size: int, depths: tuple[int, ...], *, is_bottleneck: bool) -> CnnSpec:
    layers = [*conv_norm("stem", 64, 7, 2), Layer("stem_relu", "activation")]
    layers.append(Layer("stem_pool", "pool", filter_size=(3, 3), stride=(2, 2), padding=(1, 1)))
    maps = 64
    for stage, (width, depth) in enumerate(zip(WIDTHS, depths, strict=True), start=1):
        for block in range(1, depth + 1):
            path = _path(width, 2 if stage > 1 and block == 1 else 1, is_bottleneck)
            layers += residual_block(f"stage{stage}_block{block}", layers[-1].name, maps, path)
            maps = path[-1][0]
    layers += [*pooled(), Layer("fc", "fc", n_maps=1000)]
    return CnnSpec(name, 3, (input_size, input_size), tuple(layers))


def _path(width: int, stride: int, is_bottleneck: bool) -> tuple[tuple[int, int, int, int], ...]:
    """Maps, filter, stride and groups of the convolutions that a block adds to its input."""
    if is_bottleneck:
        return ((width, 1, 1, 1), (width, 3, stride, 1), (width * BOTTLENECK_EXPANSION, 1, 1, 1))
    return ((width, 3, stride, 1), (width, 3, 1, 1))
