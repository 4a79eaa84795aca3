"""Loop nests from TOML, against the same nest in C."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.features.source import loop_features, nest_addresses, parse_c, read_nest
from mlperf.features.source.polynomial import Polynomial, parse_expression

MATVEC = """
name = "matvec"
operations = 2
multiplies = 1
[[loops]]
name = "i"
extent = "m"
[[loops]]
name = "j"
extent = "n"
[[arrays]]
name = "a"
type = "double"
shape = ["m", "n"]
[[arrays]]
name = "x"
type = "double"
shape = ["n"]
[[arrays]]
name = "y"
type = "double"
shape = ["m"]
[[references]]
array = "a"
subscripts = ["i", "j"]
[[references]]
array = "x"
subscripts = ["j"]
[[references]]
array = "y"
subscripts = ["i"]
access = "update"
"""
IN_C = """
void matvec(int m, int n, double a[m][n], double x[n], double y[m])
{ for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) y[i] += a[i][j] * x[j]; }
"""


def described(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "nest.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_description_and_c_give_the_same_features(tmp_path: Path) -> None:
    sizes = {"m": 300, "n": 200}
    from_toml = loop_features([read_nest(described(tmp_path, MATVEC))], sizes).frame
    from_c = loop_features(list(parse_c(IN_C, "k.c")), sizes).frame
    assert list(from_toml.columns) == list(from_c.columns)
    differing = [name for name in from_toml if from_toml[name][0] != from_c[name][0]]
    assert differing == ["inner_needs_checks"]  # parameters of C may overlap


def test_sizes_in_the_file_need_not_be_given(tmp_path: Path) -> None:
    text = MATVEC.replace("[[loops]]", "[sizes]\nm = 4\nn = 5\n[[loops]]", 1)
    assert [level.trips for outer in nest_addresses(read_nest(described(tmp_path, text))).levels for level in outer.levels()] == [
        4,
        5,
    ]


def test_layout_step_and_start(tmp_path: Path) -> None:
    text = MATVEC.replace('shape = ["m", "n"]', 'shape = ["m", "n"]\nlayout = "column"').replace(
        'name = "j"\nextent = "n"', 'name = "j"\nstart = 1\nstop = "n - 1"\nstep = 2'
    )
    addresses = nest_addresses(read_nest(described(tmp_path, text)), {"m": 10, "n": 20})
    (work,) = addresses.levels[0].works()
    assert dict(work.accesses[0].strides) == {"i": 1, "j": 20}
    assert addresses.levels[0].body[0].trips == 9  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["i", "j"]', '["i", "i*j"]', r"subscript is not affine: i\*j"),
        ('["i", "j"]', '["i", "x[j]"]', r"subscript is not affine: x\[j\]"),
        ('["i", "j"]', '["i"]', "got 1 subscripts, expected 2"),
        ('["i", "j"]', '["i", "j +"]', "expected an expression"),
        ('access = "update"', 'access = "updates"', "expected one of read, write, update"),
        ('array = "x"', 'array = "z"', "expected one of a, x, y"),
        ('type = "double"', 'type = "doubles"', "expected one of float, double"),
        ('extent = "m"', 'extents = "m"', "got key 'extents'"),
        ('extent = "m"', "", "expected either extent, or stop"),
        ("operations = 2", "operations = -2", "whole number >= 0"),
        ('name = "matvec"', "", "got no key 'name'"),
        ('access = "update"', 'access = "update"\ndepth = 3', "got depth 3"),
        ('name = "matvec"', 'name = "matvec"\nsizes = [1]', "expected a table of sizes"),
        ('name = "matvec"', 'name = "matvec"\nsizes = { n = 10000000000000000000 }', "whole number of 64 bits"),
        ('["i", "j"]', "3", "got 3, expected a list"),
        ('array = "x"', 'array = "y"', "got array 'x' without a reference, expected one"),
        ('[[arrays]]\nname = "x"', '[[arrays]]\nname = "y"', "got array 'y' twice"),
        ('name = "j"', 'name = "i"', "got loop 'i' twice"),
        ('["i", "j"]', f'["i", "{"-" * 5000}j"]', "nested too deeply"),
        ('["i", "j"]', f'["i", "{"j+" * 9000}j"]', "got 18,001 characters, expected at most 10,000"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in MATVEC
    with pytest.raises(DataError, match=message):
        read_nest(described(tmp_path, MATVEC.replace(old, new, 1)))


def test_expressions_are_polynomials() -> None:
    i, n = Polynomial.name("i"), Polynomial.name("n")
    assert parse_expression("2*i + n*(i - 1) - -3", "x") == Polynomial.number(2) * i + n * i - n + Polynomial.number(3)
    assert str(parse_expression("0", "x")) == "0"
    assert parse_expression("(i+1)*(i-1)", "x").bound({"i": 5}).constant == 24
