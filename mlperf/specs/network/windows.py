"""Windows of pools: their size, the kernels that walk them, the elements these touch."""

from __future__ import annotations

from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape

_KERNELS = {
    ("max", False): ("pool", "unpool"),
    ("max", True): ("pool", "unpool"),
    ("average", False): ("average_pool", "average_unpool"),
    ("average", True): ("global_pool", "global_unpool"),
}


def pool_kernels(layer: Layer) -> tuple[str, str]:
    """Names of the forward and the backward kernel of a pool layer."""
    return _KERNELS[layer.mode, layer.output_size == (1, 1)]


def pool_window(layer: Layer, source: Shape) -> int:
    """Elements of one window; of the largest one where an adaptive pool's windows differ."""
    if not layer.is_adaptive:
        return layer.window
    height, width = layer.output_size
    return -(-source.height // height) * -(-source.width // width)


def pool_access(layer: Layer, source: Shape, target: Shape) -> int:
    """Elements touched for one sample: every window's elements, and at least the whole input once.

    Equals x'^2 m for windows that tile the input.
    """
    return max(source.size, target.size * pool_window(layer, source)) if not layer.is_adaptive else source.size
