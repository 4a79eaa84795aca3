"""What the C subset reads, and how it refuses the rest."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError, MissingExtraError
from mlperf.features.source import Nest, nest_addresses, parse_c, pattern_nest, read_c, swc_s
from mlperf.specs.patterns import RULES, make_patterns, sample_patterns

SOURCES = Path(__file__).parents[2] / "reference" / "assembly" / "sources"


def strides(nest: Nest, **sizes: int) -> dict[str, dict[str, int]]:
    """Stride of every array for every loop, by name."""
    addresses = nest_addresses(nest, sizes)
    return {access.array: dict(access.strides) for level in addresses.levels for work in level.works() for access in work.accesses}


def body(statement: str, declarations: str = "float a[10], b[10];") -> str:
    return f"{declarations}\nvoid f(int n) {{\n  for (int i = 0; i < 10; i++)\n    {statement}\n}}\n"


def one(text: str) -> Nest:
    (nest,) = parse_c(text, "k.c")
    return nest


def by_name(path: Path) -> None:
    """The strides that ``k_ij_jlk_kil.c`` says in its name are those that its text has."""
    pattern = path.stem.removeprefix("k_").replace("_", "-")
    (nest,) = read_c(path)
    assert nest.name == path.stem
    assert strides(nest) == strides(pattern_nest(pattern), N=100)


@pytest.mark.parametrize("path", sorted(SOURCES.glob("k_*.c")), ids=lambda path: path.stem)
def test_the_strides_of_a_contraction_are_in_its_name(path: Path) -> None:
    by_name(path)


def test_every_open_contraction_has_the_strides_of_its_name(shared_data: Path) -> None:
    paths = sorted((shared_data / "simd_tensor" / "assembly" / "sources").glob("k_*.c"))
    assert len(paths) >= 7
    for path in paths:
        by_name(path)


@pytest.mark.parametrize("pattern", sample_patterns(make_patterns(RULES["distinct_all_used"]), 40, np.random.default_rng(5)))
def test_strides_of_generated_contractions_follow_the_letters(pattern: str) -> None:
    words = dict(zip("ABC", pattern.split("-"), strict=True))
    elements = {name: name + "".join(f"[{letter}]" for letter in word) for name, word in words.items()}
    loops = " ".join(f"for({letter}=0;{letter}<N;{letter}++)" for letter in "ijkl")
    text = f"""#define N 50
