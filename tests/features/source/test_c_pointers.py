"""Pointers into arrays: the addresses that they reach, and those that cannot be told."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.features.source import loop_features, nest_addresses, parse_c

DECLARATIONS = "#define N 8\ndouble M[N][N]; float *g; float *h(float *);\n"


def walks(body: str, parameters: str = "int n, float *a, double *x") -> list[tuple[str, int, dict[str, int]]]:
    """Array, first element and strides of every reference."""
    (nest,) = parse_c(f"{DECLARATIONS}void f({parameters}) {{ {body} }}", "k.c")
    addresses = nest_addresses(nest, {"n": 100} if nest.sizes else {})
    return [
        (access.array, sum(map(int.__mul__, access.offsets, access.dimension_strides)), dict(access.strides))
        for level in addresses.levels
        for work in level.works()
        for access in work.accesses
    ]


@pytest.mark.parametrize(
    ("pointer", "written_out"),
    [
        ("const float *row = a + i*n; {J} s += row[j];", "{J} s += a[i*n + j];"),
        ("float *row; row = &a[i*n + 3]; {J} row[j] = 0;", "{J} a[i*n + 3 + j] = 0;"),
        ("float *row = 5 + a; float *end = row + n*i - 2; {J} end[-j] = 0;", "{J} a[n*i + 3 - j] = 0;"),
        ("float *row = (float *)__builtin_assume_aligned(a + 8*i, 32); {J} row[j] = 0;", "{J} a[8*i + j] = 0;"),
        ("double *row = M[i]; {J} row[j] += 1;", "{J} M[i][j] += 1;"),
        ("double *row = &M[i][2]; {J} row[j] += 1;", "{J} M[i][2 + j] += 1;"),
        ("double (*rows)[N] = M + i; {J} rows[1][j] = 0;", "{J} M[i + 1][j] = 0;"),
        ("double (*rows)[N] = &M[i]; double *row = rows[2]; {J} row[j] = 0;", "{J} M[i + 2][j] = 0;"),
        ("int *row = (int *)a + i; {J} row[j] = 0;", "{J} a[i + j] = 0;"),
    ],
)
def test_a_pointer_reaches_the_array_that_it_points_into(pointer: str, written_out: str) -> None:
    nests = [
        f"for (int i = 0; i < N; i++) {{ {text.replace('{J}', 'for (int j = 0; j < N; j++)')} }}" for text in (pointer, written_out)
    ]
    assert walks(nests[0]) == walks(nests[1])


def test_rows_by_pointer_are_the_whole_matrix() -> None:
    row = "void f(int n, float *a, float *y) { for (int i = 0; i < n; i++) { float *row = a + i*n; float s = 0;"
    (nest,) = parse_c(row + " for (int j = 0; j < n; j++) s += row[j]; y[i] = s; } }", "k.c")
    (footprint,) = loop_features([nest], {"n": 100}).frame.footprint_bytes
    assert footprint == 4 * (100 * 100 + 100)


def test_memory_of_its_own_and_pointers_set_before_the_loops_are_read() -> None:
    assert walks("float *t = malloc(n * sizeof *a); for (int i = 0; i < 5; i++) t[i] = 0;") == [("t", 0, {"i": 1})]
    assert walks("a = a + 4; for (int i = 0; i < 5; i++) a[i] = 0;") == [("a", 4, {"i": 1})]
    two = "for (int i = 0; i < 5; i++) {{ float *p = a + {}*i; p[0] = 0; }}"
    assert [strides for _, _, strides in walks(two.format(2) + two.format(3))] == [{"i": 2}, {"i_2": 3}]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for (int i = 0; i < n; i++) { a[0] = 0; a += n; }", "cannot tell where the pointer a stands in a[0]"),
        ("float *p = a; for (int i = 0; i < n; i++) { p[0] = 0; p++; }", "cannot tell where the pointer p stands"),
        ("for (int i = 0; i < n; i++) { g[0] = 0; g++; }", "cannot tell where the pointer g stands"),
        ("for (int i = 0; i < n; i++) { float *p = h(a); p[i] = 0; }", "cannot tell where the pointer p stands"),
        ("for (int i = 0; i < n; i++) { float *p = n > 3 ? a : g; p[i] = 0; }", "cannot tell where the pointer p stands"),
        ("for (int i = 0; i < n; i++) { char *p = (char *)a; p[i] = 0; }", "cannot tell where the pointer p stands"),
        ("for (int i = 0; i < n; i++) { float *p = (float[2]){a[i], 2}; a[i] = p[1]; }", "cannot tell where the pointer p stands"),
        ("float *p; for (int i = 0; i < n; i++) { p[i] = 0; p = a + i; }", "cannot tell where the pointer p stands"),
        ("float *p; for (int i = 0; i < n; i++) p = a + i; for (int i = 0; i < n; i++) p[i] = 0;", "a loop that is over"),
        ("for (int i = 0; i < n; i++) h(a + i);", "cannot follow the address a"),
    ],
)
def test_a_pointer_that_moves_or_leads_anywhere_is_refused(body: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        walks(body)
    assert message in caught.value.message
    assert "line 3, column" in caught.value.place
