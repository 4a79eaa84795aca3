"""Expected checksums: computed once by einsum, kept with the sources."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from mlperf.collect.contraction.reference import checksum
from mlperf.collect.contraction.sources import kernel_name
from mlperf.collect.contraction.units import Unit
from mlperf.collect.protocol.protocol import Progress
from mlperf.core.errors import DataError
from mlperf.core.files import write_text_whole

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
            write_text_whole(path, json.dumps(known, indent=0, sort_keys=True) + "\n")
        found |= {(n, pattern): known[pattern] for pattern in patterns}
    return found


def computed(patterns: Sequence[str], loops: str, n: int, n_jobs: int, progress: Progress) -> dict[str, float]:
    """Compute the expected checksum of every pattern."""
    progress.start(f"einsum at N = {n}", len(patterns))
    with ThreadPoolExecutor(max(n_jobs, 1)) as pool:
        waiting = {pool.submit(checksum, pattern, loops, n): pattern for pattern in patterns}
        found = {}
        try:
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                progress.advance()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
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
