"""Columns by role: indifferent to the names of arrays, sums of the cache model, brackets of the capacity."""

from __future__ import annotations

import pytest

from mlperf.features.source import DEFAULT_CACHES, loop_features, parse_c, pattern_nest
from mlperf.features.source.roles import capacity_ladder, role_cells
from mlperf.features.source.strides import Addresses, nest_addresses

N = {"N": 40}


def row(pattern: str) -> dict[str, float]:
    return values(nest_addresses(pattern_nest(pattern), N))


def values(addresses: Addresses) -> dict[str, float]:
    return {column.name: value for column, value in role_cells(addresses, DEFAULT_CACHES)}


@pytest.mark.parametrize("pattern", ["ij-jlk-kil", "li-kji-ljk", "ij-ikl-jkl"])
def test_exchanged_operands_have_equal_columns(pattern: str) -> None:
    result, first, second = pattern.split("-")
    assert row(pattern) == pytest.approx(row(f"{result}-{second}-{first}"), rel=1e-12)


def test_kinds_of_one_pattern_by_hand() -> None:
    """A[i][j] += B[j][l][k] * C[k][i][l] with loops i, j, k, l: along l A stands still, B steps by a row, C by one element."""
    found = row("ij-jlk-kil")
    assert found["result_invariant1"] == 1
    assert found["operand_row1"] == 1
    assert found["operand_unit1"] == 1
    assert found["operand_unit2"] == 1
    assert found["operand_plane2"] == 1
    assert found["result_unit3"] == 1
    assert sum(found[f"operand_{kind}1"] for kind in ("invariant", "unit", "row", "plane", "other")) == 2


def test_totals_are_those_of_the_cache_model() -> None:
    """Misses per execution of the innermost statement are the model's misses over N^4, and the parts add up to them."""
    whole = loop_features([pattern_nest("ij-jlk-kil")], N).frame
    found = row("ij-jlk-kil")
    for name in ("l1", "l2", "tlb"):
        assert found[f"{name}_misses"] == pytest.approx(whole[f"misses_{name}"].iloc[0] / 40**4, rel=1e-12)
        if name == "l1":
            continue
        parts = sum(value for column, value in found.items() if column.startswith((f"{name}_result_", f"{name}_operand_")))
        assert parts == pytest.approx(found[f"{name}_misses"], rel=1e-12)


def test_larger_caches_miss_less() -> None:
    found = row("li-kji-ljk")
    ladder = [found[f"l2{word}_misses"] for word in ("_half", "", "_twice", "_fourfold")]
    assert ladder == sorted(ladder, reverse=True)
    assert [rung.cache.size_bytes for rung in capacity_ladder() if rung.cache.name.startswith("l1")] == [
        factor * DEFAULT_CACHES[0].size_bytes // 2 for factor in (1, 2, 4)
    ]


def test_any_nest_has_roles() -> None:
    """A matrix times a vector in C: the sum is the result, matrix and vector are operands."""
    loops = "for (int i = 0; i < 30; i++) for (int j = 0; j < 30; j++) y[i] += a[i][j] * x[j];"
    source = f"void f(float y[30], float a[30][30], float x[30]) {{ {loops} }}"
    (nest,) = parse_c(source, "matvec.c")
    found = values(nest_addresses(nest, {}))
    assert found["result_invariant1"] == 1
    assert found["operand_unit1"] == 2
    assert found["operand_row2"] == 1
