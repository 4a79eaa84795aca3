"""Decimals as whole numbers, against the decimal module."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlperf.traces.readers.chrome.numbers import NS_DIGITS, whole_numbers

pytestmark = pytest.mark.slow


def number(text: str, digits: int = NS_DIGITS) -> int | None:
    raw = text.encode()
    values, good = whole_numbers(np.frombuffer(raw + b" ", dtype=np.uint8), (np.array([0]), np.array([len(raw)])), digits)
    return int(values[0]) if good[0] else None


@given(st.decimals(min_value=-(10**12), max_value=10**12, places=3, allow_nan=False))
def test_three_decimals_of_a_microsecond_are_exact(value: Decimal) -> None:
    assert number(f"{value:f}") == int(value * 1000)


@given(st.decimals(min_value=0, max_value=10**9, places=6, allow_nan=False))
def test_more_decimals_are_rounded(value: Decimal) -> None:
    assert number(f"{value:f}") == int((value * 1000).quantize(Decimal(1), rounding=ROUND_HALF_UP))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1694128201429922", 1_694_128_201_429_922_000),
        ("1428625731896.179", 1_428_625_731_896_179),
        ("1e3", 1_000_000),
        ('"7.5"', 7500),
        ("null", None),
        ("-", None),
        ("99999999999999999999", None),
        ("NaN", None),
        ("Infinity", None),
        ("1e400", None),
        ("", None),
    ],
)
def test_what_is_a_number_and_what_is_none(text: str, expected: int | None) -> None:
    assert number(text) == expected


def test_epochs_lose_nothing_where_floats_would() -> None:
    assert number("1694128201429922.037") == 1_694_128_201_429_922_037
    assert float("1694128201429922.037") * 1000 != 1_694_128_201_429_922_037
