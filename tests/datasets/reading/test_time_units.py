"""Units of time are told by how a column's name ends."""

from __future__ import annotations

import pytest

from mlperf.datasets.reading.time_units import seconds_in, unit_ratio


def test_the_unit_of_a_name() -> None:
    assert [seconds_in(name) for name in ("a_s", "a_ms", "a_us", "a_ns", "a", "ms")] == [1.0, 1e-3, 1e-6, 1e-9, None, None]


def test_values_are_brought_to_the_unit_of_another_name() -> None:
    """Names without a unit are left alone."""
    assert [unit_ratio(own, "step_s") for own in ("a_s", "a_ms", "a_us", "a_ns", "a")] == pytest.approx([1, 1e-3, 1e-6, 1e-9, 1])
    assert unit_ratio("a_s", "b_us") == pytest.approx(1e6)
    assert unit_ratio("a_ms", "speed") == 1.0
