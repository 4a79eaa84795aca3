"""Columns that do not depend on what arrays are called: strides and misses of results and of operands, by kind of stride."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlperf.features.source.caches import DEFAULT_CACHES, CacheLevel
from mlperf.features.source.reuse import cache_misses
from mlperf.features.source.strides import KINDS, Access, Addresses, stride_kind
from mlperf.features.source.table import Cell, count, deepest_path, executions

RESULT, OPERAND = "result", "operand"
ROLES = (RESULT, OPERAND)
PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Rung:
    """One capacity that misses are predicted for: ``cache``, and whether they are told apart by role and stride."""

    cache: CacheLevel
    by_stride: bool


def capacity_ladder(caches: Sequence[CacheLevel] = DEFAULT_CACHES) -> tuple[Rung, ...]:
    """Each cache with half and with twice its capacity beside it, the last one with four times, TLBs with twice.

    Misses of the last cache and of TLBs, the dear ones, are told apart by role and stride.

    The reuse model is strict: a line whose reuse distance exceeds the capacity is lost. Real caches do not evict strictly the least
    recently used line, and a nest that is a little too large keeps a part of it; misses at the capacities around the real one
    bracket what happens, and a model may weigh them.
    """
    tlbs = [cache for cache in caches if cache.line_bytes >= PAGE_BYTES]
    real = [cache for cache in caches if cache.line_bytes < PAGE_BYTES]
    rungs = []
    for cache in real:
        is_last = cache is real[-1]
        rungs += [Rung(scaled(cache, "half", 0.5), False), Rung(cache, is_last), Rung(scaled(cache, "twice", 2.0), is_last)]
    rungs += [Rung(scaled(real[-1], "fourfold", 4.0), False)] if real else []
    for cache in tlbs:
        rungs += [Rung(cache, True), Rung(scaled(cache, "twice", 2.0), False)]
    return tuple(rungs)


def scaled(cache: CacheLevel, word: str, factor: float) -> CacheLevel:
    """A cache with another capacity, named after it; sets grow, ways stay."""
    size = max(cache.line_bytes, int(cache.size_bytes * factor))
    return CacheLevel(f"{cache.name}_{word}", size, cache.line_bytes, cache.ways)


def role_cells(addresses: Addresses, caches: Sequence[CacheLevel]) -> Iterator[Cell]:
    """Every column of one nest with its value."""
    kinds, roles = array_kinds(addresses), array_roles(addresses)
    yield from kind_cells(kinds, roles)
    iterations = float(sum(times for times, _ in executions(addresses)))
    for rung in capacity_ladder(caches):
        misses = {name: value / iterations for name, value in cache_misses(addresses, rung.cache).items()}
        yield from miss_cells(rung, misses, kinds, roles)


def array_kinds(addresses: Addresses) -> dict[str, tuple[str, ...]]:
    """Kind of stride of each array along the innermost loop, the one around it, ...; of several references the largest counts."""
    path = list(reversed(deepest_path(addresses)))
    accesses = [access for _, work in executions(addresses) for access in work.accesses]
    return {name: tuple(largest_kind(accesses, name, level.name) for level in path) for name in addresses.arrays}


def largest_kind(accesses: Sequence[Access], array: str, loop: str) -> str:
    """Kind of the largest stride of an array along a loop."""
    own = [access for access in accesses if access.array == array]
    stride = max((access.strides.get(loop, 0) for access in own), key=abs, default=0)
    return stride_kind(stride, own[0].dimension_strides) if own else KINDS[0]


def array_roles(addresses: Addresses) -> dict[str, str]:
    """``"result"`` of arrays that are written, ``"operand"`` of the others."""
    written = {access.array for _, work in executions(addresses) for access in work.accesses if access.access != "read"}
    return {name: RESULT if name in written else OPERAND for name in addresses.arrays}


def kind_cells(kinds: Mapping[str, tuple[str, ...]], roles: Mapping[str, str]) -> Iterator[Cell]:
    """How many arrays of each role move how, along each loop, the innermost first."""
    for depth in range(max(map(len, kinds.values()), default=0)):
        for role in ROLES:
            for kind in KINDS:
                found = sum(roles[name] == role and own[depth] == kind for name, own in kinds.items())
                doc = f"{role} arrays whose step along loop {depth + 1}, counted from the innermost, is {kind}"
                yield count(f"{role}_{kind}{depth + 1}", found, doc)


def miss_cells(
    rung: Rung, misses: Mapping[str, float], kinds: Mapping[str, tuple[str, ...]], roles: Mapping[str, str]
) -> Iterator[Cell]:
    """Predicted misses at one capacity, in total, and by role and kind of stride along the innermost loop."""
    name, source, unit = rung.cache.name, f"reuse model, {rung.cache}", "lines/iteration"
    yield count(f"{name}_misses", sum(misses.values()), f"misses of {name}", unit, source)
    for role in ROLES if rung.by_stride else ():
        for kind in KINDS:
            own = sum(value for array, value in misses.items() if roles[array] == role and kinds[array][:1] == (kind,))
            doc = f"misses of {name} by {role} arrays whose step along the innermost loop is {kind}"
            yield count(f"{name}_{role}_{kind}", own, doc, unit, source)
