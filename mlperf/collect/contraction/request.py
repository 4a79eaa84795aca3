"""What a campaign of contractions is to measure."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlperf.collect.contraction.builds import Build
from mlperf.collect.contraction.cachegrind import CacheSimulation
from mlperf.collect.contraction.sources import BOUNDARY_BYTES, NAMES
from mlperf.core.errors import UsageError
from mlperf.core.places import take_path
from mlperf.specs.patterns import PatternRule, check_pattern, make_patterns, sample_patterns, unswapped

FLOAT_BYTES = 4
MEMORY_SHARE = 0.5
RULE_HINT = "The indices have to fill the subscripts of all arrays: ijkl, each twice, those of ranks 2,3,3."


@dataclass(frozen=True, slots=True)
class ContractionRequest:
    """What to generate, compile and measure.

    Attributes
    ----------
    out : Path or str
        The campaign's folder.
    builds : tuple of Build
        Compilers with options.
    rule : PatternRule
        The family of patterns: number of arrays, ranks, indices.
    rule_name : str
        Its name in the tables.
    patterns : tuple of str
        These patterns instead of the whole family.
    one_of_twins : bool
        Only one of the patterns that differ in the order of operands.
    subset : int or None
        So many of them, drawn by ``seed``.
    sizes : tuple of int
        Extents N.
    offsets : tuple of int
        Distances of the arrays from a 64-byte boundary, bytes.
    rounds : int
        Visits of each kernel; 0 only generates, compiles and checks that all is ready.
    seed : int
        Of the subset and of the order in each round.
    least_s : float
        A kernel is called repeatedly until this much CPU time went by.
    budget_s : float or None
        Wall time after which the campaign stops between two visits.
    n_jobs : int
        Compilers at a time.
    keep : bool
        Whether objects and programs stay when all is measured.
    simulation : CacheSimulation or None
        Also count misses under cachegrind.
    """

    out: Path
    builds: tuple[Build, ...]
    rule: PatternRule = PatternRule(times=2)  # noqa: RUF009 - frozen
    rule_name: str = "twice"
    patterns: tuple[str, ...] = ()
    one_of_twins: bool = False
    subset: int | None = None
    sizes: tuple[int, ...] = (50,)
    offsets: tuple[int, ...] = (0,)
    rounds: int = 10
    seed: int = 0
    least_s: float = 0.0005
    budget_s: float | None = None
    n_jobs: int = os.cpu_count() or 1
    keep: bool = False
    simulation: CacheSimulation | None = None

    def __post_init__(self) -> None:
        take_path(self)


def chosen_patterns(request: ContractionRequest) -> list[str]:
    """The patterns to measure, in alphabetical order of the family or in the order given.

    Raises
    ------
    UsageError
        No pattern keeps the rule, a subset larger than the family, or a pattern that the loops or ranks do not fit.
    """
    patterns = list(dict.fromkeys(request.patterns)) or make_patterns(request.rule)
    for pattern in request.patterns:
        check_fits(pattern, request.rule)
    if request.one_of_twins:
        patterns = unswapped(patterns)
    if not patterns:
        raise UsageError(f"got {request.rule.words}, expected a rule that some pattern keeps", hint=RULE_HINT)
    check_pattern(patterns[0])
    if request.subset is None:
        return patterns
    return sample_patterns(patterns, request.subset, np.random.default_rng(request.seed))


def check_fits(pattern: str, rule: PatternRule) -> None:
    """Refuse a pattern with other ranks or indices than the rule's.

    Raises
    ------
    UsageError
        Says which.
    """
    words = check_pattern(pattern)
    ranks = tuple(len(word) for word in words)
    if ranks != rule.ranks or not set("".join(words)) <= set(rule.indices):
        raise UsageError(
            f"got pattern {pattern!r}, expected arrays of ranks {','.join(map(str, rule.ranks))} over {rule.indices}",
            hint="Name --ranks and --indices that fit; one campaign holds one kind of nest.",
        )


def check_request(request: ContractionRequest) -> None:
    """Refuse sizes, offsets and ranks that cannot be measured.

    Raises
    ------
    UsageError
        Says what was expected.
    """
    if not 2 <= len(request.rule.ranks) <= len(NAMES):
        got = f"got ranks {','.join(map(str, request.rule.ranks))}"
        raise UsageError(f"{got}, expected those of 2 to {len(NAMES)} arrays: the result's, and one for each operand")
    for offset in request.offsets:
        if not 0 <= offset < BOUNDARY_BYTES or offset % FLOAT_BYTES:
            raise UsageError(
                f"got an offset of {offset} bytes, expected a multiple of {FLOAT_BYTES} below {BOUNDARY_BYTES}",
                hint="Arrays begin so many bytes behind a 64-byte boundary: 0, 4, 16, 32.",
            )
    available = MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for n in request.sizes:
        needed = FLOAT_BYTES * sum(n**rank for rank in request.rule.ranks) * len(request.builds) * len(request.offsets)
        if needed > available:
            raise UsageError(
                f"got N = {n}: the arrays of all builds need {needed / 2**30:.1f} GiB of {available / 2**30:.1f}",
                hint="Measure a smaller N, or one build at a time.",
            )
