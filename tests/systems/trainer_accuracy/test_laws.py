"""Laws against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.trainer_accuracy.laws import power_law, proportional, straight_line


def test_a_power_law_continues_a_power_to_the_next_share() -> None:
    """Half the size takes a third of the time twice: 9 s, 3 s, then 1 s."""
    law = power_law(np.array([4.0, 4.0, 2.0]), np.array([9.0, 9.0, 3.0]))
    assert law(np.array([1.0])) == pytest.approx(1.0)


def test_with_one_size_a_power_law_is_a_proportion() -> None:
    law = power_law(np.array([2.0, 2.0]), np.array([3.0, 5.0]))
    assert law(np.array([4.0])) == pytest.approx(8.0)


def test_a_line_keeps_its_constant() -> None:
    law = straight_line(np.array([1.0, 3.0]), np.array([5.0, 9.0]))
    assert law(np.array([0.0, 10.0])) == pytest.approx([3.0, 23.0])


def test_a_line_with_a_negative_constant_becomes_a_power() -> None:
    """Through (1, 1) and (2, 4) a line would give -2 at 0: times stay positive."""
    law = straight_line(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    assert law(np.array([0.5])) == pytest.approx(0.25)


def test_a_proportion_is_the_mean_of_the_ratios() -> None:
    assert proportional(np.array([1.0, 2.0]), np.array([2.0, 8.0])).coefficient == pytest.approx(3.0)