extern float A[N][N], B[N][N][N], C[N][N][N];
void k(void){{ int i,j,k,l; {loops} {elements["A"]} += {elements["B"]} * {elements["C"]}; }}
"""
    expected = {
        name: {letter: 50 ** (len(word) - 1 - word.index(letter)) if letter in word else 0 for letter in "ijkl"}
        for name, word in words.items()
    }
    assert strides(one(text)) == strides(pattern_nest(pattern), N=50) == expected


def test_strides_written_out_by_hand() -> None:
    text = (SOURCES / "k_ij_jlk_kil.c").read_text()
    assert strides(one(text)) == {
        "A": {"i": 100, "j": 1, "k": 0, "l": 0},
        "B": {"i": 0, "j": 10_000, "k": 1, "l": 100},
        "C": {"i": 100, "j": 0, "k": 10_000, "l": 1},
    }


def test_functions_of_a_real_file_keep_their_open_sizes() -> None:
    nests = {nest.name: nest for nest in read_c(SOURCES / "misc_a.c")}
    assert set(nests) == {"scale_int", "div_chain", "count_bytes", "widen", "matvec", "stencil5", "apply"}
    assert nests["matvec"].sizes == {"m", "n"}
    assert strides(nests["matvec"], m=7, n=50) == {"a": {"i": 50, "j": 1}, "x": {"i": 0, "j": 1}, "y": {"i": 1}}
    assert [array.element_size for array in nests["widen"].arrays] == [1, 8]


@pytest.mark.parametrize(
    ("statement", "message", "place"),
    [
        ("b[i] += a[c[i]];", "subscript is not affine: a[c[i]]", "line 4, column 15"),
        ("a[i*i] = 0;", "subscript is not affine: a[i * i]", "line 4, column 7"),
        ("a[i/2] = 0;", "subscript is not affine: a[i / 2]", "line 4, column 7"),
        ("a[g(i)] = 0;", "subscript is not affine: a[g(i)]", "line 4, column 7"),
        ("if (a[i] > 0) a[i] = 0;", "got if around or inside a loop", "line 4, column 5"),
        ("while (a[i]) a[i]--;", "got while around or inside a loop", "line 4, column 5"),
        ("d[i] = 0;", "d[i] is not an element of an array declared here", "line 4, column 5"),
        ("a[i][i] = 0;", "got 2 subscripts", "line 4, column 5"),
        ("*(p + i) = 0;", "cannot write to '*(p + i)'", "line 4, column 7"),
        ("a[i] = *p;", "cannot follow '*p'", "line 4, column 13"),
        ("g(a);", "gets the whole array a", "line 4, column 5"),
        ("for (int j = 0; j < i; j++) a[j] = 0;", "loop bound i changes with another loop", "line 4, column 5"),
        ("for (int j = 1; j < n; j *= 2) a[j] = 0;", "without a constant step", "line 4, column 5"),
        ("for (int j = 0; a[j]; j++) a[j] = 0;", "without a plain bound", "line 4, column 5"),
        ("for (;;) a[i] = 0;", "without a plain start", "line 4, column 5"),
        ("a[i = 0;", "not C that can be read", "line 4, column 12"),
        ("a[i] += n%;", "not C that can be read: Invalid expression", "line 5"),
        ("a[i] += n%; @", "not C that can be read: Invalid expression", "line 4"),
    ],
)
def test_what_is_not_read_is_refused_with_line_and_column(statement: str, message: str, place: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_c(body(statement, "float a[10], b[10]; int c[10]; float *p;"), "k.c")
    assert message in caught.value.message
    assert caught.value.place == f"k.c, {place}"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("#define F(x) x\nvoid f(void) {}\n", "a macro with parameters", "k.c, line 1"),
        ("#if N > 4\n#endif\n", "got #if N > 4", "k.c, line 1"),
        ("\n#else\n", "got #else without #if", "k.c, line 2"),
        ("void f(void) {}\n", "no function with a for loop", "k.c"),
        (body("a[i] = 0;").replace("i < 10", "i > 10"), "without a plain bound", "k.c, line 3, column 3"),
    ],
)
def test_files_that_are_not_read(text: str, message: str, place: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_c(text, "k.c")
    assert message in caught.value.message
    assert caught.value.place == place


def test_a_loop_that_never_runs_is_refused() -> None:
    with pytest.raises(DataError, match="never runs"):
        nest_addresses(one(body("a[i] = 0;").replace("i = 0", "i = 10")))


@pytest.mark.parametrize(
    ("header", "trips", "stride"),
    [
        ("i = 0; i < 10; i++", 10, 1), ("i = 0; i <= 9; ++i", 10, 1), ("i = 0; 10 > i; i += 3", 4, 3),
        ("i = 9; i >= 0; i--", 10, -1),
        ("i = 9; i > 0; i -= 2", 5, -2), ("i = 0; i != 10; i = i + 1", 10, 1), ("i = 2; i < 2*5; i = 2 + i", 4, 2),
    ],
)  # fmt: skip
def test_every_spelling_of_a_loop(header: str, trips: int, stride: int) -> None:
    addresses = nest_addresses(one(f"float a[10];\nvoid f(void) {{ int i; for ({header}) a[i] = 0; }}"))
    (level,) = addresses.levels
    (work,) = level.works()
    assert (level.trips, work.accesses[0].strides) == (trips, {"i": stride})


def test_constants_types_and_compiler_words() -> None:
    text = """
