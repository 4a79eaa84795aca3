"""Loops that walk an array again: distinct bytes by brute force, misses where all of it stays in the cache."""

from __future__ import annotations

import pytest

from mlperf.features.source import loop_features, nest_addresses, parse_c
from mlperf.features.source.strides import Access, Addresses, Level, Work


def touched(addresses: Addresses) -> int:
    """Bytes of the distinct elements that a nest touches, counted one by one."""
    seen: set[tuple[str, int]] = set()

    def visit(item: Level | Work, offsets: dict[str, int]) -> None:
        if isinstance(item, Level):
            for trip in range(item.trips):
                for each in item.body:
                    visit(each, {**offsets, item.name: trip})
            return
        seen.update((access.array, element(access, offsets)) for access in item.accesses)

    def element(access: Access, offsets: dict[str, int]) -> int:
        first = sum(map(int.__mul__, access.offsets, access.dimension_strides))
        return first + sum(stride * offsets[name] for name, stride in access.strides.items())

    for level in addresses.levels:
        visit(level, {})
    return 4 * len(seen)


@pytest.mark.parametrize(
    "body",
    [
        "for (i = 0; i < 40; i++) x[i] = 1; for (i = 0; i < 40; i++) x[i] += 2;",
        "for (i = 0; i < 40; i++) x[i] = 1; for (i = 1; i < 39; i++) y[i] = x[i-1] + x[i+1];",
        "for (i = 0; i < 40; i++) x[i] = 1; for (i = 39; i >= 0; i--) y[i] = x[i];",
        "for (i = 0; i < 35; i++) x[i] = 1; for (i = 0; i < 5; i++) for (j = 0; j < 7; j++) y[j] += x[7*i + j];",
        "for (i = 0; i < 5; i++) for (j = 0; j < 7; j++) x[10*i + j] = 1; for (j = 2; j < 6; j++) y[j] += x[20 + j];",
        "for (i = 0; i < 5; i++) { for (j = 0; j < 9; j++) x[9*i + j] = 1; for (j = 0; j < 8; j++) y[j] = x[9*i + j + 1]; }",
        "for (i = 0; i < 20; i++) x[2*i] = 1; for (i = 0; i < 20; i++) x[2*i + 1] = 2;",
        "for (i = 0; i < 20; i++) x[i] = 1; for (i = 0; i < 20; i++) x[500 + i] = 2;",
    ],
)
def test_an_array_that_loops_walk_in_turn_counts_once(body: str) -> None:
    nests = parse_c(f"void f(float *x, float *y) {{ int i, j; {body} }}", "k.c")
    (footprint,) = loop_features(nests).frame.footprint_bytes
    assert footprint == touched(nest_addresses(nests[0]))


def test_what_a_loop_left_in_the_cache_is_not_fetched_again_by_the_next() -> None:
    text = "void f(float *x, int n) { for (int i = 0; i < n; i++) x[i] = 1; for (int i = 0; i < n; i++) x[i] += 2; }"
    small, large = (loop_features(parse_c(text, "k.c"), {"n": n}).frame.iloc[0] for n in (1600, 160_000))
    assert small.misses_l1 == pytest.approx(100, abs=1)
    assert large.misses_l1 == pytest.approx(2 * 10_000, abs=2)
