"""Laws against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.studies.trainer.laws import curve, proportional, straight_line


def test_below_the_smallest_size_a_curve_is_a_power() -> None:
    """Half the size takes a third of the time twice: 9 s, 3 s, then 1 s, where a line would give 0."""
    found = curve(np.array([4.0, 4.0, 2.0]), np.array([8.0, 10.0, 3.0]))
    assert found(np.array([1.0])) == pytest.approx([1.0])


def test_above_the_largest_size_the_marginal_cost_stays() -> None:
    """From 3 s at 2 to 9 s at 4: 3 s for each further one."""
    found = curve(np.array([4.0, 2.0]), np.array([9.0, 3.0]))
    assert found(np.array([3.0, 4.0, 6.0])) == pytest.approx([6.0, 9.0, 15.0])


def test_sizes_close_together_tell_no_slope() -> None:
    """4.0 and 4.1 would give a wild slope: from 2 and 4.1 it is 6/2.1."""
    found = curve(np.array([2.0, 4.0, 4.1]), np.array([3.0, 9.5, 9.0]))
    assert found(np.array([6.2])) == pytest.approx([15.0])


def test_with_one_size_a_curve_is_a_proportion() -> None:
    found = curve(np.array([2.0, 2.0]), np.array([3.0, 5.0]))
    assert found(np.array([1.0, 4.0])) == pytest.approx([2.0, 8.0])


def test_another_operation_has_the_same_shape() -> None:
    found = curve(np.array([4.0, 2.0]), np.array([9.0, 3.0])).scaled(2.0)
    assert found(np.array([2.0, 6.0])) == pytest.approx([6.0, 30.0])


def test_a_line_keeps_its_constant() -> None:
    law = straight_line(np.array([1.0, 3.0]), np.array([5.0, 9.0]))
    assert law(np.array([0.0, 10.0])) == pytest.approx([3.0, 23.0])


def test_a_line_with_a_negative_constant_becomes_a_proportion() -> None:
    """Through (1, 1) and (2, 4) a line would give -2 at 0: times stay positive."""
    law = straight_line(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    assert law(np.array([0.5])) == pytest.approx([0.75])


def test_a_proportion_is_the_mean_of_the_ratios() -> None:
    assert proportional(np.array([1.0, 2.0]), np.array([2.0, 8.0])).coefficient == pytest.approx(3.0)
