"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, number_text, percent_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.012345, "0.01235"),
        (1.0, "1.000"),
        (12.3456, "12.35"),
        (123456.7, "123,457"),
        (-0.5, "-0.5000"),
        (3.21e-7, "3.21e-07"),
        (1.5e12, "1.50e+12"),
        (math.nan, "-"),
        (math.inf, "inf"),
    ],
)
def test_number_text(value: float, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.08, "8.00 %"), (0.123456, "12.3 %"), (-0.005, "-0.50 %"), (math.nan, "-")])
def test_percent_text(value: float, text: str) -> None:
    assert percent_text(value) == text


@pytest.mark.parametrize(
    ("values", "unit"),
    [([2025.0, 2316.0], "min"), ([0.7111, 0.0001], "ms"), ([0.0, math.nan], "s"), ([1e-9], "us"), ([7200.0], "h"), ([1.0], "s")],
)
def test_best_unit(values: list[float], unit: str) -> None:
    assert best_unit(values, TIME_UNITS_S, "s") == unit
