"""The estimator's contract: scikit-learn's checks, algebraic properties, scaling, storage, hostile input."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.models.estimators.stepwise import stepwise_fit
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.inference.inference import infer
from mlperf.models.storage.store import model_from_json, model_to_json

pytestmark = pytest.mark.slow


def data(seed: int, n: int = 40, p: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) @ np.triu(rng.normal(size=(p, p)) * 0.4 + np.eye(p))
    return x, x[:, : p // 2] @ rng.normal(size=p // 2) + rng.normal(size=n)


def fit(x: np.ndarray, y: np.ndarray, **how: object) -> StepwiseOLS:
    return StepwiseOLS(report="none", **how).fit(x, y)


def lstsq_rss(x: np.ndarray, y: np.ndarray) -> float:
    columns = np.column_stack([np.ones(len(y)), x])
    rest = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    return float(rest @ rest)


@pytest.mark.parametrize("noise", ["absolute", "relative"])
def test_scikit_learn_finds_no_failure(noise: str) -> None:
    results = check_estimator(StepwiseOLS(noise=noise), on_skip=None, on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_drop_scores_equal_refits(seed: int) -> None:
    x, y = data(seed)
    trace = fit(x, y).trace_
    first = trace[trace["step"] == 1].set_index("term")["rss"]
    for column in range(x.shape[1]):
        assert first[f"- x{column}"] == pytest.approx(lstsq_rss(np.delete(x, column, axis=1), y), rel=1e-10)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_add_scores_equal_refits(seed: int) -> None:
    x, y = data(seed)
    trace = fit(x, y, direction="forward").trace_
    first = trace[trace["step"] == 1].set_index("term")["rss"]
    for column in range(x.shape[1]):
        assert first[f"+ x{column}"] == pytest.approx(lstsq_rss(x[:, [column]], y), rel=1e-10)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(-30, 30))
def test_powers_of_two_change_no_bit_of_the_selection(seed: int, power: int) -> None:
    x, y = data(seed)
    plain, scaled = fit(x, y), fit(x * 2.0**power, y * 2.0 ** (power // 2))
    assert scaled.terms_ == plain.terms_
    np.testing.assert_array_equal(scaled.coef_ * 2.0 ** (power - power // 2), plain.coef_)
    shift = len(y) * np.log(2.0 ** (2 * (power // 2)))
    np.testing.assert_allclose(scaled.path_["AIC"] - plain.path_["AIC"], shift, rtol=1e-10, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 100.0))
def test_weights_count_only_by_their_ratios(seed: int, factor: float) -> None:
    x, y = data(seed)
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, len(y))
    plain = StepwiseOLS(report="none").fit(x, y, sample_weight=weights)
    more = StepwiseOLS(report="none").fit(x, y, sample_weight=factor * weights)
    assert more.terms_ == plain.terms_
    np.testing.assert_allclose(more.path_["AIC"] - plain.path_["AIC"], len(y) * np.log(factor), rtol=1e-8, atol=1e-7)
    np.testing.assert_allclose(more.report_.coefficients["std_err"], plain.report_.coefficients["std_err"], rtol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_the_order_of_rows_and_columns_does_not_matter(seed: int) -> None:
    x, y = data(seed)
    frame = pd.DataFrame(x, columns=list("abcdef"))
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))
    shuffled = frame.iloc[rows, rng.permutation(6)]
    first, second = StepwiseOLS(report="none").fit(frame, y), StepwiseOLS(report="none").fit(shuffled, y[rows])
    assert set(first.terms_) == set(second.terms_)
    np.testing.assert_allclose(second.predict(shuffled), first.predict(frame)[rows], rtol=1e-9, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_a_duplicate_column_changes_nothing(seed: int) -> None:
    x, y = data(seed)
    plain, doubled = fit(x, y), fit(np.column_stack([x, x[:, 2]]), y)
    assert doubled.aliased_ == {"x6": "x6 = x2"}
    assert doubled.terms_ == plain.terms_
    np.testing.assert_allclose(doubled.coef_, plain.coef_, rtol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_no_step_makes_the_criterion_worse(seed: int) -> None:
    x, y = data(seed)
    for direction in ("backward", "forward", "both"):
        assert (np.diff(fit(x, y, direction=direction).path_["AIC"]) < 1e-7).all()


def test_columns_of_any_scale_give_the_scaled_answer() -> None:
    x, y = data(3, n=80, p=8)
    scales = 10.0 ** np.array([-9, 12, -3, 5, 0, 9, -6, 2])
    plain, wild = fit(x, y), fit(x * scales, y)
    assert wild.terms_ == plain.terms_
    kept = [int(term[1:]) for term in plain.terms_]
    np.testing.assert_allclose(wild.coef_ * scales[kept], plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(wild.predict(x * scales), plain.predict(x), rtol=1e-9)


def test_a_large_table_takes_the_product_path_to_the_same_answer() -> None:
    x, y = data(5, n=6000, p=8)
    large = fit(x + 30.0, y)
    assert large._fitted.report._fit is not None
    order = np.column_stack([np.ones(len(y)), x[:, [int(term[1:]) for term in large.terms_]] + 30.0])
    expected = np.linalg.lstsq(order, y, rcond=None)[0]
    np.testing.assert_allclose(np.append(large.intercept_, large.coef_), expected, rtol=1e-9)
    results = large.report_.statsmodels_results()
    np.testing.assert_allclose(results.bse, large.report_.coefficients["std_err"], rtol=1e-8)
    np.testing.assert_allclose(results.params, large.report_.coefficients["coef"], rtol=1e-8)


def test_statsmodels_agrees_without_a_constant() -> None:
    x, y = data(8)
    model = fit(x, y + 5.0, fit_intercept=False)
    results = model.report_.statsmodels_results()
    assert results.rsquared == pytest.approx(model.report_.r2_uncentered, rel=1e-12)
    assert model.report_.r2 < model.report_.r2_uncentered
    np.testing.assert_allclose(results.tvalues, model.report_.coefficients["t_value"], rtol=1e-9)


def test_a_constant_model_has_no_r2() -> None:
    rng = np.random.default_rng(1)
    model = fit(rng.normal(size=(50, 2)), rng.normal(size=50), criterion="bic", k=100.0)
    assert model.terms_ == ()
    assert model.report_.r2_adj == 0.0


def test_relative_noise_weighs_by_the_square_of_y() -> None:
    x, _ = data(2)
    y = np.exp(x[:, 0] * 0.5 + 3.0)
    relative = fit(x, y, noise="relative")
    weighted = StepwiseOLS(report="none").fit(x, y, sample_weight=1.0 / y**2)
    assert relative.terms_ == weighted.terms_
    np.testing.assert_array_equal(relative.coef_, weighted.coef_)
    assert relative.report_.r2_adj_unweighted is not None
    with pytest.raises(FitError, match="expected a value > 0"):
        fit(x, y - y.max(), noise="relative")


def test_an_unknown_level_is_refused() -> None:
    frame = pd.DataFrame({"kind": ["a", "b", "c"] * 10, "x": np.arange(30.0)})
    y = frame["x"] + (frame["kind"] == "b") * 5 + np.random.default_rng(0).normal(size=30)
    model = StepwiseOLS(report="none").fit(frame, y)
    with pytest.raises(DataError, match="got the level 'd', expected one of a, b, c"):
        model.predict(pd.DataFrame({"kind": ["d"], "x": [1.0]}))


def test_missing_values_are_named() -> None:
    frame = pd.DataFrame({"kind": ["a", None, "b", "a"] * 5, "x": np.arange(20.0)})
    with pytest.raises(DataError, match="row 2, column kind"):
        StepwiseOLS().fit(frame, np.arange(20.0))


def test_formulas_are_never_executed() -> None:
    frame = pd.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0) ** 2})
    with pytest.raises(UsageError, match="expected one of"):
        StepwiseOLS.from_formula("y ~ system(x)", frame)
    with pytest.raises(UsageError):
        StepwiseOLS.from_formula("y ~ x.__class__()", frame)
    with pytest.raises(UsageError, match="nesting"):
        StepwiseOLS.from_formula("y ~ " + "(" * 5000 + "x" + ")" * 5000, frame)


def test_term_lists_are_arithmetic() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.uniform(1, 9, size=(60, 3)), columns=list("mnk"))
    y = 2.0 * frame.m * frame.n * frame.k + 3.0 * np.log2(frame.n) + rng.normal(size=60)
    model = StepwiseOLS(terms=["m*n*k", "log2(n)", "1/k", "1"], report="none").fit(frame, y)
    assert "I(m * n * k)" in model.terms_
    assert model.coef_[0] == pytest.approx(2.0, rel=0.05)
    again = StepwiseOLS(terms=model.terms_, report="none").fit(frame, y)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_storage_is_bit_equal_and_small() -> None:
    frame = pd.DataFrame({"kind": ["a", "b", "c"] * 20, "x": np.linspace(1, 7, 60)})
    y = frame["x"] * (1 + (frame["kind"] == "b")) + np.random.default_rng(0).normal(size=60) + 10
    model = StepwiseOLS.from_formula("y ~ kind * poly(x, 2)", frame.assign(y=y))
    stored = model_to_json(model)
    again = model_from_json(stored)
    assert len(stored) < 64 * 1024
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again.predict_interval(frame, kind="run").upper, model.predict_interval(frame, kind="run").upper)
    np.testing.assert_array_equal(again.in_domain(frame), model.in_domain(frame))
    assert model_to_json(again) == stored
    assert again.report_.r2_adj == model.report_.r2_adj


def test_pipelines_clones_and_pickles() -> None:
    x, y = data(11)
    piped = make_pipeline(StandardScaler(), StepwiseOLS(report="none")).fit(x, y)
    np.testing.assert_allclose(piped.predict(x), fit(x, y).predict(x), rtol=1e-9)
    model = pickle.loads(pickle.dumps(fit(x, y)))  # noqa: S301 - our own object
    np.testing.assert_array_equal(model.predict(x), fit(x, y).predict(x))
    assert clone(StepwiseOLS(criterion="bic", terms=["x0"])).criterion == "bic"


def test_the_report_shows_itself() -> None:
    x, y = data(13)
    model = StepwiseOLS(ordered=True).fit(x, np.exp(y))
    text = model.report_.text()
    assert "p (naive)" in text
    assert "Durbin-Watson" in text
    assert "<table" in model.report_._repr_html_()
    assert model.report_.to_dict()["figures"]["r2_adj"] == model.report_.r2_adj


def test_the_report_says_what_other_criteria_keep() -> None:
    x, y = data(17, n=60, p=8)
    model = StepwiseOLS().fit(x, y)
    others = model.report_.other_choices
    assert set(others) == {"aicc", "bic"}
    for name, terms in others.items():
        assert terms == fit(x, y, criterion=name).terms_
    assert fit(x, y).report_.other_choices == {}


def test_statsmodels_agrees_at_any_scale_and_with_weights() -> None:
    x, y = data(3, n=80, p=8)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 80)
    model = StepwiseOLS(report="none").fit(x * 10.0 ** np.array([-9, 12, -3, 5, 0, 9, -6, 2]), y, sample_weight=weights)
    table, results = model.report_.coefficients, model.report_.statsmodels_results()
    for ours, theirs in (
        ("coef", "params"),
        ("std_err", "bse"),
        ("t_value", "tvalues"),
        ("p_value", "pvalues"),
        ("std_err_hc3", "HC3_se"),
    ):
        np.testing.assert_allclose(getattr(results, theirs), table[ours], rtol=1e-8)
    assert results.rsquared_adj == pytest.approx(model.report_.r2_adj, rel=1e-10)
    assert results.fvalue == pytest.approx(model.report_.f_value, rel=1e-8)
    assert list(results.model.exog_names) == list(table.index)


def test_negative_costs_are_warned_of() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"flops": rng.uniform(1, 9, 50), "cached": rng.uniform(1, 9, 50)})
    time_s = 30.0 + frame["flops"] - 2.0 * frame["cached"] + rng.normal(size=50)
    warnings = StepwiseOLS(report="none").fit(frame, time_s).report_.warnings
    assert "negative coefficient of a column that is never negative: cached" in warnings


@pytest.mark.parametrize("k", ["a", True, float("nan"), [2.0], -1])
def test_what_is_no_cost_of_a_coefficient_is_refused(k: Any) -> None:
    with pytest.raises(UsageError, match=r"got k=.*, expected a number"):
        StepwiseOLS(k=k).fit(np.arange(12.0)[:, np.newaxis], np.arange(12.0))


def test_a_response_whose_square_is_no_number_is_refused_by_its_row_from_1() -> None:
    y = np.arange(12.0)
    y[3] = 1e300
    with pytest.raises(DataError, match=r"^y, row 4: got 1e\+300, expected values of y up to 1e\+150"):
        StepwiseOLS().fit(np.arange(12.0)[:, np.newaxis], y)


def test_a_report_is_made_when_it_is_read_and_goes_along_when_a_fit_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits in folds are never asked for theirs; a copy has no rows of the search to make it from."""
    made = []
    monkeypatch.setattr(stepwise_fit, "infer", lambda rows: made.append(rows) or infer(rows))
    model = fit(*data(3))
    model.predict_interval(data(3)[0], kind="run")
    assert not made
    copy = deepcopy(model)
    assert len(made) == 1
    assert str(copy.report_) == str(model.report_)
    assert len(made) == 1
    with pytest.raises(AttributeError, match="no report before fit"):
        StepwiseOLS().report_  # noqa: B018 - read for its error
