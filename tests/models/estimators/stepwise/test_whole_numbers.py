"""Where a product or sum of whole columns may end beyond the largest whole number, its first column is made a fraction."""

from __future__ import annotations

import pytest

from mlperf.models.estimators.stepwise.whole_numbers import in_fractions
from mlperf.models.formula.expressions import parse, text

SIZES = {"a": 10.0, "b": 20.0, "c": 30.0}


@pytest.mark.parametrize(
    ("term", "largest", "expected"),
    [
        ("a * b * c", 6000, "a * b * c"),
        ("a * b * c", 5999, "1 * a * b * c"),
        ("a * b/c", 199, "1 * a * b/c"),
        ("a/b * c", 1, "a/b * c"),
        ("2 * a * b", 1, "2 * a * b"),
        ("c * (a * b)", 199, "1 * c * (1 * a * b)"),
        ("log(a * b) * c", 199, "log(1 * a * b) * c"),
        ("(a + b) * c", 899, "(1 * a + b) * c"),
        ("-a * b", 199, "-1 * a * b"),
        ("pmax(a, b) * c", 599, "pmax(1 * a, b) * c"),
        ("pmax(a, 0.5) * c", 1, "pmax(a, 0.5) * c"),
        ("a^3 * b", 1, "a^3 * b"),
        ("a * unknown", 1e300, "1 * a * unknown"),
    ],
)
def test_only_what_may_end_is_a_fraction(term: str, largest: float, expected: str) -> None:
    assert text(in_fractions(parse(term), SIZES, largest)) == expected
