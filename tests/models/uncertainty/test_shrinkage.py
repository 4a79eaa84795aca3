"""Shrunken shifts of groups: exact limits, and less error than both extremes when drawn from their own model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlperf.models.uncertainty.shrinkage import shrunken_samples, shrunken_shifts


def test_groups_without_noise_keep_their_means() -> None:
    found = shrunken_shifts(np.array([0.3, 0.3, -0.1, -0.1]), np.array([0, 0, 1, 1]), 2)
    assert_allclose(found.weight, 1.0)
    assert_allclose(found.shift, [0.3, -0.1])
    assert found.within_std == 0.0


def test_groups_that_differ_less_than_their_rows_are_one() -> None:
    found = shrunken_shifts(np.array([1.0, -1.0, 1.1, -1.1]), np.array([0, 0, 1, 1]), 2)
    assert_allclose(found.shift, 0.0)


def test_single_rows_tell_nothing_and_absent_groups_have_no_shift() -> None:
    assert_allclose(shrunken_shifts(np.array([0.5, -0.4]), np.array([0, 1]), 2).shift, 0.0)
    found = shrunken_shifts(np.array([0.3, 0.3, -0.1, -0.1]), np.array([0, 0, 2, 2]), 3)
    assert_allclose(found.shift, [0.3, 0.0, -0.1])


@pytest.mark.parametrize(("between", "within"), [(0.1, 0.1), (0.05, 0.2), (0.3, 0.05)])
def test_it_errs_about_as_little_as_the_better_of_own_means_and_no_shift(between: float, within: float) -> None:
    rng = np.random.default_rng(1)
    group_of = np.repeat(np.arange(12), [2, 3, 4] * 4)
    errors = np.zeros(3)
    for _ in range(400):
        truth = between * rng.standard_normal(12)
        rows = truth[group_of] + within * rng.standard_normal(len(group_of))
        means = np.bincount(group_of, rows) / np.bincount(group_of)
        found = shrunken_shifts(rows, group_of, 12).shift
        errors += [np.mean((guess - truth) ** 2) for guess in (found, means, np.zeros(12))]
    assert errors[0] <= 1.3 * errors[1:].min()
    assert errors[0] <= 0.7 * errors[1:].max()


def test_the_variances_are_those_planted() -> None:
    rng = np.random.default_rng(2)
    group_of = np.repeat(np.arange(2000), 3)
    rows = (0.2 * rng.standard_normal(2000))[group_of] + 0.1 * rng.standard_normal(6000)
    found = shrunken_shifts(rows, group_of, 2000)
    assert_allclose([found.between_std, found.within_std], [0.2, 0.1], rtol=0.05)
    assert_allclose(found.weight, 0.04 / (0.04 + 0.01 / 3), rtol=0.02)


def test_samples_at_once_are_those_one_by_one() -> None:
    """The first has no group with two rows."""
    rows, group_of = np.random.default_rng(2).standard_normal((3, 4)), np.array([[0, 1, 2, 3], [0, 0, 1, 4], [2, 2, 2, 2]])
    found = shrunken_samples(rows, group_of, 5)
    for at in range(3):
        alone = shrunken_shifts(rows[at], group_of[at], 5)
        np.testing.assert_array_equal(found.shift[at], alone.shift)
        np.testing.assert_array_equal(found.weight[at], alone.weight)
        assert (found.between_std[at], found.within_std[at]) == (alone.between_std, alone.within_std)
    assert found.within_std[0] == pytest.approx(np.sqrt(np.mean(rows[0] ** 2)))
