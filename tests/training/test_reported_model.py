"""Warnings of the report: each planted once, none on a clean table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import UsageError
from mlperf.training.reported_model import model_report

pytestmark = pytest.mark.slow

N_ROWS = 240


def report(table: pd.DataFrame, **options: Any) -> Any:
    return model_report(mlperf.train(table, target="time_s", **options)).parts[0]


@pytest.fixture
def clean() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(1.0, 9.0, (2, N_ROWS))
    return pd.DataFrame({"a": a, "b": b, "time_s": (5.0 + 2.0 * a + 3.0 * b) * np.exp(0.02 * rng.standard_normal(N_ROWS))})


def test_a_clean_table_has_no_warning(clean: pd.DataFrame) -> None:
    part = report(clean, n_folds=2)
    assert part.warnings == ()
    assert part.left_out["mape"].iloc[0] < 0.03


def test_high_r2_beside_high_error_and_negative_predictions() -> None:
    rng = np.random.default_rng(4)
    size = 10.0 ** rng.uniform(0.0, 6.0, N_ROWS)
    table = pd.DataFrame({"size": size, "time_s": (size + 300.0 * np.sqrt(size)) * np.exp(0.02 * rng.standard_normal(N_ROWS))})
    part = report(table, noise="absolute", terms=["size"])
    assert part.fit.r2_adj > 0.9
    assert any("looks good, but left-out rows err by" in text for text in part.warnings)
    table = table.assign(time_s=np.maximum(size - 2e4, 5.0))
    assert any("negative predictions" in text for text in report(table, noise="absolute", terms=["size"]).warnings)


def test_collinear_columns(clean: pd.DataFrame) -> None:
    rng = np.random.default_rng(5)
    twin = clean["a"] + 0.05 * rng.standard_normal(N_ROWS)
    table = clean.assign(twin=twin, time_s=clean["time_s"] + 4.0 * twin)
    assert any("collinear" in text for text in report(table, terms=["a", "b", "twin"], lower=["a", "twin"], method="ols").warnings)


def test_extrapolation_when_groups_hold_different_sizes(clean: pd.DataFrame) -> None:
    table = clean.sort_values("a").assign(device=np.repeat(["d1", "d2", "d3"], N_ROWS // 3))
    assert any("extrapolation" in text for text in report(table, groups="device", terms=["a", "b"], method="ols").warnings)


def test_every_part_of_a_campaign_reports_beside_its_noise_floor(small_model: Any) -> None:
    found = model_report(small_model)
    table = found.to_frame()
    assert set(table["part"]) == set(small_model.gradient.kernels) | set(small_model.components)
    assert table[["r2_adj", "mape", "noise_floor"]].notna().all().all()
    assert found.absent == ("allreduce",)
    assert found.part("im2col").path["AIC"].is_monotonic_decreasing or len(found.part("im2col").path) == 1
    with pytest.raises(UsageError, match="im2co'"):
        found.part("im2co")


def test_groups_reach_the_report_of_every_part(small_model: Any) -> None:
    """Calls of one CNN, rows of one configuration; nothing of it for a table without groups."""
    for name, fits in small_model.gradient.kernels.items():
        found = fits["linear"].estimator.report_.clustered
        assert found is None or 2 <= found.n_groups <= len(small_model.cnns), name
    frame = model_report(small_model).to_frame()
    assert (frame["n_effective"] <= frame["n"]).all()
    assert frame["f_p_value_groups"].notna().sum() > len(frame) / 2


def test_a_table_s_groups_change_the_report_and_no_prediction(clean: pd.DataFrame) -> None:
    rng = np.random.default_rng(6)
    device = np.repeat(np.arange(12), N_ROWS // 12)
    table = clean.assign(device=device, time_s=clean["time_s"] * np.exp(0.1 * rng.standard_normal(12))[device])
    known, alone = (
        mlperf.train(table, target="time_s", terms=["a", "b"], method="ols", **options) for options in ({"groups": "device"}, {})
    )
    np.testing.assert_array_equal(known.predict(table), alone.predict(table))
    part, other = (model_report(model).parts[0] for model in (known, alone))
    assert part.fit.clustered.n_groups == 12
    assert part.fit.clustered.n_effective < N_ROWS / 4
    assert other.fit.clustered is None
    assert "p (groups)" in str(part.fit)
    assert np.isnan(model_report(alone).to_frame()["n_effective"].iloc[0])


def test_summaries_of_statsmodels_by_part(small_model: Any) -> None:
    found = model_report(small_model, ["im2col", "sum_gradient"]).statsmodels()
    assert list(found.summaries) == ["im2col", "sum_gradient"]
    assert all("WLS Regression Results" in str(text) for text in found.summaries.values())
    assert list(found.to_frame()["part"]) == ["im2col", "sum_gradient"]
