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


def adaptive_extents(whole: int, parts: int) -> list[int]:
    """Rows of each window of an adaptive pool, from floor(i whole / parts) to ceil((i + 1) whole / parts), as torch has it."""
    return [-(-(part + 1) * whole // parts) - part * whole // parts for part in range(parts)]


def pool_window(layer: Layer, source: Shape) -> int:
    """Elements of one window; of the largest one where an adaptive pool's windows differ."""
    if not layer.is_adaptive:
        return layer.window
    height, width = layer.output_size
    return max(adaptive_extents(source.height, height)) * max(adaptive_extents(source.width, width))


def pool_access(layer: Layer, source: Shape, target: Shape) -> int:
    """Elements touched for one sample: every window's elements, and at least the whole input once.

    Equals x'^2 m for windows that tile the input.
    """
    if not layer.is_adaptive:
        return max(source.size, target.size * pool_window(layer, source))
    rows, columns = (sum(adaptive_extents(*each)) for each in ((source.height, target.height), (source.width, target.width)))
    return rows * columns * source.n_maps
