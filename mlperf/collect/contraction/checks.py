"""Expected checksums of the reference: computed once by einsum, kept with the sources."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.collect.contraction.sources import kernel_name
from mlperf.collect.contraction.units import Unit
from mlperf.collect.protocol.protocol import Progress, side_by_side
from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.files import write_text_whole
from mlperf.core.places import make_folder
from mlperf.specs.patterns import check_pattern

ARRAY_STEP = 40
"""Array a starts at position a * 2**40 of the one stream of random numbers."""


def noise(first: int, count: int) -> FloatArray:
    """Pseudo-random numbers in [0, 1) at positions ``first`` to ``first + count - 1``: splitmix64, upper 24 bits.

    Every value is a single-precision number, so that C and NumPy hold the same bits.
    """
    with np.errstate(over="ignore"):
        z = (np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.float64) * 2.0**-24


def operand(number: int, rank: int, n: int) -> FloatArray:
    """Array ``number`` (B is 1), shape (n,) * rank."""
    return noise(number << ARRAY_STEP, n**rank).reshape((n,) * rank)


def result(pattern: str, loops: str, n: int) -> FloatArray:
    """The first array after one call of the kernel, by einsum in double precision.

    Loops over indices that no operand has repeat the same addition n times: each is an operand of ones.
    """
    target, *words = check_pattern(pattern)
    kept = "".join(dict.fromkeys(target))
    absent = [letter for letter in loops if not any(letter in word for word in words)]
    operands = [*(operand(number, len(word), n) for number, word in enumerate(words, 1)), *(np.ones(n) for _ in absent)]
    found: FloatArray = np.einsum(f"{','.join([*words, *absent])}->{kept}", *operands, optimize=True)
    return found if kept == target else on_diagonal(found, target, kept, n)


def on_diagonal(found: FloatArray, target: str, kept: str, n: int) -> FloatArray:
    """A result whose subscripts repeat an index: zero off the diagonal."""
    whole = np.zeros((n,) * len(target))
    axes: dict[str, Any] = dict(zip(kept, np.indices((n,) * len(kept)), strict=True))
    whole[tuple(axes[letter] for letter in target)] = found
    return whole


def checksum(pattern: str, loops: str, n: int) -> float:
    """Weighted sum of the result: weights 1 + noise at each position, as the driver adds them up."""
    flat = result(pattern, loops, n).ravel()
    return float(flat @ (1.0 + noise(0, flat.size)))


TOLERANCE = 1e-5
"""Relative; compilers were seen to differ by 1.6e-7."""

Expected = Mapping[tuple[int, str], float]


def expected_checksums(
    folder: Path, patterns: Sequence[str], loops: str, sizes: Sequence[int], n_jobs: int, progress: Progress
) -> Expected:
    """Checksum of every kernel by (N, pattern); what an earlier run computed is read."""
    found: dict[tuple[int, str], float] = {}
    for n in sizes:
        path = folder / f"N{n}" / "checksums.json"
        known: dict[str, float] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        missing = [pattern for pattern in patterns if pattern not in known]
        if missing:
            known |= computed(missing, loops, n, n_jobs, progress)
            make_folder(path.parent)
            write_text_whole(path, json.dumps(known, indent=0, sort_keys=True) + "\n")
        found |= {(n, pattern): known[pattern] for pattern in patterns}
    return found


def computed(patterns: Sequence[str], loops: str, n: int, n_jobs: int, progress: Progress) -> dict[str, float]:
    """Compute the expected checksum of every pattern."""
    progress.start(f"einsum at N = {n}", len(patterns))
    found = {}
    for (pattern, *_), value in side_by_side(checksum, [(pattern, loops, n) for pattern in patterns], n_jobs):
        found[pattern] = value
        progress.advance()
    return found


def check_error(unit: Unit, pattern: str, got: float, expected: float) -> float:
    """Relative deviation of a kernel's checksum.

    Raises
    ------
    DataError
        Above `TOLERANCE`: names the kernel and the build.
    """
    error = abs(got - expected) / abs(expected)
    if not error <= TOLERANCE:
        raise DataError(
            f"got checksum {got:.9g}, expected {expected:.9g} within {TOLERANCE:g} relative, as einsum computes it",
            place=f"kernel {kernel_name(pattern)}, build {unit.label}",
            hint=f"{unit.build.compiler_flags} does not keep the meaning of this code: leave the build out.",
        )
    return error
