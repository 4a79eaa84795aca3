"""Ceilings against what they must be by construction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.models.validation.scores import r2
from mlperf.studies.kernels import KernelTimes
from mlperf.studies.kernels.ceilings import equal_feature_ceiling, group_ceiling, noise_ceiling
from mlperf.studies.kernels.feature_sets import total_columns
from mlperf.studies.kernels.tables.kernel_times import choose_setting


def test_no_model_of_these_columns_beats_the_means_of_equal_rows() -> None:
    """The best prediction under squared error is the group's mean: compare with a saturated fit by numpy."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, 200)
    y = codes + rng.standard_normal(200)
    saturated = np.eye(5)[codes]
    fit = saturated @ np.linalg.lstsq(saturated, y, rcond=None)[0]
    assert equal_feature_ceiling(pd.DataFrame({"a": codes, "b": codes**2}), y) == pytest.approx(r2(fit, y), abs=1e-12)
    assert equal_feature_ceiling(pd.DataFrame({"a": np.arange(200)}), y) == pytest.approx(1.0)


def test_the_noise_ceiling_is_that_of_the_noise() -> None:
    """Halves that differ by Gaussian noise of known size: R² is 1 - 2 s² / (v + s²), MAPE E|exp(d) - 1|."""
    rng = np.random.default_rng(1)
    true = np.exp(rng.standard_normal(40_000))
    first, second = (true * np.exp(0.02 * rng.standard_normal(40_000)) for _ in range(2))
    found = noise_ceiling(first, second, (first + second) / 2, np.arange(40_000))
    assert found.mape == pytest.approx(0.02 * np.sqrt(2) * np.sqrt(2 / np.pi), rel=0.02)
    assert found.n_twins == 0
    assert np.isnan(found.twin_r2)


def test_without_repeats_the_ceiling_is_unknown() -> None:
    nothing = np.full(4, np.nan)
    found = noise_ceiling(nothing, nothing, np.array([1.0, 1.1, 2.0, 2.2]), np.array([0, 0, 1, 1]))
    assert np.isnan(found.r2)
    assert found.n_rows == 0
    assert found.n_twins == 4
    assert found.twin_mape == pytest.approx(np.mean([0.1, 1 - 1 / 1.1, 0.1, 1 - 1 / 1.1]))
    assert group_ceiling(nothing, nothing, np.array([1.5])) is None


def test_the_sweep_s_ceilings(open_sweep: KernelTimes) -> None:
    """Runs 1-2 against 3-5: R² 0.972 and MAPE 5.7 % as its README says; counts alone end near R² 0.90."""
    rows = open_sweep.sweep(choose_setting(open_sweep, build="gcc_O2_sse3_fast", N=100, pattern_set="contraction864"))
    halves = (rows.frame["half_a_s"].to_numpy(), rows.frame["half_b_s"].to_numpy())
    found = noise_ceiling(*halves, rows.time_s, rows.groups)
    assert found.r2 == pytest.approx(0.972, abs=0.006)
    assert found.mape == pytest.approx(0.057, abs=0.006)
    assert equal_feature_ceiling(total_columns(rows), rows.time_s) == pytest.approx(0.90, abs=0.03)
