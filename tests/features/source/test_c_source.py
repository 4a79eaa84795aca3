"""Macros, conditions and compiler words: what the parser sees is what a compiler would see."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.features.source import nest_addresses, parse_c


def trips(text: str) -> list[int]:
    """Trip count of the first loop of every function, in the order of the file."""
    return [nest_addresses(nest).levels[0].trips for nest in parse_c(text, "k.c")]


def loop(stop: str, name: str = "f") -> str:
    return f"void {name}(float *a) {{ for (int i = 0; i < {stop}; i++) a[i] = 0; }}\n"


@pytest.mark.parametrize(
    ("macros", "stop", "expected"),
    [
        ("#define N 10\n#define M N+1", "2*M", 21),  # text, not a value: 2*10+1
        ("#define N 10\n#define M (N+1)", "2*M", 22),
        ("#define M (N+1)\n#define N 10", "2*M", 22),
        ("#define B 3*2\n#define A B+1", "A", 7),
        ("#define N 010", "N", 8),
        ("#define N 0x10u", "N", 16),
        ("#define N -4", "8-N", 12),
        ("#define N 5L\n#define N2 N", "N2", 5),
        ("enum { A, N = 50, M };", "M", 51),
        ("typedef enum { N = 7 } sizes;", "N", 7),
        ("static const int N = 20, M = N/3;", "M", 6),
    ],
)
def test_numbers_with_names(macros: str, stop: str, expected: int) -> None:
    assert trips(f"{macros}\n{loop(stop)}") == [expected]


def test_a_macro_stands_for_what_it_meant_on_that_line() -> None:
    assert trips(f"#define N 100\n{loop('N', 'f')}#undef N\n#define N 200\n{loop('N', 'g')}") == [100, 200]


@pytest.mark.parametrize("first", ["float", "double"])
def test_a_type_that_is_defined_already_keeps_its_meaning(first: str) -> None:
    text = f"#define T {first}\n#ifndef T\n#define T char\n#endif\n#ifdef T\nvoid f(T *a) {{ LOOP }}\n#endif\n"
    text = text.replace("LOOP", "for (int i = 0; i < 5; i++) a[i] = 0;")
    (nest,) = parse_c(text, "k.c")
    assert nest.arrays[0].element_size == {"float": 4, "double": 8}[first]


def test_what_is_left_out_may_hold_anything() -> None:
    left_out = "#if 0\n#if defined(X) && Y > 3\n#elif Z\n#endif\n#error never\n#endif\n"
    assert trips(f"#define EPS 1e-5\n#ifndef EPS\n#error no EPS\n#endif\n{left_out}{loop('5')}") == [5]
    with pytest.raises(DataError, match="got #elif"):
        trips(f"#if 0\n#elif defined(X)\n#endif\n{loop('5')}")


def test_attributes_with_brackets_inside_and_words_by_macros() -> None:
    text = """#define RESTRICT __restrict__
#define ALIGNED __attribute__((aligned(64)))
static float a[8] ALIGNED, b[8] __attribute__((
   aligned((32)), section(".data")));
void __attribute__((noinline, target("avx2"))) f(float *RESTRICT c) { for (int i = 0; i < 8; i++) c[i] = a[i] + b[i]; }
"""
    (nest,) = parse_c(text, "k.c")
    assert [array.may_alias for array in nest.arrays] == [False] * 3


@pytest.mark.parametrize(
    ("kind", "size", "floating"),
    [("float _Complex", 8, True), ("double _Complex", 16, True), ("_Float16", 2, True), ("__bf16", 2, True), ("bool", 1, False)],
)
def test_sizes_of_rarer_types(kind: str, size: int, floating: bool) -> None:
    (nest,) = parse_c(f"void f({kind} *a) {{ for (int i = 0; i < 8; i++) a[i] = 0; }}", "k.c")
    assert (nest.arrays[0].element_size, nest.arrays[0].floating) == (size, floating)


def test_macros_that_grow_without_end_are_refused() -> None:
    text = "".join(f"#define M{number} M{number + 1} + M{number + 1}\n" for number in range(40))
    with pytest.raises(DataError, match="a line of more than"):
        trips(text + loop("M0"))
