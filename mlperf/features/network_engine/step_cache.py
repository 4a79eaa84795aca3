"""The cache model of a whole training step: which data are still cached when a kernel begins."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.features.network_engine.passes import KernelNest
from mlperf.features.source.caches import CacheLevel
from mlperf.features.source.nest import Nest
from mlperf.features.source.reuse import NestFootprints, cache_misses, nest_lines
from mlperf.features.source.strides import nest_addresses


@dataclass(frozen=True, slots=True, eq=False)
class KernelFootprint:
    """What one kernel touches: distinct bytes of each block of memory, and its misses from an empty cache by level and block."""

    size_bytes: dict[str, float]
    lines: tuple[dict[str, float], ...]
    misses: tuple[dict[str, float], ...]


def step_misses(kernels: Sequence[KernelNest], caches: Sequence[CacheLevel]) -> FloatArray:
    """Misses of every kernel of a training step that is run again and again.

    Each kernel's own reuse follows the reuse model of its loop nest. What it touches first is a hit where fewer bytes than the
    capacity were touched since some kernel touched that block last, least recently used bytes leaving first (see `Reuse`).

    Parameters
    ----------
    kernels : sequence of KernelNest
        In execution order.
    caches : sequence of CacheLevel
        Fully associative ones are quickest to evaluate.

    Returns
    -------
    array, shape (n_kernels, n_caches)
        Lines (pages) fetched by one execution.
    """
    touched = [touched_by(kernel.nest, tuple(caches)) for kernel in kernels]
    reuses = steady_reuse(touched)
    found = np.zeros((len(kernels), len(caches)))
    for row, (call, reuse) in enumerate(zip(touched, reuses, strict=True)):
        for column, cache in enumerate(caches):
            misses, lines = call.misses[column], call.lines[column]
            found[row, column] = sum(
                count - min(count, lines[name]) * reuse[name].kept_share(cache.size_bytes) for name, count in misses.items()
            )
    return found


@dataclass(frozen=True, slots=True)
class Reuse:
    """How many bytes lie between a kernel's touch of a block and the touch before, at the block's first and last byte.

    All blocks of a kernel are walked side by side. At the block's first byte the rest of what the earlier kernel walked lies
    between, at its last byte what this kernel walked beside it; both include the block itself and all that was touched between.
    """

    first_bytes: float
    last_bytes: float

    def kept_share(self, capacity_bytes: float) -> float:
        """Share of the block that a cache of that capacity still holds."""
        if self.first_bytes == self.last_bytes:
            return float(self.first_bytes <= capacity_bytes)
        low, high = sorted((self.first_bytes, self.last_bytes))
        return min(max((capacity_bytes - low) / (high - low), 0.0), 1.0)


NEVER = Reuse(float("inf"), float("inf"))


def touched_by(nest: Nest, caches: tuple[CacheLevel, ...]) -> KernelFootprint:
    """Footprints and misses of one kernel alone."""
    alike = _touched_by(nest.anonymous(), caches)
    names = {str(number): array.name for number, array in enumerate(nest.arrays)}

    def named(by_number: Mapping[str, float]) -> dict[str, float]:
        return {names[number]: value for number, value in by_number.items()}

    return KernelFootprint(named(alike.size_bytes), tuple(map(named, alike.lines)), tuple(map(named, alike.misses)))


# A network repeats its blocks, and a step is asked for again and again.
@lru_cache(maxsize=8192)
def _touched_by(nest: Nest, caches: tuple[CacheLevel, ...]) -> KernelFootprint:
    addresses = nest_addresses(nest)
    # The columns that models are fitted to count loops that walk an array in turn each for itself.
    known = NestFootprints(addresses, in_turn=False)
    by_line = {cache.line_bytes: nest_lines(addresses, cache.line_bytes, known) for cache in caches}
    smallest = min(by_line)
    return KernelFootprint(
        {name: smallest * count for name, count in by_line[smallest].items()},
        tuple(by_line[cache.line_bytes] for cache in caches),
        tuple(cache_misses(addresses, cache, known) for cache in caches),
    )


def steady_reuse(touched: Sequence[KernelFootprint]) -> list[dict[str, Reuse]]:
    """Find the reuse of every block that a kernel touches, in a step that follows another one."""
    stack: OrderedDict[str, tuple[float, int]] = OrderedDict()  # block: bytes and number of the call, most recent last
    for number, call in enumerate(touched):
        _touch(stack, call, number)
    found: list[dict[str, Reuse]] = []
    for number, call in enumerate(touched, len(touched)):
        found.append(reuse_of_call(call, stack))
        _touch(stack, call, number)
    return found


def _touch(stack: OrderedDict[str, tuple[float, int]], call: KernelFootprint, number: int) -> None:
    """Blocks of a call become the most recent ones."""
    for name, size in call.size_bytes.items():
        stack[name] = (size, number)
        stack.move_to_end(name)


def reuse_of_call(call: KernelFootprint, stack: OrderedDict[str, tuple[float, int]]) -> dict[str, Reuse]:
    """Distances of every block of one call, from what was touched before it."""
    since: dict[int, float] = {}
    for size, number in stack.values():
        since[number] = since.get(number, 0.0) + size
    # The stack is in the order of the calls: what was touched after each is a sum from its end.
    later, after = 0.0, dict[int, float]()
    for number in reversed(since):
        after[number] = later
        later += since[number]
    own = call.size_bytes
    found = dict.fromkeys(own, NEVER)
    # What was never touched counts as touched before everything.
    last = [(name, count, *stack.get(name, (0.0, -1))) for name, count in own.items()]
    for name, count, size, number in last:
        if number >= 0:
            fresh = sum([other for _, other, _, earlier in last if earlier < number])
            found[name] = Reuse(after[number] + count + (since[number] - size), after[number] + count + fresh)
    return found
