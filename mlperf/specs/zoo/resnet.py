"""Residual networks (He et al., 2016) with the stride on the 3 x 3 convolution, as in torchvision."""

from __future__ import annotations

from collections.abc import Iterator

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer

WIDTHS = (64, 128, 256, 512)
BOTTLENECK_EXPANSION = 4


def resnet18(name: str, input_size: int) -> CnnSpec:
    """Two basic blocks in each of four stages, 11,689,512 parameters."""
    return _resnet(name, input_size, (2, 2, 2, 2), is_bottleneck=False)


def resnet50(name: str, input_size: int) -> CnnSpec:
    """3, 4, 6, 3 bottleneck blocks, 25,557,032 parameters."""
    return _resnet(name, input_size, (3, 4, 6, 3), is_bottleneck=True)


def _resnet(name: str, input_size: int, depths: tuple[int, ...], *, is_bottleneck: bool) -> CnnSpec:
    layers = [*_conv_norm("stem", (), 64, 7, 2), Layer("stem_relu", "activation")]
    layers.append(Layer("stem_pool", "pool", filter_size=(3, 3), stride=(2, 2), padding=(1, 1)))
    maps = 64
    for stage, (width, depth) in enumerate(zip(WIDTHS, depths, strict=True), start=1):
        target = width * (BOTTLENECK_EXPANSION if is_bottleneck else 1)
        for block in range(1, depth + 1):
            stride = 2 if stage > 1 and block == 1 else 1
            layers += _block(
                f"stage{stage}_block{block}", layers[-1].name, _path(width, stride, is_bottleneck), maps, target, stride
            )
            maps = target
    layers += [
        Layer("average", "pool", mode="average", output_size=(1, 1)),
        Layer("flatten", "flatten"),
        Layer("fc", "fc", n_maps=1000),
    ]
    return CnnSpec(name, 3, (input_size, input_size), tuple(layers))


def _path(width: int, stride: int, is_bottleneck: bool) -> tuple[tuple[int, int, int], ...]:
    """Maps, filter and stride of the convolutions that a block adds to its input."""
    if is_bottleneck:
        return ((width, 1, 1), (width, 3, stride), (width * BOTTLENECK_EXPANSION, 1, 1))
    return ((width, 3, stride), (width, 3, 1))


def _block(name: str, source: str, path: tuple[tuple[int, int, int], ...], maps: int, target: int, stride: int) -> Iterator[Layer]:
    inputs: tuple[str, ...] = (source,)
    for number, (width, filter_size, step) in enumerate(path, start=1):
        yield from _conv_norm(f"{name}_conv{number}", inputs, width, filter_size, step)
        if number < len(path):
            yield Layer(f"{name}_relu{number}", "activation")
        inputs = ()
    shortcut = source
    if stride != 1 or maps != target:
        yield from _conv_norm(f"{name}_shortcut", (source,), target, 1, stride)
        shortcut = f"{name}_shortcut_norm"
    yield Layer(f"{name}_add", "add", inputs=(f"{name}_conv{len(path)}_norm", shortcut))
    yield Layer(f"{name}_relu", "activation")


def _conv_norm(name: str, inputs: tuple[str, ...], n_maps: int, filter_size: int, stride: int) -> Iterator[Layer]:
    padding = filter_size // 2
    yield Layer(
        name,
        "conv",
        inputs=inputs,
        n_maps=n_maps,
        filter_size=(filter_size, filter_size),
        stride=(stride, stride),
        padding=(padding, padding),
        bias=False,
    )
    yield Layer(f"{name}_norm", "batch_norm")
