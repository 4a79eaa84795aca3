"""Values that trips hand on, against what ``gcc -O3 -ffast-math`` vectorises."""

from __future__ import annotations

import pytest

from mlperf.features.source import Vectorisability, innermost_levels, judge_loop, nest_addresses, parse_c

DECLARATIONS = "float a[99], b[99]; float m[99][99]; int c[99]; float s; int t;\n"


def judged(statement: str) -> Vectorisability:
    (nest,) = parse_c(f"{DECLARATIONS}void f(void) {{ for (int i = 1; i < 90; i++) {statement} }}", "k.c")
    addresses = nest_addresses(nest)
    (level,) = innermost_levels(addresses)
    return judge_loop(level, addresses)


@pytest.mark.parametrize(
    ("statement", "vectorisable"),
    [
        ("s = s*a[i] + b[i];", False),
        ("s = a[i] - s;", False),
        ("s = a[i] + s - 3*b[i];", True),
        ("s /= a[i];", False),
        ("s = a[i] > s ? a[i] : s;", True),
        ("s = a[i] > 0 ? s + a[i] : s;", True),
        ("{ s += a[i]; b[i] = s; }", False),  # a sum on the way
        ("{ s += a[i]; s -= 2*b[i]; }", True),
        ("{ s += a[i]; s *= b[i]; }", False),
        ("{ a[i] = s; s += 3; }", True),  # the value on each trip is known
        ("{ s = a[i]; s += 2; b[i] = s; }", True),  # each trip has its own
        ("a[0] = a[0]*2 + b[i];", False),
        ("{ a[0] += b[i]; m[0][i] = a[0]; }", False),
        ("a[i] /= b[i];", True),
        ("t ^= c[i];", True),
    ],
)
def test_sums_and_the_like_run_in_vectors_and_chains_do_not(statement: str, vectorisable: bool) -> None:
    assert judged(statement).vectorisable == vectorisable


def test_a_variable_that_each_trip_sets_anew_is_no_reduction() -> None:
    assert not judged("{ s = a[i]; s += 2; b[i] = s; }").reduction
    assert judged("{ b[i] = s; s = s + a[i]; }").reduction


def test_the_reason_is_told() -> None:
    assert judged("s = s*a[i] + b[i];").reason == "a trip needs what the trip before computed"
