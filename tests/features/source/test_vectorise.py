"""Judgements on innermost loops with known answers."""

from __future__ import annotations

import pytest

from mlperf.features.source import innermost_levels, judge_loop, nest_addresses, parse_c

DECLARATIONS = "float a[99], b[99]; float m[99][99]; int c[99]; float s;\n"


def judged(statement: str, parameters: str = "void", **options: bool) -> object:
    (nest,) = parse_c(f"{DECLARATIONS}void f({parameters}) {{ for (int i = 1; i < 90; i++) {statement} }}", "k.c")
    addresses = nest_addresses(nest)
    (level,) = innermost_levels(addresses)
    return judge_loop(level, addresses, **options)


@pytest.mark.parametrize(
    ("statement", "vectorisable"),
    [
        ("a[i] = b[i];", True),
        ("a[i] = b[i+1] + b[i-1];", True),
        ("a[i] = a[i+1];", True),  # reads ahead of what it writes
        ("a[i] = a[i-1];", False),  # needs the trip before
        ("a[i] += 2;", True),
        ("s += a[i];", True),
        ("a[0] += b[i];", True),
        ("a[0] = b[i];", False),
        ("a[i] = m[i][0];", False),
        ("a[2*i-2] = 0;", False),
        ("a[i] = m[0][i];", True),
        ("a[90-i] = b[i];", True),
        ("a[i] = a[90-i];", False),
        ("a[i] = g(b[i]);", False),
        ("a[i] = b[5];", True),
    ],
)
def test_what_runs_in_vectors(statement: str, vectorisable: bool) -> None:
    found = judged(statement)
    assert found.vectorisable == vectorisable  # type: ignore[attr-defined]
    assert bool(found.reason) != vectorisable  # type: ignore[attr-defined]


def test_sums_of_floats_need_permission_and_sums_of_integers_do_not() -> None:
    assert not judged("s += a[i];", reassociate=False).vectorisable  # type: ignore[attr-defined]
    assert judged("c[0] += c[i+1];", reassociate=False).reduction  # type: ignore[attr-defined]


def test_pointers_may_overlap_unless_restricted() -> None:
    assert judged("p[i] = q[i];", "float *p, float *q").needs_checks  # type: ignore[attr-defined]
    assert not judged("p[i] = q[i];", "float *restrict p, float *restrict q").needs_checks  # type: ignore[attr-defined]
    assert not judged("a[i] = b[i];").needs_checks  # type: ignore[attr-defined]


def test_references_are_counted_by_their_step() -> None:
    found = judged("a[i] = b[5] * m[i][3] + m[3][i];")
    assert (found.n_contiguous, found.n_broadcasts, found.n_gathers) == (2, 1, 1)  # type: ignore[attr-defined]
