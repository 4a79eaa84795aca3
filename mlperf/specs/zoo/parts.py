"""What known and random networks are put together from: convolutions with their norms, blocks beside a shortcut, classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mlperf.specs.network.layer import Layer


def conv_norm(
    name: str, n_maps: int, filter_size: int, stride: int = 1, groups: int = 1, inputs: tuple[str, ...] = ()
) -> Iterator[Layer]:
    """A convolution without bias, padded by half its filter, and its batch norm."""
    size, step, border = ((each, each) for each in (filter_size, stride, filter_size // 2))
    numbers: dict[str, Any] = {"filter_size": size, "stride": step, "padding": border}
    yield Layer(name, "conv", inputs=inputs, n_maps=n_maps, groups=groups, bias=False, **numbers)
    yield Layer(f"{name}_norm", "batch_norm")


def residual_block(name: str, source: str, maps: int, path: Sequence[tuple[int, int, int, int]]) -> Iterator[Layer]:
    """Convolutions beside a shortcut (He et al., 2016), which is a convolution itself where sizes or maps change.

    Parameters
    ----------
    name, source : str
        Of the block, and of the layer that it reads.
    maps : int
        That the block reads.
    path : sequence of (int, int, int, int)
        Maps, filter, stride and groups of each convolution.
    """
    inputs: tuple[str, ...] = (source,)
    for number, (width, filter_size, step, groups) in enumerate(path, start=1):
        yield from conv_norm(f"{name}_conv{number}", width, filter_size, step, groups, inputs)
        if number < len(path):
            yield Layer(f"{name}_relu{number}", "activation")
        inputs = ()
    target, stride, shortcut = path[-1][0], max(step for _, _, step, _ in path), source
    if stride != 1 or maps != target:
        yield from conv_norm(f"{name}_shortcut", target, 1, stride, inputs=(source,))
        shortcut = f"{name}_shortcut_norm"
    yield Layer(f"{name}_add", "add", inputs=(f"{name}_conv{len(path)}_norm", shortcut))
    yield Layer(f"{name}_relu", "activation")


def pooled() -> Iterator[Layer]:
    """The mean of every map, as a flat vector."""
    yield Layer("average", "pool", mode="average", output_size=(1, 1))
    yield Layer("flatten", "flatten")
