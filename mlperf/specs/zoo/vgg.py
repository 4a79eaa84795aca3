"""The VGG networks (Simonyan and Zisserman, 2015), configurations A, B, D and E without batch norm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer

WIDTHS = (64, 128, 256, 512, 512)
DEPTHS: Mapping[str, tuple[int, ...]] = {
    "vgg11": (1, 1, 2, 2, 2),
    "vgg13": (2, 2, 2, 2, 2),
    "vgg16": (2, 2, 3, 3, 3),
    "vgg19": (2, 2, 4, 4, 4),
}
"""Convolutions in each of the five blocks of `WIDTHS`."""


def vgg(name: str, input_size: int) -> CnnSpec:
    """The network whose configuration ``name`` begins with, as in ``vgg16`` or ``vgg16-64``."""
    layers = (*_features(DEPTHS[name.partition("-")[0]]), *_classifier())
    return CnnSpec(name, 3, (input_size, input_size), layers)


def _features(depths: tuple[int, ...]) -> Iterator[Layer]:
    for block, (width, depth) in enumerate(zip(WIDTHS, depths, strict=True), start=1):
        for number in range(1, depth + 1):
            yield Layer(f"conv{block}_{number}", "conv", n_maps=width, filter_size=(3, 3), padding=(1, 1))
            yield Layer(f"relu{block}_{number}", "activation")
        yield Layer(f"pool{block}", "pool", filter_size=(2, 2))


def _classifier() -> Iterator[Layer]:
    yield Layer("average", "pool", mode="average", output_size=(7, 7))
    yield Layer("flatten", "flatten")
    for number in (6, 7):
        yield Layer(f"fc{number}", "fc", n_maps=4096)
        yield Layer(f"relu{number}", "activation")
        yield Layer(f"dropout{number}", "dropout")
    yield Layer("fc8", "fc", n_maps=1000)
