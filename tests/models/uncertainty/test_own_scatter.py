"""Scatter of measurements by themselves: repeats by hand, nothing of one, more than was guessed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mlperf.models.uncertainty.own_scatter import OwnScatter, own_scatter

SPREAD, GUESS = np.array([0.06]), np.array([0.03**2])


def scatter_of(ratio: list[float], variance: float = 0.03**2) -> OwnScatter:
    n = len(ratio)
    return own_scatter(SPREAD, np.ones((n, 1)), np.array(ratio), np.zeros(n, np.int64), np.array([variance]), GUESS, 3.0)


def test_repeats_are_as_many_as_rows_but_one() -> None:
    assert scatter_of([0.1]).n_repeats[0] == pytest.approx(0.0, abs=0.01)
    assert scatter_of([0.1, 0.11]).n_repeats[0] == pytest.approx(1.0, abs=0.01)
    assert scatter_of([0.1, 0.11, 0.12, 0.1]).n_repeats[0] == pytest.approx(3.0, abs=0.01)


def test_scatter_as_guessed_is_no_surprise() -> None:
    found = scatter_of([0.50, 0.51, 0.49])
    assert found.surprise[0] == 0.0
    assert found.bound_std(0.95)[0] == pytest.approx(0.03)


def test_scatter_far_beyond_the_guess_is_students() -> None:
    ratio = [0.0, 3.0, -2.0, 1.0, -2.0, 2.0]
    found = scatter_of(ratio, variance=3.0)
    half = found.bound_std(0.95)[0] * stats.norm.ppf(0.975)
    # Six rows, one mean; shrunk to no mean by the least spread of 0.5 only.
    assert half == pytest.approx(stats.t.ppf(0.975, 5) * np.std(ratio, ddof=1), rel=0.1)
    assert found.surprise[0] == pytest.approx(1.0, abs=0.001)
