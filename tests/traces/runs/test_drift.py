"""A drift that was put in is found, and one that was not is hardly ever."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.runs.drift import find_drift


def test_a_steady_change_is_found() -> None:
    place = np.arange(24.0)
    groups = np.tile([0, 1, 1, 0], 6)
    noise = np.random.default_rng(0).lognormal(0, 0.01, 24)
    found = find_drift(np.where(groups, 2.0, 1.0) * np.exp(0.2 * place / 23) * noise, place, groups)
    assert found.is_present
    assert found.change == pytest.approx(np.expm1(0.2), abs=0.03)


def test_chance_is_seldom_taken_for_drift() -> None:
    rng = np.random.default_rng(2)
    place, groups = np.arange(24.0), np.tile([0, 1, 1, 0], 6)
    seen = sum(find_drift(rng.lognormal(0, 0.1, 24), place, groups).is_present for _ in range(2000))
    assert seen / 2000 < 0.02


def test_too_little_tells_nothing() -> None:
    assert np.isnan(find_drift(np.ones(5), np.arange(5.0), np.zeros(5, int)).p_value)
    same = find_drift(np.ones(8), np.arange(8.0), np.zeros(8, int))
    assert (same.change, same.p_value) == (0.0, 1.0)
    assert not same.is_present
