"""Gradient time of left-out networks on the whole bundled campaign: the bars that the project promises."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from mlperf.datasets import read_campaign
from mlperf.training.gradient.gradient_accuracy import accuracy_table, leave_groups_out, leave_one_cnn_out
from mlperf.training.gradient.gradient_characteristics import GradientCharacteristics
from mlperf.training.gradient.gradient_data import gradient_data
from mlperf.training.training import cnn_folds, fit_sgemm

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def described() -> Any:
    """Calls with the characteristics that a training offers unasked."""
    campaign = read_campaign("cpu-epyc")
    return GradientCharacteristics.of(campaign, gradient_data(campaign, fit_sgemm(campaign)), None)


@pytest.fixture(scope="module")
def data(described: Any) -> Any:
    return described.data


def test_the_campaign_is_wide_enough(data: Any) -> None:
    generated = data.steps[data.steps["cnn"].str.startswith("cnn")]
    assert generated["cnn"].nunique() >= 40
    assert generated.groupby("cnn")["subbatch_size"].nunique().min() >= 4
    assert data.steps["n_rounds"].min() >= 10
    assert generated["step_s"].max() / generated["step_s"].min() >= 50


def test_sum_of_kernels_is_the_step(data: Any) -> None:
    sums = data.calls.groupby(["cnn", "subbatch_size"])["time_s"].sum()
    steps = data.steps.set_index(["cnn", "subbatch_size"])["step_s"]
    ratio = sums / steps
    assert abs(ratio.mean() - 1.0) < 0.02
    assert (ratio - 1.0).abs().mean() < 0.05


@pytest.fixture(scope="module")
def mape(described: Any, data: Any) -> pd.Series[float]:
    """Three CNN-wise folds stand in for leaving out one at a time: their models have seen fewer networks, and err rather more."""
    folds = cnn_folds(list(data.steps["cnn"].unique()), 3, seed=0)
    left_out = leave_groups_out(data, folds, methods=("linear", "learnt"), table=described.table)
    return accuracy_table(left_out.steps, data, ("linear", "learnt")).set_index("method")["mape"]


def test_the_linear_model_predicts_unseen_networks(mape: pd.Series[float], data: Any) -> None:
    """Selection inside each fold; the bar is max(8 %, twice the noise floor)."""
    assert mape["linear"] <= max(0.08, 2.0 * data.noise_floor)


def test_the_learnt_residual_predicts_them_better(mape: pd.Series[float], data: Any) -> None:
    """The bar is max(5 %, 1.5 times the noise floor)."""
    assert mape["learnt"] <= max(0.05, 1.5 * data.noise_floor)
    assert mape["learnt"] < mape["linear"]


def test_one_network_at_a_time_is_left_out(described: Any, data: Any) -> None:
    few, options = data.only(["cnn00", "cnn01", "cnn02"]), {"methods": ("linear",), "table": described.table}
    folds = [["cnn00"], ["cnn01"], ["cnn02"]]
    found, expected = leave_one_cnn_out(few, **options).steps, leave_groups_out(few, folds, **options).steps
    pd.testing.assert_frame_equal(found, expected)
    assert found["linear_s"].notna().all()