#include <stdint.h>
#ifndef N
#define N 8
#endif
#define M (2 * N)
#define real double
#define INLINE static inline
/* for (i = 0; i < N; i++) a[b[i]] = 0; */
typedef real vec[M];
INLINE void f(const real *__restrict__ x, uint8_t y[restrict M][N], size_t n) __attribute__((noinline));
INLINE void f(const real *__restrict__ x, uint8_t y[restrict M][N], size_t n)
{
  const int shift = 3; // a name for a number
  int base;
  #pragma omp simd
  for (size_t i = 0; i < M; i++) {
    base = i * N;
    for (size_t j = 0; j < N; j++)
      y[i][j] += x[base + (long)j + shift];
  }
}
"""
    nest = one(text)
    assert strides(nest) == {"x": {"i": 8, "j": 1}, "y": {"i": 8, "j": 1}}
    x, y = nest.arrays
    assert (x.name, x.element_size, x.floating, x.may_alias) == ("x", 8, True, False)
    assert (y.name, y.element_size, y.floating, y.may_alias) == ("y", 1, False, False)
    assert nest_addresses(nest).levels[0].trips == 16


def test_a_variable_that_changes_is_no_subscript() -> None:
    with pytest.raises(DataError, match=r"not affine: a\[k\]"):
        parse_c("float a[10];\nvoid f(int n) { int k = 0; for (int i = 0; i < 10; i++) { a[k] = 0; k += 2; } }", "k.c")
    with pytest.raises(DataError, match=r"not affine: a\[n\]"):
        parse_c("float a[10];\nvoid f(int n) { for (int i = 0; i < 10; i++) { a[n] = 0; n--; } }", "k.c")


def test_loops_side_by_side_over_one_index_are_told_apart() -> None:
    nest = one(
        "float a[10][10], t[10];\nvoid f(void) { for (int i = 0; i < 10; i++) {"
        " for (int j = 0; j < 10; j++) t[j] = 0; for (int j = 0; j < 10; j++) t[i] += a[j][i]; } }"
    )
    assert [loop.name for loop in nest.all_loops()] == ["i", "j", "j_2"]


def test_loops_side_by_side_whose_index_has_an_underscore_are_told_apart() -> None:
    loop = "for (int my_i = 0; my_i < {}; my_i++) t[my_i] = 0;"
    nest = one(f"float t[90];\nvoid f(void) {{ {loop.format(5)} {loop.format(6)} {loop.format(90)} }}")
    assert [loop.name for loop in nest.all_loops()] == ["my_i", "my_i_2", "my_i_3"]


def test_what_a_local_array_begins_with_is_read_and_written() -> None:
    (level,) = nest_addresses(one(body("{ float t[2] = {a[i], 2*b[i]}; a[i] = t[0]*t[1]; }"))).levels
    first, second = level.works()
    assert [(access.array, access.access) for access in first.accesses] == [
        ("a", "read"),
        ("t", "write"),
        ("b", "read"),
        ("t", "write"),
    ]
    assert (first.statement.n_operations, second.statement.n_operations) == (1, 1)


def test_operations_and_reductions_are_counted() -> None:
    text = body("{ float t = a[i] * 2; s += t * b[i] - 1; a[i] = a[i] + t; }", "float a[10], b[10]; float s;")
    (level,) = nest_addresses(one(text)).levels
    statements = [work.statement for work in level.works()]
    assert [statement.n_operations for statement in statements] == [1, 3, 1]
    assert [statement.n_multiplies for statement in statements] == [1, 1, 0]
    assert [statement.reduces_scalar for statement in statements] == [False, True, False]
    assert [reference.access for reference in statements[2].references] == ["update"]


def test_sizes_must_be_given_and_be_positive() -> None:
    path = SOURCES / "misc_a.c"
    with pytest.raises(DataError, match="got no number for m, expected one for every size"):
        swc_s([path], {"n": 5}, functions=["matvec"])
    with pytest.raises(DataError, match="got n=0"):
        swc_s([path], {"n": 0, "m": 5}, functions=["matvec"])
    with pytest.raises(DataError, match="got no function matvecs"):
        swc_s([path], {"n": 5, "m": 5}, functions=["matvecs"])


def test_a_missing_parser_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pycparser"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pycparser", None)
    with pytest.raises(MissingExtraError, match="pycparser"):
        read_c(SOURCES / "misc_a.c")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_c(tmp_path / "none.c")


def test_functions_that_are_not_asked_for_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "k.c"
    path.write_text(body("a[i] = b[i];") + "void g(int *c) { for (int i = 0; i < 10; i++) a[c[i]] = 0; }\nvoid h(void) { }\n")
    assert swc_s([path], functions=["f"]).frame.kernel.tolist() == ["f"]
    with pytest.raises(DataError, match="not affine"):
        swc_s([path], functions=["f", "g"])
    with pytest.raises(DataError, match="got no function ff, expected it here"):
        swc_s([path], functions=["ff"])
    with pytest.raises(DataError, match="no function with a for loop"):
        swc_s([path], functions=["h"])


def test_brackets_without_end_are_an_error_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "k.c"
    path.write_text(body(f"a[i] = {'(' * 3000}b[i]{')' * 3000};"))
    with pytest.raises(DataError, match=r"k\.c: is nested too deeply to be read"):
        read_c(path)


def test_parameters_declared_behind_the_brackets() -> None:
    nest = one("void f(a, n) float *a; int n; { int i; for (i = 0; i < n; i++) a[i] = 0; }")
    assert strides(nest, n=5) == {"a": {"i": 1}}
    with pytest.raises(DataError, match="not an element of an array declared here"):
        one("void f(a, n) { int i; for (i = 0; i < n; i++) a[i] = 0; }")
