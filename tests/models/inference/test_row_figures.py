"""Numbers of the rows that a report keeps: those of R and scipy, and the same text from a file."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS

from mlperf.core.errors import DataError
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.inference.row_figures import RowFigures, moments
from mlperf.models.storage.store import model_from_json, model_to_json

pytestmark = pytest.mark.slow


def table(n_rows: int = 60) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(1.0, 9.0, n_rows), "b": rng.uniform(1.0, 9.0, n_rows), "fixed": 5.0})
    return frame, pd.Series((3.0 + 2.0 * frame["a"]) * (1.0 + 0.05 * rng.standard_normal(n_rows)), name="time (s)")


def test_moments_are_those_of_scipy() -> None:
    values = np.random.default_rng(1).gamma(2.0, 1e-9, 50)
    assert moments(values) == pytest.approx((stats.skew(values), stats.kurtosis(values, fisher=False)))
    assert np.isnan(moments(np.full(4, 2.0))).all()


def test_the_printed_numbers_are_those_of_statsmodels() -> None:
    """Bounds of the coefficients, log-likelihood, quartiles of the residuals, their moments."""
    frame, y = table()
    model = StepwiseOLS(terms=["a"], max_steps=0, report="none").fit(frame, y)
    theirs = OLS(y, pd.DataFrame({"(Intercept)": 1.0, "a": frame["a"]})).fit()
    text = model.report_.text()
    bounds = theirs.conf_int().to_numpy()
    row = next(line for line in text.splitlines() if line.startswith("a "))
    assert [float(cell) for cell in row.split()[6:8]] == pytest.approx(bounds[1], rel=1e-4)
    assert model.report_.log_likelihood == pytest.approx(theirs.llf)
    assert f"log-likelihood {theirs.llf:.5f}"[:22] in text
    quarters = np.quantile(theirs.resid, [0.0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(model.report_.row_figures.residual_quarters, quarters, rtol=1e-9)
    assert f"min {quarters[0]:.3f}, 1Q {quarters[1]:.4f}" in text
    assert f"skewness {stats.skew(theirs.resid):.2f}, kurtosis {stats.kurtosis(theirs.resid, fisher=False):.2f}" in text


@pytest.mark.parametrize("noise", ["absolute", "relative"])
@pytest.mark.parametrize("n_rows", [3, 8, 60])
def test_a_read_report_prints_the_same(noise: str, n_rows: int) -> None:
    frame, y = table(n_rows)
    groups = np.arange(n_rows) // 3 if n_rows == 60 else None
    model = StepwiseOLS(noise=noise, ordered=n_rows == 60).fit(frame, y, groups=groups)
    again = model_from_json(model_to_json(model))
    assert again.report_.text() == model.report_.text()
    np.testing.assert_array_equal(again.report_.coefficients, model.report_.coefficients)


def test_the_target_names_the_left_side_and_constants_are_set_aside() -> None:
    frame, y = table()
    lines = StepwiseOLS(report="none").fit(frame, y).report_.text().splitlines()
    assert lines[0] == "`time (s)` ~ a"
    assert "constant, set aside: fixed = 5" in lines
    assert not any(line.startswith("aliased") for line in lines)


def test_few_rows_are_said_to_be_few() -> None:
    frame, y = table(9)
    assert "few rows: 9 rows for 2 coefficients" in StepwiseOLS(report="none").fit(frame, y).report_.text()
    frame, y = table(10)
    assert "few rows" not in StepwiseOLS(report="none").fit(frame, y).report_.text()
    wide = pd.DataFrame(np.random.default_rng(0).standard_normal((14, 4)))
    warnings = StepwiseOLS(max_steps=0, report="none").fit(wide.to_numpy(), np.arange(14.0)).report_.warnings
    assert "measure at least 15" in warnings[0]


@pytest.mark.parametrize("noise", ["absolute", "relative"])
@pytest.mark.parametrize("n_rows", [3, 5, 12])
def test_an_exact_fit_is_reported_without_a_warning_of_numpy(noise: str, n_rows: int, recwarn: pytest.WarningsRecorder) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.integers(1, 9, (n_rows, 2)).astype(float), columns=["a", "b"])
        assert StepwiseOLS(noise=noise).fit(frame, 1.0 + 2.0 * frame["a"]).report_.text()
    assert not recwarn.list


def test_a_spoilt_file_is_refused() -> None:
    frame, y = table()
    stored = StepwiseOLS(report="none").fit(frame, y).report_.row_figures.to_dict()
    document = json.loads(json.dumps(stored))
    assert RowFigures.from_dict(document, "$", 2).tests.keys() == {"breusch_pagan", "white", "reset", "shapiro"}
    with pytest.raises(DataError) as caught:
        RowFigures.from_dict(document | {"residual_quarters": [1.0]}, "$", 2)
    assert caught.value.place == "$.residual_quarters"
