"""Where branches meet: addition and concatenation of maps."""

from __future__ import annotations

import numpy as np

from mlperf.collect.cnn_engine.builder import Array, Builder, Contribution
from mlperf.specs.network.cnn import Layer


def forward_add(build: Builder, layer: Layer) -> None:
    """Lay out the sum of all inputs."""
    first, second, *others = [build.values[name] for name in build.cnn.sources[layer.name]]
    out = build.new_value(layer)

    def run() -> None:
        np.add(first, second, out=out)
        for other in others:
            np.add(out, other, out=out)

    build.emit("add", layer.name, run)


def backward_add(build: Builder, layer: Layer, received: Contribution) -> None:
    """Every input receives the gradient as it stands: nothing runs."""
    for name in build.cnn.sources[layer.name]:
        build.send(name, received.array, exclusive=False)


def channels(build: Builder, layer: Layer, joined: Array) -> list[Array]:
    """The parts of the joined maps that belong to each input, as views."""
    ends = np.cumsum([build.values[name].shape[3] for name in build.cnn.sources[layer.name]])
    return np.split(joined, ends[:-1].tolist(), axis=3)


def forward_concat(build: Builder, layer: Layer) -> None:
    """Lay out one copy for each input."""
    inputs = [build.values[name] for name in build.cnn.sources[layer.name]]
    pairs = list(zip(channels(build, layer, build.new_value(layer)), inputs, strict=True))

    def run() -> None:
        for part, whole in pairs:
            np.copyto(part, whole)

    build.emit("concat", layer.name, run)


def backward_concat(build: Builder, layer: Layer, received: Contribution) -> None:
    """Lay out one copy back for each input."""
    parts = channels(build, layer, received.array)
    pairs = [(build.new_gradient(name), part) for name, part in zip(build.cnn.sources[layer.name], parts, strict=True)]

    def run() -> None:
        for whole, part in pairs:
            np.copyto(whole, part)

    build.emit("concat_gradient", layer.name, run)
