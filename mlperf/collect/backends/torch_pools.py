"""Pools and their way back by torch's own kernels, one pair of functions for each sort."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlperf.specs.network.cnn import Layer

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Pool:
    """One sort of pool.

    Attributes
    ----------
    apply : callable
        ``apply(aten, x, layer)`` returns the pooled maps and what the way back needs in addition to ``x``.
    pull_back : callable
        ``pull_back(aten, gradient, x, kept, layer)`` returns the gradient by ``x``.
    """

    apply: Callable[[Any, Any, Layer], tuple[Any, Any]]
    pull_back: Callable[[Any, Any, Any, Any, Layer], Any]


def sort_of(layer: Layer) -> tuple[str, str]:
    """Key of a pool layer in `POOLS`."""
    if layer.mode == "average" and layer.output_size == (1, 1):
        return "average", "global"
    return layer.mode, "adaptive" if layer.is_adaptive else "window"


def window(layer: Layer) -> tuple[Pair, Pair, Pair]:
    """Filter, stride and padding."""
    return layer.filter_size, layer.stride, layer.padding


def _max(aten: Any, x: Any, layer: Layer) -> tuple[Any, Any]:
    out, indices = aten.max_pool2d_with_indices(x, *window(layer), layer.dilation, layer.ceil_mode)
    return out, indices


def _max_back(aten: Any, gradient: Any, x: Any, indices: Any, layer: Layer) -> Any:
    return aten.max_pool2d_with_indices_backward(gradient, x, *window(layer), layer.dilation, layer.ceil_mode, indices)


def _average_back(aten: Any, gradient: Any, x: Any, _kept: Any, layer: Layer) -> Any:
    return aten.avg_pool2d_backward(gradient, x, *window(layer), layer.ceil_mode, True, None)


def _global_back(_aten: Any, gradient: Any, x: Any, _kept: Any, _layer: Layer) -> Any:
    return gradient.expand(x.shape) / (x.shape[2] * x.shape[3])


POOLS: Mapping[tuple[str, str], Pool] = {
    ("max", "window"): Pool(_max, _max_back),
    ("max", "adaptive"): Pool(
        lambda aten, x, layer: tuple(aten.adaptive_max_pool2d(x, layer.output_size)),
        lambda aten, gradient, x, indices, _: aten.adaptive_max_pool2d_backward(gradient, x, indices),
    ),
    ("average", "window"): Pool(
        lambda aten, x, layer: (aten.avg_pool2d(x, *window(layer), layer.ceil_mode, True, None), None), _average_back
    ),
    ("average", "adaptive"): Pool(
        lambda aten, x, layer: (aten._adaptive_avg_pool2d(x, layer.output_size), None),
        lambda aten, gradient, x, *_: aten._adaptive_avg_pool2d_backward(gradient, x),
    ),
    ("average", "global"): Pool(lambda _aten, x, _layer: (x.mean((2, 3), keepdim=True), None), _global_back),
}
