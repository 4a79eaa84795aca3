"""The columns of SWC-S: one row a loop nest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.features.network.base import KEY, FeatureColumn, FeatureTable, check_keys_once
from mlperf.features.source.caches import DEFAULT_CACHES, CacheLevel
from mlperf.features.source.nest import Nest
from mlperf.features.source.reuse import cache_misses, conflict_risk, inner_lines, nest_lines
from mlperf.features.source.strides import KINDS, Access, Addresses, Level, Work, nest_addresses, stride_kind
from mlperf.features.source.vectorise import innermost_levels, judge_loop

Cell = tuple[FeatureColumn, float]
MOST_COUNTED = 2.0**53
SOURCE = "loop nest in the source"


def loop_features(
    nests: Sequence[Nest],
    sizes: Mapping[str, int] | None = None,
    *,
    caches: Sequence[CacheLevel] = DEFAULT_CACHES,
    per_array: bool | None = None,
    reassociate: bool = True,
    inputs: Mapping[str, str] | None = None,
) -> FeatureTable:
    """Static characteristics of loop nests from their source (SWC-S).

    Parameters
    ----------
    nests : sequence of Nest
        From `read_c`, `read_nest` or `pattern_nest`; each name once.
    sizes : mapping, optional
        Numbers for open sizes.
    caches : sequence of CacheLevel
        Geometries for predicted misses.
    per_array : bool, optional
        Columns for each array and loop. By default where all nests have arrays and loops of the same names; True: refuse
        nests where they have not.
    reassociate : bool
        Whether floating-point sums may be reordered, which decides about vectorisable reductions.
    inputs : mapping, optional
        Files read and their SHA-256.

    Returns
    -------
    FeatureTable
        Kind ``"swc-s"``. Counts are per execution of the nest; strides in elements; columns of loops that a nest does not
        have hold 0.

    Raises
    ------
    DataError
        A size is missing, a nest cannot be turned into addresses, or columns cannot be shared.
    """
    check_keys_once([nest.name for nest in nests], [nest.source for nest in nests])
    check_caches(caches)
    placed = [nest_addresses(nest, sizes) for nest in nests]
    shared, notes = share_names(placed, per_array)
    rows = [_row(addresses, caches, per_array=shared, reassociate=reassociate) for addresses in placed]
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    frame = pd.DataFrame(
        [[row.get(column, 0.0) for column in columns] for row in rows], columns=[column.name for column in columns]
    )
    whole = [column.name for column in columns if (frame[column.name] % 1 == 0).all()]
    keys = pd.DataFrame({KEY: [nest.name for nest in nests]})
    frame = pd.concat([keys, frame.astype(dict.fromkeys(whole, "int64"))], axis=1)
    return FeatureTable("swc-s", frame, columns, dict(inputs or {}), notes)


def check_caches(caches: Sequence[CacheLevel]) -> None:
    """Refuse two caches of one name, whose columns would be called alike."""
    names = [cache.name for cache in caches]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"got {names.count(twice)} caches called {twice!r}, expected each name once")


def _row(addresses: Addresses, caches: Sequence[CacheLevel], **options: bool) -> dict[FeatureColumn, float]:
    """The cells of one nest; DataError: its counts are too large to be counted one by one."""
    try:
        row = dict(nest_cells(addresses, caches, **options))
        largest = max(map(abs, row.values()))
    except DataError:
        raise
    except (OverflowError, ValueError):  # a ValueError: 64 bits ran over, and lines became negative
        largest = float("inf")
    if largest > MOST_COUNTED:
        hint = "Give sizes of a kernel that somebody can run."
        raise DataError(f"got counts beyond {MOST_COUNTED:.0e}", place=addresses.nest.source, hint=hint)
    return row


def share_names(placed: Sequence[Addresses], per_array: bool | None) -> tuple[bool, tuple[str, ...]]:
    """Whether every nest has arrays and loops of the same names, and a note where it has not."""
    names = {
        (tuple(sorted(addresses.arrays)), tuple(sorted(level.name for level in all_levels(addresses)))) for addresses in placed
    }
    if per_array is False:
        return False, ()
    if len(names) <= 1:
        return True, ()
    if per_array:
        raise DataError(
            f"got {len(names)} different sets of array and loop names, expected one",
            place=placed[0].nest.source,
            hint="Leave the columns per array out, or give kernels of one family.",
        )
    return False, ("columns per array and loop left out: the nests have arrays or loops of different names",)


def all_levels(addresses: Addresses) -> list[Level]:
    """Every loop, outer before inner."""
    return [level for outer in addresses.levels for level in outer.levels()]


def nest_cells(addresses: Addresses, caches: Sequence[CacheLevel], *, per_array: bool, reassociate: bool = True) -> Iterator[Cell]:
    """Every column of one nest with its value."""
    yield from size_cells(addresses)
    yield from inner_cells(addresses, reassociate)
    yield from cache_cells(addresses, caches, per_array=per_array)
    if per_array:
        yield from stride_cells(addresses)


def count(name: str, value: float, doc: str, unit: str = "1", source: str = SOURCE) -> Cell:
    """A column and its value."""
    return FeatureColumn(name, unit, source, doc), float(value)


def executions(addresses: Addresses) -> list[tuple[int, Work]]:
    """How often each statement runs."""

    def visit(level: Level, times: int) -> Iterator[tuple[int, Work]]:
        for item in level.body:
            if isinstance(item, Level):
                yield from visit(item, times * item.trips)
            else:
                yield times, item

    return [pair for level in addresses.levels for pair in visit(level, level.trips)]


def deepest_path(addresses: Addresses) -> list[Level]:
    """Loops around the first innermost loop, from outside to inside."""
    target = innermost_levels(addresses)[0]

    def path(level: Level) -> list[Level]:
        if level is target:
            return [level]
        inner = next((found for item in level.body if isinstance(item, Level) and (found := path(item))), [])
        return [level, *inner] if inner else []

    return next(found for level in addresses.levels if (found := path(level)))


def size_cells(addresses: Addresses) -> Iterator[Cell]:
    """Trip counts, operations, bytes, intensity."""
    runs = executions(addresses)
    path = deepest_path(addresses)
    operations = sum(times * work.statement.n_operations for times, work in runs)
    touched = sum(times * touches(access) * access.element_size for times, work in runs for access in work.accesses)
    footprint = sum(nest_lines(addresses, 1).values())
    yield count("source_loops", len(all_levels(addresses)), "loops of the nest")
    yield count("depth", len(path), "loops around the innermost statement")
    yield count("n_arrays", len(addresses.arrays), "arrays touched")
    yield count("n_references", sum(len(work.accesses) for _, work in runs), "references in the source")
    yield count("iterations", prod(level.trips for level in path), "executions of the innermost statement")
    for number, level in enumerate(reversed(path), 1):
        yield count(f"trips{number}", level.trips, f"trip count of loop {number}, counted from the innermost")
    yield count("operations", operations, "arithmetic operations of one execution of the nest")
    yield count("multiplies", sum(times * work.statement.n_multiplies for times, work in runs), "multiplications among them")
    yield count("touched_bytes", touched, "bytes read and written by all references, caches aside", "bytes")
    yield count("footprint_bytes", footprint, "distinct bytes touched", "bytes")
    yield count("intensity", operations / touched if touched else 0.0, "operations per byte read and written", "operations/byte")
    yield count("cold_intensity", operations / footprint if footprint else 0.0, "operations per distinct byte", "operations/byte")


def touches(access: Access) -> int:
    """Reads and writes of one execution of a reference."""
    return 2 if access.access == "update" else 1


def inner_cells(addresses: Addresses, reassociate: bool) -> Iterator[Cell]:
    """What the innermost loops ask of vector units, summed over them."""
    judged = [judge_loop(level, addresses, reassociate=reassociate) for level in innermost_levels(addresses)]
    yield count("inner_vectorisable", all(loop.vectorisable for loop in judged), "1 where every innermost loop can run in vectors")
    yield count("inner_reduction", any(loop.reduction for loop in judged), "1 where an innermost loop accumulates")
    yield count("inner_contiguous", sum(loop.n_contiguous for loop in judged), "references that step by one element")
    yield count("inner_broadcasts", sum(loop.n_broadcasts for loop in judged), "references that stand still")
    yield count("inner_gathers", sum(loop.n_gathers for loop in judged), "references that step by more than one element")
    yield count("inner_needs_checks", any(loop.needs_checks for loop in judged), "1 where pointers may overlap")


def cache_cells(addresses: Addresses, caches: Sequence[CacheLevel], *, per_array: bool) -> Iterator[Cell]:
    """Footprints of inner loops and predicted misses."""
    line = caches[0].line_bytes if caches else 64
    for number, level in enumerate(reversed(deepest_path(addresses)), 1):
        lines = inner_lines(level, addresses, line)
        yield count(
            f"lines{number}", lines, f"lines of {line} bytes touched by the innermost {number} loops", "lines", "footprints"
        )
    for cache in caches:
        source = f"reuse model, {cache}"
        misses = cache_misses(addresses, cache)
        yield count(f"misses_{cache.name}", sum(misses.values()), f"misses of {cache.name}", "lines", source)
        yield count(f"conflict_{cache.name}", conflict_risk(addresses, cache), "1 where strides meet few sets", "1", source)
        if per_array:
            for name in sorted(misses):
                yield count(f"misses_{cache.name}_{name}", misses[name], f"misses of {cache.name} by array {name}", "lines", source)


def stride_cells(addresses: Addresses) -> Iterator[Cell]:
    """Stride of each array for each loop, and its kind as indicators; of several references the largest stride counts."""
    accesses = [access for _, work in executions(addresses) for access in work.accesses]
    for array in sorted(addresses.arrays):
        own = [access for access in accesses if access.array == array]
        for level in all_levels(addresses):
            strides = [access.strides.get(level.name, 0) for access in own]
            stride = max(strides, key=abs)
            yield count(
                f"stride_{array}_{level.name}", stride, f"step of {array} from one trip of {level.name} to the next", "elements"
            )
            kind = stride_kind(stride, own[0].dimension_strides)
            for known in KINDS:
                yield count(
                    f"{known}_{array}_{level.name}", kind == known, f"1 where the step of {array} along {level.name} is {known}"
                )
