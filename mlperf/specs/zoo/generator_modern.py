"""Random networks of today's layers: squeeze-excite, layer norm, attention, shuffled maps, decoders, sequences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mlperf.core.errors import UsageError
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import CELLS, Layer
from mlperf.specs.zoo.convnext import convnext
from mlperf.specs.zoo.inverted_residual import Block, inverted_residuals
from mlperf.specs.zoo.parts import pooled
from mlperf.specs.zoo.shufflenet import shufflenet
from mlperf.specs.zoo.spread import Draw, spread_by_cost
from mlperf.specs.zoo.vision_transformer import attention_block, vision_transformer
from mlperf.specs.zoo.windowed_transformer import MERGED, PATCH, Stage, windowed_transformer

N_CLASSES = (10, 100, 1000)
FUNCTIONS = (("relu6", ("relu", "sigmoid")), ("hardswish", ("relu", "hardsigmoid")), ("silu", ("silu", "sigmoid")))
"""Activation of a network of inverted residuals, and those of its gates."""


@dataclass(frozen=True, slots=True)
class Family:
    """Networks of one form.

    Attributes
    ----------
    draw : callable
        One of them.
    cost : (float, float)
        Bounds of the forward multiply-accumulates of one sample.
    """

    draw: Draw
    cost: tuple[float, float]


def make_modern_cnns(n: int = 16, seed: int = 0) -> list[CnnSpec]:
    """Draw ``n`` networks of the layers that came after residual networks.

    They cover what neither `make_cnns` nor `make_residual_cnns` runs: filters of single maps, squeeze-excite and its
    multiplication, layer and group norms, SiLU, hard-swish and GELU, attention, also in windows, class tokens and positions,
    embeddings, recurrent layers, transposed convolutions, resizes, parts and shuffles of maps, learnt slopes. NumPy's engine runs
    none of them; layers of torch do. The eight `FAMILIES` share the networks evenly, and each spreads over its cost.

    Parameters
    ----------
    n : int
        Networks, named ``mod00``, ``mod01``, ...; from sixteen on there are two of every family.
    seed : int
        The same seed gives the same networks.

    Raises
    ------
    UsageError
        ``n`` below 1.
    """
    if n < 1:
        raise UsageError(f"got n = {n}, expected n >= 1", hint="make_modern_cnns(16, seed=0).")
    drawn: list[CnnSpec] = []
    for number, family in enumerate(FAMILIES):
        share = n // len(FAMILIES) + (number < n % len(FAMILIES))
        if share:
            drawn += spread_by_cost("mod", share, (seed, number), family.cost, family.draw, "make_modern_cnns")
    order = np.random.default_rng(seed).permutation(n)
    return [replace(drawn[place], name=f"mod{number:02d}") for number, place in enumerate(order)]


def _between(rng: np.random.Generator, low: int, high: int, step: int = 1) -> int:
    """A multiple of ``step``, both ends included."""
    return int(rng.integers(low // step, high // step, endpoint=True)) * step


def _one(rng: np.random.Generator, choices: tuple[int, ...]) -> int:
    return int(rng.choice(choices))


def _inverted(name: str, rng: np.random.Generator) -> CnnSpec:
    """MobileNets and EfficientNets: filters of single maps between 1 x 1 convolutions, half of the stages with gates."""
    function, gate = FUNCTIONS[int(rng.integers(len(FUNCTIONS)))]
    stem, blocks = _between(rng, 16, 32, 8), []
    maps, target = stem, _between(rng, 16, 32, 8)
    for _ in range(_between(rng, 2, 5)):
        stride, widening, filter_size, gated = (
            _one(rng, (1, 2, 2)),
            _between(rng, 1, 6),
            _one(rng, (3, 3, 5, 7)),
            rng.random() < 0.5,
        )
        for number in range(_between(rng, 1, 3)):
            wide = widening * maps
            squeezed = max(8, wide // _one(rng, (4, 16))) if gated else 0
            blocks.append(Block(filter_size, wide, target, stride if number == 0 else 1, squeezed, function, gate))
            maps = target
        target = min(320, max(maps, int(maps * rng.uniform(1.2, 2)) // 8 * 8))
    last, hidden = _between(rng, 256, 1280, 64), _one(rng, (0, 0, 512, 1024))
    return inverted_residuals(name, _between(rng, 64, 224, 32), blocks, function, stem, last, hidden, _one(rng, N_CLASSES))


def _convnext(name: str, rng: np.random.Generator) -> CnnSpec:
    """Large filters of single maps, layer norms, GELU and learnt scales."""
    maps, stages = _between(rng, 32, 128, 16), []
    for _ in range(_between(rng, 1, 4)):
        stages.append((maps, _between(rng, 1, 3)))
        maps *= 2
    return convnext(name, _between(rng, 64, 224, 32), stages, _one(rng, (2, 4, 4)), _one(rng, N_CLASSES))


def _transformer(name: str, rng: np.random.Generator) -> CnnSpec:
    """Attention between patches of an image."""
    head, n_heads = _one(rng, (32, 64, 64)), _between(rng, 2, 14)
    patch = _one(rng, (8, 14, 16, 16))
    return vision_transformer(
        name,
        patch * _between(rng, 4, 18),
        patch,
        head * n_heads,
        _between(rng, 1, 6),
        n_heads,
        _between(rng, 2, 4),
        _one(rng, N_CLASSES),
    )


def _shuffled(name: str, rng: np.random.Generator) -> CnnSpec:
    """Blocks that half of the maps pass as they are."""
    maps, stages = _between(rng, 32, 128, 4), []
    for _ in range(_between(rng, 1, 3)):
        stages.append((maps, _between(rng, 1, 4)))
        maps *= 2
    last = _between(rng, 256, 1024, 64)
    return shufflenet(name, _between(rng, 64, 224, 32), stages, _between(rng, 16, 32, 8), last, _one(rng, N_CLASSES))


def _decoder(name: str, rng: np.random.Generator) -> CnnSpec:
    """Down and up again, as in networks that segment: group norms, learnt slopes, transposed convolutions or resizes."""
    depth, width, groups = _between(rng, 2, 3), _between(rng, 16, 48, 8), _one(rng, (4, 8))
    layers, kept = [*_normed("stem", width, 3, 1, groups)], []
    for level in range(1, depth + 1):
        kept.append((layers[-1].name, width))
        width *= 2
        layers += _normed(f"down{level}", width, 3, 2, groups)
    first = _one(rng, (0, 1))
    for level, (beside, narrow) in enumerate(reversed(kept), start=1):
        learnt = (level + first) % 2 == 0
        layers += _doubled(f"up{level}", narrow, learnt, ("nearest", "bilinear")[_one(rng, (0, 1))])
        layers.append(Layer(f"up{level}_concat", "concat", inputs=(layers[-1].name, beside)))
        layers += _normed(f"up{level}_mixed", narrow, 3, 1, groups)
    layers += [*pooled(), Layer("fc", "fc", n_maps=_one(rng, N_CLASSES))]
    size = _between(rng, 32, 128, 2**depth)
    return CnnSpec(name, 3, (size, size), tuple(layers))


def _normed(name: str, n_maps: int, filter_size: int, stride: int, groups: int) -> Iterator[Layer]:
    padding = (filter_size // 2, filter_size // 2)
    yield Layer(name, "conv", n_maps=n_maps, filter_size=(filter_size, filter_size), stride=(stride, stride), padding=padding)
    yield Layer(f"{name}_norm", "group_norm", groups=groups)
    yield Layer(f"{name}_slope", "prelu", n_slopes=n_maps)


def _doubled(name: str, n_maps: int, learnt: bool, mode: str) -> Iterator[Layer]:
    """Twice the height and width."""
    if learnt:
        yield Layer(name, "transposed_conv", n_maps=n_maps, filter_size=(2, 2), stride=(2, 2))
        return
    yield Layer(f"{name}_resize", "resize", scale=(2, 2), mode=mode)
    yield Layer(name, "conv", n_maps=n_maps, filter_size=(1, 1))


def _attending(name: str, rng: np.random.Generator) -> CnnSpec:
    """Words looked up in a table, and attention between them."""
    n_heads = _between(rng, 2, 12)
    width = 64 * n_heads
    layers = [*_words(rng, width), Layer("position", "position_embedding")]
    for block in range(1, _between(rng, 1, 4) + 1):
        layers += attention_block(f"block{block}", layers[-1].name, width, n_heads)
    return _classified(name, rng, layers)


def _recurrent(name: str, rng: np.random.Generator) -> CnnSpec:
    """Words looked up in a table, and states that go along them, of two or three kinds of cells."""
    width, both = _between(rng, 64, 512, 32), bool(rng.random() < 0.5)
    words, cells = tuple(_words(rng, width)), map(str, rng.permutation(tuple(CELLS))[: _between(rng, 2, 3)])
    states = [Layer(cell, "recurrent", n_maps=width, cell=cell, bidirectional=both) for cell in cells]
    return _classified(name, rng, [*words, *states])


def _windowed(name: str, rng: np.random.Generator) -> CnnSpec:
    """Attention in windows of the maps, with learnt positions in two networks of three, and patches merged between stages."""
    head, n_heads, n_stages = _one(rng, (16, 32, 32, 64)), _between(rng, 2, 6), _between(rng, 1, 3)
    stages = [Stage(2**each * head * n_heads, _between(rng, 1, 3), 2**each * n_heads) for each in range(n_stages)]
    window, n_windows, has_positions = _between(rng, 4, 10), _between(rng, 1, 4), bool(rng.random() < 2 / 3)
    size = PATCH * window * n_windows * MERGED ** (n_stages - 1)
    widening, n_classes = _between(rng, 2, 4), _one(rng, N_CLASSES)
    return windowed_transformer(name, size, stages, window, widening, n_classes, has_positions=has_positions)


def _words(rng: np.random.Generator, width: int) -> Iterator[Layer]:
    yield Layer("words", "embedding", n_embeddings=_between(rng, 1000, 20_000, 1000), n_maps=width)


def _classified(name: str, rng: np.random.Generator, layers: list[Layer]) -> CnnSpec:
    """A network on 32 to 256 tokens that ends in a class for all of them."""
    last = [*pooled(), Layer("fc", "fc", n_maps=_one(rng, N_CLASSES))]
    return CnnSpec(name, 1, (_between(rng, 32, 256, 16), 1), (*layers, *last))


FAMILIES = (
    Family(_inverted, (1e7, 1e9)),
    Family(_convnext, (1e7, 3e9)),
    Family(_transformer, (3e7, 4e9)),
    Family(_shuffled, (5e6, 1e8)),
    Family(_decoder, (3e7, 1.5e9)),
    Family(_attending, (3e7, 2e9)),
    Family(_recurrent, (1e7, 1e9)),
    Family(_windowed, (3e7, 3e9)),
)
