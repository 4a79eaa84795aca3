"""Cluster-robust tests against statsmodels, the intraclass correlation against a published example, what groups cannot tell."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS, WLS

from mlperf.core.errors import DataError
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.inference.clustered import (
    RowGroups,
    design_effect,
    group_numbers,
    intraclass_correlation,
    robust_factor,
    sandwich_factor,
)
from mlperf.models.storage.store import model_from_json, model_to_json


def grouped(sizes: tuple[int, ...], seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Rows with a common error in each group; one column varies within groups, one only between them, one spans decades."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    frame = pd.DataFrame(
        {
            "inside": rng.uniform(1.0, 9.0, len(group)),
            "between": rng.uniform(1.0, 9.0, len(sizes))[group],
            "decades": 10.0 ** rng.uniform(0.0, 9.0, len(group)),
        }
    )
    common = 1.0 + 0.1 * rng.standard_normal(len(sizes))[group]
    y = (5.0 + 2.0 * frame["inside"] + frame["between"] + 1e-8 * frame["decades"]) * common
    return frame, y.to_numpy() * np.exp(0.02 * rng.standard_normal(len(group))), group


def by_statsmodels(model: StepwiseOLS, groups: np.ndarray) -> Any:
    fit = model.report_._fit
    scaled = fit.matrix / fit.scale
    constant = bool(fit.intercept)
    raw = (
        OLS(fit.y, scaled, hasconst=constant) if fit.weights is None else WLS(fit.y, scaled, weights=fit.weights, hasconst=constant)
    )
    return raw.fit(method="qr", cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)


@pytest.mark.parametrize("noise", ["absolute", "relative"])
@pytest.mark.parametrize("sizes", [(7,) * 12, (1, 2, 30, 4, 9, 9, 3, 17)], ids=["even", "uneven"])
@pytest.mark.parametrize("constant", [True, False])
def test_errors_t_f_and_bounds_are_those_of_statsmodels(noise: str, sizes: tuple[int, ...], constant: bool) -> None:
    frame, y, group = grouped(sizes)
    model = StepwiseOLS(noise=noise, lower="~ inside + between + decades", fit_intercept=constant, report="none")
    model.fit(frame, y, groups=np.array([f"cnn{number:02}" for number in group]))
    ours, theirs = model.report_.clustered, by_statsmodels(model, group)
    scale = model.report_._fit.scale
    assert ours.n_groups == len(sizes)
    np.testing.assert_allclose(ours.std_err * scale, theirs.bse, rtol=1e-10)
    np.testing.assert_allclose(ours.t_value, theirs.tvalues, rtol=1e-10)
    np.testing.assert_allclose(ours.p_value, theirs.pvalues, rtol=1e-10)
    np.testing.assert_allclose(np.column_stack([ours.lower, ours.upper]) * scale[:, None], theirs.conf_int(), rtol=1e-10)
    tested = np.eye(len(scale))[int(constant) :]
    f_test = theirs.f_test(tested)
    assert ours.f_df == (len(tested), len(sizes) - 1)
    assert (ours.f_value, ours.f_p_value) == pytest.approx((float(f_test.fvalue), float(f_test.pvalue)), rel=1e-10)


def test_a_column_that_varies_between_groups_loses_most() -> None:
    """A common error of a group is no error of a column that varies within it, and all the error of one that does not."""
    frame, _, group = grouped((20,) * 15)
    rng = np.random.default_rng(5)
    y = 5.0 + frame["inside"] + frame["between"] + rng.standard_normal(15)[group] + 0.3 * rng.standard_normal(300)
    table = StepwiseOLS(terms=["inside", "between"], report="none").fit(frame, y, groups=group).report_.coefficients
    wider = table["std_err_cluster"] / table["std_err"]
    assert wider["between"] > 2.0
    assert wider["inside"] < 1.5
    assert table["p_value_cluster"]["between"] > 1e6 * table["p_value"]["between"]


def test_every_row_its_own_group_is_white_s_estimate() -> None:
    """CR1 of groups of one is HC1, up to n / (n - 1) of the correction, which then cancels."""
    frame, y, _ = grouped((5,) * 12)
    model = StepwiseOLS(report="none").fit(frame, y, groups=np.arange(len(y)))
    fit = model.report_._fit
    white = OLS(fit.y, fit.matrix / fit.scale).fit(method="qr", cov_type="HC1")
    ours = model.report_.clustered
    np.testing.assert_allclose(ours.std_err * fit.scale, white.bse, rtol=1e-10)
    assert np.isnan(ours.intraclass_correlation)
    assert ours.n_effective == len(y)


def test_groups_change_neither_the_selection_nor_a_prediction() -> None:
    frame, y, group = grouped((6,) * 10, seed=3)
    alone = StepwiseOLS(noise="relative").fit(frame, y)
    known = StepwiseOLS(noise="relative").fit(frame, y, groups=group)
    assert known.terms_ == alone.terms_
    np.testing.assert_array_equal(known.predict(frame), alone.predict(frame))
    np.testing.assert_array_equal(known.report_.inference.p_value, alone.report_.inference.p_value)
    assert alone.report_.clustered is None
    assert "(groups)" not in alone.report_.text()
    text = known.report_.text()
    assert "p (naive)" in text
    assert "p (groups)" in text
    assert "whole groups left out" in text


def test_what_groups_cannot_tell_is_nan() -> None:
    """Fewer groups than slopes: no F. Groups that each fit a coefficient of their own have no error left to show."""
    frame, y, group = grouped((20, 20, 20))
    few = StepwiseOLS(lower="~ inside + between + decades", report="none").fit(frame, y, groups=group).report_.clustered
    assert np.isnan(few.f_value)
    assert np.isfinite(few.std_err).all()
    frame, y, group = grouped((9,) * 8)
    own = pd.DataFrame({"kind": np.array(list("abcdefgh"))[group]})
    alone = StepwiseOLS(lower=["kind"], report="none").fit(own, y, groups=group).report_.clustered
    assert np.isnan(alone.std_err).all()
    assert np.isnan(alone.f_value)
    assert StepwiseOLS(report="none").fit(frame, y, groups=np.zeros(len(y))).report_.clustered is None


def test_intraclass_correlation_of_a_published_example() -> None:
    """Four judges of six targets, ICC(1, 1) = .17 (Shrout and Fleiss 1979, tables 2 to 4)."""
    ratings = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
    found = intraclass_correlation(ratings.ravel(), np.repeat(np.arange(6), 4))
    assert found == pytest.approx((11.24 - 6.26) / (11.24 + 3 * 6.26), abs=2e-4)
    assert round(found, 2) == 0.17


def test_the_design_effect_is_the_variance_of_a_mean_of_correlated_rows() -> None:
    sizes, correlation = np.array([1, 4, 2, 13]), 0.3
    group = np.repeat(np.arange(4), sizes)
    covariance = np.where(group[:, None] == group, correlation, 0.0) + (1.0 - correlation) * np.eye(20)
    assert design_effect(correlation, sizes) == pytest.approx(covariance.mean() * 20)
    assert design_effect(-0.4, sizes) == 1.0
    assert design_effect(float("nan"), sizes) == 1.0


def test_it_is_stored_and_a_file_with_another_number_of_errors_is_refused() -> None:
    frame, y, group = grouped((6,) * 10)
    model = StepwiseOLS(report="none").fit(frame, y, groups=group)
    text = model_to_json(model)
    again = model_from_json(text).report_
    np.testing.assert_array_equal(again.clustered.std_err, model.report_.clustered.std_err)
    assert "p (groups)" in again.text()
    document = json.loads(text)
    document["report"]["clustered"]["std_err"].pop()
    with pytest.raises(DataError) as caught:
        model_from_json(json.dumps(document))
    assert caught.value.place == "$.report.clustered.std_err"


@pytest.mark.parametrize("n_groups", [40, 9, 2])
def test_the_factor_squares_to_bread_meat_bread(n_groups: int) -> None:
    """Also with fewer groups than columns, where the covariance is singular."""
    rng = np.random.default_rng(n_groups)
    matrix, score, bread = rng.standard_normal((40, 4)), rng.standard_normal(40), rng.uniform(0.5, 2.0, 40)
    groups = np.arange(40) % n_groups
    sums = np.array([(matrix[groups == group] * score[groups == group, None]).sum(axis=0) for group in range(n_groups)])
    inverse = np.linalg.inv(matrix.T @ (bread[:, None] * matrix))
    expected = inverse @ sums.T @ sums @ inverse
    factor = sandwich_factor(matrix, bread=bread, score=score, groups=groups)
    np.testing.assert_allclose(factor @ factor.T, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(factor, np.triu(factor))
    known = robust_factor(np.linalg.cholesky(inverse), matrix, score, groups)
    np.testing.assert_allclose(known @ known.T, expected, rtol=1e-10, atol=1e-12)


def test_without_groups_every_row_is_its_own() -> None:
    rng = np.random.default_rng(0)
    matrix, score, bread = rng.standard_normal((25, 3)), rng.standard_normal(25), np.ones(25)
    alone = sandwich_factor(matrix, bread=bread, score=score)
    own = sandwich_factor(matrix, bread=bread, score=score, groups=np.arange(25))
    np.testing.assert_allclose(alone @ alone.T, own @ own.T, rtol=1e-12)


def test_groups_of_dropped_rows_leave_no_gap() -> None:
    groups = group_numbers(["b", "c", "a", "c", "a"], 5)
    assert groups.tolist() == [1, 2, 0, 2, 0]
    rows = RowGroups({}, np.array([1, 2, 4]), groups)
    assert rows.groups().tolist() == [1, 0, 0]
    assert RowGroups({}, np.array([1]), None).groups() is None


def test_configurations_are_equal_in_every_column() -> None:
    columns = {"x": np.array([1.0, 1.0, 2.0, 1.0, 1.0]), "kind": np.array(["u", "v", "u", "u", "u"], dtype=object)}
    found = RowGroups(columns, np.array([0, 1, 2, 4]), None).configurations()
    assert found.tolist() == [0, 1, 2, 0]
    assert RowGroups({}, np.arange(3), None).configurations().tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("groups", "message"),
    [(["a", "b"], "one for each of the 3 rows"), (["a", None, "b"], "got no value"), ([1.0, 2.0, np.nan], "got no value")],
)
def test_hostile_groups_are_refused_at_the_fit(groups: list[object], message: str) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0]})
    with pytest.raises(DataError, match=message):
        StepwiseOLS(report="none").fit(frame, [1.0, 2.0, 3.5], groups=groups)


def test_rows_of_a_formula_with_gaps_keep_their_groups() -> None:
    """Equal to the fit of the complete rows alone."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(1.0, 9.0, 30)})
    y, groups = 2.0 + frame["x"] + rng.standard_normal(30), np.repeat(np.arange(6), 5)
    gaps = frame.assign(x=frame["x"].where(frame.index % 7 != 3))
    dropped = StepwiseOLS(na="drop", report="none").fit(gaps, y, groups=groups).report_.clustered
    kept = gaps["x"].notna().to_numpy()
    alone = StepwiseOLS(report="none").fit(frame[kept], y[kept], groups=groups[kept]).report_.clustered
    np.testing.assert_allclose(dropped.std_err, alone.std_err, rtol=1e-12)
    assert dropped.f_value == pytest.approx(alone.f_value)
