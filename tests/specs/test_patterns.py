"""Enumeration of contraction patterns: published counts and combinatorial formulas."""

from __future__ import annotations

from math import comb, factorial, perm

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.specs.patterns import (
    RULES,
    PatternRule,
    check_pattern,
    make_patterns,
    sample_patterns,
    swap_group,
    unswapped,
)


@pytest.mark.parametrize(
    ("rule", "ordered", "without_twins"),
    [
        ("twice", 864, 432),
        ("distinct", 6912, 3600),
        ("distinct_all_used", 6048, 3096),
        ("repeats_all_used", 40824, None),
    ],
)
def test_the_family_of_two_three_three_has_the_known_numbers(rule: str, ordered: int, without_twins: int | None) -> None:
    patterns = make_patterns(RULES[rule])
    assert len(patterns) == len(set(patterns)) == ordered
    if without_twins is not None:
        assert len(unswapped(patterns)) == without_twins


def surjections(places: int, letters: int) -> int:
    return sum((-1) ** left_out * comb(letters, left_out) * (letters - left_out) ** places for left_out in range(letters + 1))


@pytest.mark.parametrize(("ranks", "indices"), [((1, 2), "ij"), ((2, 2, 2), "ijk"), ((1, 1, 1, 2), "ijk"), ((3,), "ijkl")])
def test_other_families_follow_the_formulas(ranks: tuple[int, ...], indices: str) -> None:
    n = len(indices)
    assert len(make_patterns(PatternRule(ranks, indices))) == np.prod([perm(n, rank) for rank in ranks])
    repeats = PatternRule(ranks, indices, distinct=False, all_used=True)
    assert len(make_patterns(repeats)) == surjections(sum(ranks), n)


def test_matrix_products_are_the_six_orders_of_the_loops() -> None:
    patterns = make_patterns(PatternRule((2, 2, 2), "ijk", times=2))
    assert "ij-ik-kj" in patterns
    assert len(patterns) == factorial(3) * 2**3  # which index each array lacks, and the order of the two it has


def test_twins_differ_in_the_names_of_equal_ranks_only() -> None:
    assert swap_group("ij-lk-ikl-jkl-ab") == "ij-ab-ikl-jkl-lk"
    assert swap_group("ij-jlk-kil") == swap_group("ij-kil-jlk") == "ij-jlk-kil"


def test_samples_follow_the_seed_and_stay_in_order() -> None:
    patterns = make_patterns(RULES["twice"])
    drawn = sample_patterns(patterns, 20, np.random.default_rng(7))
    assert drawn == sample_patterns(patterns, 20, np.random.default_rng(7))
    assert drawn == sorted(set(drawn), key=patterns.index)
    with pytest.raises(UsageError, match="1 to 864"):
        sample_patterns(patterns, 865, np.random.default_rng(7))


def test_wrong_patterns_and_rules_are_refused() -> None:
    for wrong in ("ij", "ij-", "i j-k", "ij-k1"):
        with pytest.raises(UsageError, match="joined by"):
            check_pattern(wrong)
    for ranks, indices in (((), "ij"), ((0, 1), "ij"), ((1,), "ii"), ((1,), "")):
        with pytest.raises(UsageError, match="expected"):
            PatternRule(ranks, indices)
