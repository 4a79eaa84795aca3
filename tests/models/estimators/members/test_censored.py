"""Selection with censored rows: R's where there are none, the truth where dropping them is wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from mlperf.core.errors import FitError
from mlperf.models import CensoredNormal, StepwiseOLS
from mlperf.models.storage.store import model_from_json, model_to_json

pytestmark = pytest.mark.slow

TERMS = ["a", "b", "a * b", "c", "log(c)"]


def table(n_rows: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    """Noise on 1 + a - b/2; c says nothing."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows), "c": rng.uniform(1.0, 5.0, n_rows)})
    y = 1.0 + frame["a"] - 0.5 * frame["b"] + 0.4 * rng.standard_normal(n_rows)
    return frame, y.to_numpy()


def test_without_censored_rows_the_selection_is_that_of_step() -> None:
    """`StepwiseOLS` is R's `step`, which the tests hold; AIC of both differs by a constant."""
    frame, y = table()
    model, step = CensoredNormal(TERMS).fit(frame, y), StepwiseOLS(terms=TERMS, noise="absolute").fit(frame, y)
    assert [*model.report_.coefficients.index] == [*step.report_.coefficients.index]
    assert model.predict(frame) == pytest.approx(step.predict(frame), rel=1e-9)
    ours, theirs = (each.report_.coefficients for each in (model, step))
    assert ours["coef"].to_numpy() == pytest.approx(theirs["coef"].to_numpy(), rel=1e-8)


def test_censored_rows_pull_the_line_to_where_it_is() -> None:
    """What is larger than 1 is cut: dropping those rows halves the slope, the likelihood does not."""
    frame, y = table(400)
    cut = y > 1.0
    model = CensoredNormal(TERMS).fit(frame, np.minimum(y, 1.0), cut)
    dropped = CensoredNormal(["a", "b"], select=False).fit(frame[~cut], y[~cut])
    found, biased = (each.report_.coefficients for each in (model, dropped))
    # Four standard errors; the truth is 1.
    assert abs(found.loc["a", "coef"] - 1.0) < 4.0 * found.loc["a", "std_err"]
    assert abs(biased.loc["a", "coef"] - 1.0) > 4.0 * biased.loc["a", "std_err"]
    assert {"a", "b"} <= set(model.terms_.names)
    assert model.report_.n_censored == cut.sum()


def test_intervals_hold_what_was_cut() -> None:
    frame, y = table(400)
    model = CensoredNormal(["a", "b"]).fit(frame, np.minimum(y, 1.0), y > 1.0)
    inside = model.predict_interval(frame, "run")
    share = np.mean((inside.lower <= y) & (y <= inside.upper))
    # Four standard errors of a share of 0.95 among 400.
    assert share == pytest.approx(0.95, abs=0.044)


def test_a_term_that_repeats_another_is_left_out() -> None:
    frame, y = table()
    model = CensoredNormal(["a", "b", "two"], select=False).fit(frame.assign(two=2.0 * frame["a"]), y)
    assert model.terms_.names == ("a", "b")


def test_the_file_gives_the_same_answers() -> None:
    frame, y = table()
    model = CensoredNormal(TERMS).fit(frame, np.minimum(y, 1.0), y > 1.0)
    again = model_from_json(model_to_json(model))
    assert model_to_json(again) == model_to_json(model)
    assert np.array_equal(again.predict(frame), model.predict(frame))
    for kind in ("mean", "run"):
        assert np.array_equal(again.predict_interval(frame, kind).upper, model.predict_interval(frame, kind).upper)
    pd.testing.assert_frame_equal(again.report_.path, model.report_.path)


def test_nothing_but_censored_rows_is_refused() -> None:
    frame, y = table(10)
    with pytest.raises(FitError, match="not censored"):
        CensoredNormal(["a"]).fit(frame, y, np.ones(10, bool))


def test_weights_count_rows_in_every_figure() -> None:
    """Coefficients, errors, likelihood and AIC, with rows that were cut, are those of repeated rows, as R's ``survreg`` has it."""
    frame, y = table()
    cut, weight = y > 1.0, np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    found = CensoredNormal(TERMS).fit(frame, np.minimum(y, 1.0), cut, sample_weight=weight).report_
    repeated = CensoredNormal(TERMS).fit(frame.iloc[rows], np.minimum(y, 1.0)[rows], cut[rows]).report_
    pd.testing.assert_frame_equal(found.coefficients, repeated.coefficients, rtol=1e-6)
    pd.testing.assert_frame_equal(found.path, repeated.path, rtol=1e-9)
    assert (found.sigma, found.log_likelihood) == pytest.approx((repeated.sigma, repeated.log_likelihood), rel=1e-9)
    assert found.n_rows == (weight > 0).sum()


def test_shares_for_weights_are_refused() -> None:
    frame, y = table()
    with pytest.raises(FitError, match="got 1 rows that are not censored, expected more than 1") as refused:
        CensoredNormal(["a"]).fit(frame, y, sample_weight=np.full(len(y), 1.0 / len(y)))
    assert "number of its repeats" in str(refused.value.hint)


def test_scikit_learn_contract() -> None:
    failed = [
        each["check_name"] for each in check_estimator(CensoredNormal(), on_skip=None, on_fail=None) if each["status"] == "failed"
    ]
    assert failed == []
