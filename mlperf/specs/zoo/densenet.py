"""DenseNet (Huang et al., 2017): every layer of a block reads the maps of all before it."""

from __future__ import annotations

from collections.abc import Iterator

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer
from mlperf.specs.zoo.parts import conv_norm, pooled

GROWTH, BOTTLENECK = 32, 4
"""Maps that a layer adds, and how many times as many its 1 x 1 convolution has."""


def densenet121(name: str, input_size: int) -> CnnSpec:
    """6, 12, 24, 16 layers in four blocks, 7,978,856 parameters."""
    depths, maps = (6, 12, 24, 16), 64
    layers = [*conv_norm("stem", maps, 7, 2), Layer("stem_relu", "activation")]
    layers.append(Layer("stem_pool", "pool", filter_size=(3, 3), stride=(2, 2), padding=(1, 1)))
    for block, depth in enumerate(depths, start=1):
        for number in range(1, depth + 1):
            layers += _dense_layer(f"block{block}_layer{number}", layers[-1].name)
        maps += depth * GROWTH
        if block < len(depths):
            maps //= 2
            layers += _transition(f"transition{block}", maps)
    layers += [Layer("last_norm", "batch_norm"), Layer("last_relu", "activation"), *pooled(), Layer("fc", "fc", n_maps=1000)]
    return CnnSpec(name, 3, (input_size, input_size), tuple(layers))


def _dense_layer(name: str, source: str) -> Iterator[Layer]:
    """Norm, function and convolution, of one map and of 3 x 3; then its maps beside those that it read."""
    yield Layer(f"{name}_norm1", "batch_norm", inputs=(source,))
    yield Layer(f"{name}_relu1", "activation")
    yield from conv_norm(f"{name}_conv1", BOTTLENECK * GROWTH, 1)
    yield Layer(f"{name}_relu2", "activation")
    yield Layer(f"{name}_conv2", "conv", n_maps=GROWTH, filter_size=(3, 3), padding=(1, 1), bias=False)
    yield Layer(f"{name}_concat", "concat", inputs=(source, f"{name}_conv2"))


def _transition(name: str, maps: int) -> Iterator[Layer]:
    """Half of the maps, of half the height and width."""
    yield Layer(f"{name}_norm", "batch_norm")
    yield Layer(f"{name}_relu", "activation")
    yield Layer(f"{name}_conv", "conv", n_maps=maps, filter_size=(1, 1), bias=False)
    yield Layer(f"{name}_pool", "pool", mode="average", filter_size=(2, 2), stride=(2, 2))
