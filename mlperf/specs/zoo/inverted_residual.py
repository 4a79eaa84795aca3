"""MobileNetV2 (Sandler et al., 2018) and V3 (Howard et al., 2019), EfficientNet-B0 (Tan and Le, 2019): maps widened in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer
from mlperf.specs.zoo.parts import conv_norm, pooled


@dataclass(frozen=True, slots=True)
class Block:
    """An inverted residual: 1 x 1 to ``expanded`` maps, one filter for each of them, squeeze-excite, 1 x 1 to ``n_maps``.

    Attributes
    ----------
    filter_size, expanded, n_maps, stride : int
        The filter over single maps, maps inside and after the block, step of the filter.
    squeezed : int
        Maps inside squeeze-excite; 0 without it.
    function : str
        Activation after the first two convolutions.
    gate : tuple of str
        Activations of squeeze-excite: of its maps, and of the factors.
    """

    filter_size: int
    expanded: int
    n_maps: int
    stride: int
    squeezed: int
    function: str
    gate: tuple[str, str]


def inverted_residuals(
    name: str,
    input_size: int,
    blocks: Sequence[Block],
    function: str,
    stem: int = 32,
    last: int = 1280,
    hidden: int = 0,
    n_classes: int = 1000,
) -> CnnSpec:
    """A convolution of stride 2 to ``stem`` maps, the blocks, 1 x 1 to ``last`` maps, their means, and a classifier.

    Parameters
    ----------
    name : str
        Of the network.
    input_size : int
        Height and width of a sample.
    blocks : sequence of Block
        In order.
    function : str
        Activation of the first and the last convolution, and of the hidden layer.
    stem, last, n_classes : int
        Maps of the first and the last convolution; classes.
    hidden : int
        Neurons of a layer before the classes; 0 without it.
    """
    layers = [*_features(stem, blocks, function), *_conv_norm("last", last, 1, 1, function), *pooled()]
    if hidden:
        layers += [Layer("fc1", "fc", n_maps=hidden), Layer("fc1_function", "activation", function=function)]
    layers += [Layer("dropout", "dropout"), Layer("fc2" if hidden else "fc", "fc", n_maps=n_classes)]
    return CnnSpec(name, 3, (input_size, input_size), tuple(layers))


def mobilenet_v2(name: str, input_size: int) -> CnnSpec:
    """Seventeen blocks without squeeze-excite, 3,504,872 parameters."""
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    blocks, maps = [], 32
    for widening, target, depth, stride in stages:
        for number in range(depth):
            blocks.append(Block(3, widening * maps, target, stride if number == 0 else 1, 0, "relu6", ("", "")))
            maps = target
    return inverted_residuals(name, input_size, blocks, "relu6")


def mobilenet_v3_large(name: str, input_size: int) -> CnnSpec:
    """Fifteen blocks, 5,483,032 parameters."""
    rows = (
        (3, 16, 16, False, "relu", 1),
        (3, 64, 24, False, "relu", 2),
        (3, 72, 24, False, "relu", 1),
        (5, 72, 40, True, "relu", 2),
        *2 * ((5, 120, 40, True, "relu", 1),),
        (3, 240, 80, False, "hardswish", 2),
        (3, 200, 80, False, "hardswish", 1),
        *2 * ((3, 184, 80, False, "hardswish", 1),),
        (3, 480, 112, True, "hardswish", 1),
        (3, 672, 112, True, "hardswish", 1),
        (5, 672, 160, True, "hardswish", 2),
        *2 * ((5, 960, 160, True, "hardswish", 1),),
    )
    return _mobilenet_v3(name, input_size, rows, head=(960, 1280))


def mobilenet_v3_small(name: str, input_size: int) -> CnnSpec:
    """Eleven blocks, 2,542,856 parameters."""
    rows = (
        (3, 16, 16, True, "relu", 2),
        (3, 72, 24, False, "relu", 2),
        (3, 88, 24, False, "relu", 1),
        (5, 96, 40, True, "hardswish", 2),
        *2 * ((5, 240, 40, True, "hardswish", 1),),
        (5, 120, 48, True, "hardswish", 1),
        (5, 144, 48, True, "hardswish", 1),
        (5, 288, 96, True, "hardswish", 2),
        *2 * ((5, 576, 96, True, "hardswish", 1),),
    )
    return _mobilenet_v3(name, input_size, rows, head=(576, 1024))


def efficientnet_b0(name: str, input_size: int) -> CnnSpec:
    """Sixteen blocks in seven stages, 5,288,548 parameters."""
    stages = (
        (1, 3, 1, 16, 1),
        (6, 3, 2, 24, 2),
        (6, 5, 2, 40, 2),
        (6, 3, 2, 80, 3),
        (6, 5, 1, 112, 3),
        (6, 5, 2, 192, 4),
        (6, 3, 1, 320, 1),
    )
    blocks, maps = [], 32
    for widening, filter_size, stride, target, depth in stages:
        for number in range(depth):
            step = stride if number == 0 else 1
            blocks.append(Block(filter_size, widening * maps, target, step, maps // 4, "silu", ("silu", "sigmoid")))
            maps = target
    return inverted_residuals(name, input_size, blocks, "silu")


def _mobilenet_v3(
    name: str, input_size: int, rows: tuple[tuple[int, int, int, bool, str, int], ...], head: tuple[int, int]
) -> CnnSpec:
    blocks = [
        Block(size, wide, maps, step, _multiple_of_8(wide // 4) if squeezes else 0, function, ("relu", "hardsigmoid"))
        for size, wide, maps, squeezes, function, step in rows
    ]
    return inverted_residuals(name, input_size, blocks, "hardswish", stem=16, last=head[0], hidden=head[1])


def _multiple_of_8(width: int) -> int:
    """The nearest multiple of 8, at least 8, and never less than nine tenths of the width."""
    found = max(8, (width + 4) // 8 * 8)
    return found + 8 if found < 0.9 * width else found


def _features(stem: int, blocks: Sequence[Block], function: str) -> Iterator[Layer]:
    yield from _conv_norm("stem", stem, 3, 2, function)
    source, maps = "stem_function", stem
    for number, block in enumerate(blocks, start=1):
        name = f"block{number}"
        yield from _block(name, block, maps)
        is_residual = block.stride == 1 and block.n_maps == maps
        if is_residual:
            yield Layer(f"{name}_add", "add", inputs=(f"{name}_project_norm", source))
        source, maps = f"{name}_add" if is_residual else f"{name}_project_norm", block.n_maps


def _block(name: str, block: Block, maps: int) -> Iterator[Layer]:
    if block.expanded != maps:
        yield from _conv_norm(f"{name}_expand", block.expanded, 1, 1, block.function)
    depthwise = f"{name}_depthwise"
    yield from _conv_norm(depthwise, block.expanded, block.filter_size, block.stride, block.function, groups=block.expanded)
    if block.squeezed:
        yield from _squeeze_excite(f"{name}_squeeze", f"{depthwise}_function", block)
    yield from _conv_norm(f"{name}_project", block.n_maps, 1, 1)


def _squeeze_excite(name: str, source: str, block: Block) -> Iterator[Layer]:
    """Factors from the mean of every map (Hu et al., 2018)."""
    yield Layer(name, "pool", mode="average", output_size=(1, 1))
    yield Layer(f"{name}_conv1", "conv", n_maps=block.squeezed, filter_size=(1, 1))
    yield Layer(f"{name}_function1", "activation", function=block.gate[0])
    yield Layer(f"{name}_conv2", "conv", n_maps=block.expanded, filter_size=(1, 1))
    yield Layer(f"{name}_function2", "activation", function=block.gate[1])
    yield Layer(f"{name}_multiply", "multiply", inputs=(source, f"{name}_function2"))


def _conv_norm(name: str, n_maps: int, filter_size: int, stride: int, function: str = "", groups: int = 1) -> Iterator[Layer]:
    yield from conv_norm(name, n_maps, filter_size, stride, groups)
    if function:
        yield Layer(f"{name}_function", "activation", function=function)
