"""Selection on the logarithm: a power law by construction, the mean of a lognormal, the interval of its logarithm."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from mlperf.models import LogStepwiseOLS, StepwiseOLS

SIGMA = 0.3


@pytest.fixture(scope="module")
def power_law() -> tuple[pd.DataFrame, np.ndarray]:
    """Time 1e-3 2**u with lognormal noise; v has no influence."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 5, (2000, 2)), columns=["u", "v"])
    return frame, (1e-3 * 2.0 ** frame["u"]).to_numpy() * rng.lognormal(0.0, SIGMA, 2000)


def test_the_power_is_found_and_the_prediction_is_the_mean(power_law: tuple[pd.DataFrame, np.ndarray]) -> None:
    """E[exp(noise)] = exp(sigma**2 / 2); four standard errors of 2000 rows."""
    frame, y = power_law
    model = LogStepwiseOLS(["u", "v"]).fit(frame, y)
    assert "u" in model.model_.terms_
    assert model.model_.coef_[0] == pytest.approx(np.log(2.0), abs=4 * SIGMA / np.sqrt(2000 * np.var(frame["u"])))
    mean = 1e-3 * 2.0 ** frame["u"].to_numpy() * np.exp(SIGMA**2 / 2)
    assert np.mean(model.predict(frame) / mean) == pytest.approx(1.0, abs=4 * SIGMA / np.sqrt(2000))


def test_the_interval_is_that_of_the_logarithm(power_law: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, y = power_law
    model = LogStepwiseOLS(["u"]).fit(frame, y)
    logs = StepwiseOLS(terms=["u"], report="none").fit(frame, np.log(y)).predict_interval(frame, kind="run")
    interval = model.predict_interval(frame)
    np.testing.assert_allclose(np.log(interval.lower), logs.lower, rtol=1e-12)
    assert np.mean((interval.lower <= y) & (y <= interval.upper)) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 2000))
    assert model.in_domain(frame).all()
    assert not model.in_domain(frame.assign(u=9.0)).any()


def test_what_was_kept_is_said(power_law: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, y = power_law
    assert LogStepwiseOLS(["u", "v"], max_steps=0).fit(frame, y).choice_ == "2 of 2 terms"


def test_weights_are_those_of_the_fit_of_the_logarithm(power_law: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, y = power_law
    weight = np.random.default_rng(3).uniform(0.1, 5.0, len(y))
    model = LogStepwiseOLS(["u", "v"]).fit(frame, y, weight)
    logs = StepwiseOLS(terms=["u", "v"], report="none").fit(frame, np.log(y), weight)
    assert model.model_.terms_ == logs.terms_
    np.testing.assert_array_equal(model.model_.coef_, logs.coef_)
    assert model.smearing_ == pytest.approx(weight @ np.exp(np.log(y) - logs.predict(frame)) / weight.sum(), rel=1e-12)


def test_scikit_learn_contract() -> None:
    results = check_estimator(LogStepwiseOLS(), on_skip=None, on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
