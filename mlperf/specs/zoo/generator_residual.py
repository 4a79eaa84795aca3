"""Random networks with padded and strided convolutions, batch norm, residual and concatenated branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer
from mlperf.specs.zoo.parts import conv_norm, pooled, residual_block
from mlperf.specs.zoo.spread import spread_by_cost

INPUT_SIZES = (32, 128)
WIDTHS = (16, 32, 48, 64, 96, 128)
MAX_WIDTH = 384
N_STAGES = (1, 4)
N_BLOCKS = (1, 2)
N_CLASSES = (10, 100, 1000)
GROUPS = (1, 1, 1, 2, 4)


@dataclass(slots=True)
class _Draft:
    """A network under construction: its layers so far, the maps of the last one."""

    rng: np.random.Generator
    layers: list[Layer]
    n_maps: int

    @property
    def last(self) -> str:
        return self.layers[-1].name

    def add(self, layers: Iterator[Layer]) -> None:
        self.layers.extend(layers)


def make_residual_cnns(n: int = 10, seed: int = 0, cost: tuple[float, float] = (1e7, 4e8)) -> list[CnnSpec]:
    """Draw ``n`` networks with batch norm, residual or concatenated branches, grouped and 1 x 1 convolutions.

    They cover the kernels that networks of the SPRINT form never run: batch norm, add, concat, average and global pooling,
    convolutions with padding and stride.

    Parameters
    ----------
    n : int
        Networks, named ``res00``, ``res01``, ...
    seed : int
        The same seed gives the same networks.
    cost : (float, float)
        Bounds of the forward multiply-accumulates of one sample; the networks spread log-evenly between them.

    Raises
    ------
    UsageError
        ``n`` below 1 or empty bounds.
    FitError
        No network within these bounds was found.
    """
    return spread_by_cost("res", n, seed, cost, _draw, "make_residual_cnns")


def _draw(name: str, rng: np.random.Generator) -> CnnSpec:
    size = int(rng.integers(INPUT_SIZES[0] // 4, INPUT_SIZES[1] // 4, endpoint=True)) * 4
    width = int(rng.choice(WIDTHS))
    draft = _Draft(rng, [], 3)
    stride = 2 if size >= INPUT_SIZES[1] // 2 else 1
    draft.add(conv_norm("stem", width, int(rng.choice((3, 5, 7))), stride))
    draft.layers.append(Layer("stem_relu", "activation"))
    if rng.random() < 0.7:
        mode = str(rng.choice(("max", "average")))
        draft.layers.append(Layer("stem_pool", "pool", mode=mode, filter_size=(2, 2), stride=(2, 2)))
    draft.n_maps = width
    for stage in range(1, int(rng.integers(*N_STAGES, endpoint=True)) + 1):
        block = BLOCKS[int(rng.integers(len(BLOCKS)))]
        for number in range(1, int(rng.integers(*N_BLOCKS, endpoint=True)) + 1):
            block(draft, f"stage{stage}_block{number}", 2 if stage > 1 and number == 1 else 1)
    draft.layers += [*pooled(), Layer("fc", "fc", n_maps=int(rng.choice(N_CLASSES)))]
    return CnnSpec(name, 3, (size, size), tuple(draft.layers))


def _residual(draft: _Draft, name: str, stride: int) -> None:
    """Two 3 x 3 convolutions beside a shortcut."""
    target = min(MAX_WIDTH, draft.n_maps * (2 if stride > 1 else 1))
    _beside_shortcut(draft, name, ((target, 3, stride, 1), (target, 3, 1, int(draft.rng.choice(GROUPS)))))


def _bottleneck(draft: _Draft, name: str, stride: int) -> None:
    """1 x 1, 3 x 3, 1 x 1 convolutions beside a shortcut."""
    inner = max(16, draft.n_maps // 2)
    _beside_shortcut(draft, name, ((inner, 1, 1, 1), (inner, 3, stride, 1), (min(MAX_WIDTH, inner * 4), 1, 1, 1)))


def _beside_shortcut(draft: _Draft, name: str, path: tuple[tuple[int, int, int, int], ...]) -> None:
    draft.add(residual_block(name, draft.last, draft.n_maps, path))
    draft.n_maps = path[-1][0]


def _concatenated(draft: _Draft, name: str, stride: int) -> None:
    """A 1 x 1 and a 3 x 3 branch side by side (Szegedy et al., 2015)."""
    source, half = draft.last, min(MAX_WIDTH, draft.n_maps * (2 if stride > 1 else 1)) // 2
    branches = (f"{name}_narrow", f"{name}_wide")
    for branch, filter_size in zip(branches, (1, 3), strict=True):
        draft.add(conv_norm(branch, half, filter_size, stride, inputs=(source,)))
    joined = tuple(f"{branch}_norm" for branch in branches)
    draft.layers += [Layer(f"{name}_concat", "concat", inputs=joined), Layer(f"{name}_relu", "activation")]
    draft.n_maps = 2 * half


BLOCKS: tuple[Callable[[_Draft, str, int], None], ...] = (_residual, _bottleneck, _concatenated)
