"""Errors, R², ranks, intervals and differences of halves against formulas and other packages."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import r2_score
from statsmodels.regression.linear_model import OLS

from mlperf.core.errors import DataError
from mlperf.models.validation.scores import (
    adjusted_r2,
    coverage,
    half_width,
    halves_difference,
    r2,
    rank_correlation,
    ranks,
    regret,
    relative_errors,
)


def test_errors_by_their_formulas() -> None:
    predicted, actual = np.array([1.1, 1.8, 3.0, -1.0]), np.array([1.0, 2.0, 4.0, 5.0])
    errors = relative_errors(predicted, actual)
    size = [0.1, 0.1, 0.25, 1.2]
    assert errors.mape == pytest.approx(np.mean(size))
    assert errors.median == pytest.approx(0.175)
    assert errors.q3 == pytest.approx(0.4875)
    assert errors.max == pytest.approx(1.2)
    assert errors.bias == pytest.approx((0.1 - 0.1 - 0.25 - 1.2) / 4)
    assert errors.nonpositive == 0.25
    assert errors.log_ratio == pytest.approx((np.log(1.1) - np.log(0.9) - np.log(0.75) + np.log(1000)) / 4)
    assert relative_errors([1.0, 1.0], [1.0, 1.0]).mape == 0.0


def test_kendall_tau_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=30) + 10, rng.normal(size=30) + 10
    signs = [np.sign((a[i] - a[j]) * (b[i] - b[j])) for i, j in combinations(range(30), 2)]
    assert relative_errors(a, b).kendall_tau == pytest.approx(np.mean(signs))
    assert [relative_errors([1.0, 2.0], measured).kendall_tau for measured in ([3.0, 4.0], [4.0, 3.0])] == [1.0, -1.0]


def test_errors_need_positive_measurements() -> None:
    with pytest.raises(DataError, match="row 2"):
        relative_errors([1.0, 1.0], [1.0, 0.0])
    with pytest.raises(DataError, match="2 predictions for 1"):
        relative_errors([1.0, 1.0], [1.0])


def test_halves_difference_is_odd_against_even_repeats() -> None:
    """Medians of five odd and five even repeats with 4 % noise: the difference of two such medians, by 20,000 draws."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"cnn": np.repeat(np.arange(400), 10), "round": np.tile(np.arange(10), 400)})
    frame["time_s"] = (1.0 + frame["cnn"]) * rng.lognormal(0, 0.04, 4000)
    odd, even = (np.median(rng.lognormal(0, 0.04, (20_000, 5)), axis=1) for _ in range(2))
    found = halves_difference(frame.sample(frac=1.0, random_state=0), ["cnn"], "time_s", order="round")
    assert found.mape == pytest.approx(np.mean(np.abs(odd / even - 1)), rel=0.1)
    assert found.n_configurations == 400
    alone = halves_difference(frame[frame["round"] == 0], ["cnn"], "time_s")
    assert np.isnan(alone.mape)
    assert (alone.n_configurations, alone.n_rounds) == (0, 1)


def test_regret_of_a_choice() -> None:
    assert regret([2.0, 1.0, 3.0], [5.0, 6.0, 7.0]).tolist() == pytest.approx([0.2])
    assert regret([2.0, 1.0, 3.0, 1.0], [5.0, 6.0, 7.0, 9.0], ["a", "a", "b", "b"]).tolist() == pytest.approx([0.2, 9 / 7 - 1])


def test_halves_difference_by_number_equals_the_hand_computed_difference_of_odd_and_even_medians() -> None:
    frame = pd.DataFrame(
        {"cnn": ["a"] * 4 + ["b"] * 4, "round": [1, 2, 3, 4] * 2, "step_s": [1.0, 1.0, 1.2, 1.0, 3.0, 4.0, 3.0, 4.0]}
    )
    found = halves_difference(frame, ["cnn"], "step_s", order="round", by_number=True)
    assert found.mape == pytest.approx((0.1 + 0.25) / 2)
    assert (found.n_configurations, found.n_rounds) == (2, 4)


def test_halves_difference_of_independent_noise_follows_from_its_spread() -> None:
    """Two five-round medians of 5 % normal noise: standard error 1.198 * 5 % / sqrt 5 each, mean absolute difference 3.0 %."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"cnn": np.repeat(np.arange(2000), 10), "round": np.tile(np.arange(1, 11), 2000)})
    frame["step_s"] = rng.normal(1, 0.05, len(frame))
    assert halves_difference(frame, ["cnn"], "step_s", order="round", by_number=True).mape == pytest.approx(0.030, abs=0.0015)


def test_a_model_that_knows_the_truth_errs_by_half_of_it() -> None:
    """4,000 configurations, 22 rounds, 5 % normal noise: drawn errors of the truth against the median over all rounds."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"cnn": np.repeat(np.arange(4000), 22), "round": np.tile(np.arange(22), 4000)})
    frame["step_s"] = rng.normal(1, 0.05, len(frame))
    error = np.abs(1.0 / frame.groupby("cnn")["step_s"].median() - 1.0).mean()
    assert error == pytest.approx(halves_difference(frame, ["cnn"], "step_s", order="round").mape / 2.0, rel=0.05)


def test_one_round_has_no_halves() -> None:
    found = halves_difference(
        pd.DataFrame({"cnn": ["a"], "round": [1], "step_s": [1.0]}), ["cnn"], "step_s", order="round", by_number=True
    )
    assert np.isnan(found.mape)


def test_r2_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    measured, predicted = rng.normal(size=50), rng.normal(size=50)
    assert r2(predicted, measured) == pytest.approx(r2_score(measured, predicted), rel=1e-12)
    assert np.isnan(r2(predicted, np.ones(50)))


def test_adjusted_r2_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 3))])
    y = X @ [1.0, 2.0, 0.5, 0.0] + rng.normal(size=40)
    fit = OLS(y, X).fit()
    assert adjusted_r2(fit.fittedvalues, y, 3) == pytest.approx(fit.rsquared_adj, rel=1e-12)
    assert adjusted_r2(np.full(40, y.mean()), y, 0) == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(adjusted_r2(y[:4], y[:4], 3))


def test_rank_correlation_is_that_of_ranks_by_hand() -> None:
    """Ranks 1, 2, 3, 4 against 1, 3, 2, 4: 1 - 6 * 2 / (4 * 15)."""
    assert rank_correlation(np.array([1.0, 2.0, 3.0, 9.0]), np.array([0.1, 0.3, 0.2, 0.4])) == pytest.approx(0.8)
    assert np.isnan(rank_correlation(np.ones(4), np.arange(4.0)))


def test_ranks_and_their_correlation_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 20, (2, 200)) / 3
    second[:2] = -np.inf, np.inf
    assert ranks(second).tolist() == stats.rankdata(second).tolist()
    assert rank_correlation(first, second) == stats.spearmanr(first, second).statistic
    second[2] = np.nan
    assert np.isnan(rank_correlation(first, second))


def test_rows_without_an_interval_do_not_count() -> None:
    lower, upper = np.array([0.0, 1.0, np.nan, -np.inf]), np.array([2.0, 2.0, np.nan, np.inf])
    measured, size = np.array([1.0, 3.0, 1.0, 1.0]), np.array([1.0, 2.0, 1.0, 1.0])
    assert coverage(lower, upper, measured) == pytest.approx(2 / 3)
    assert half_width(lower[:3], upper[:3], size[:3]) == pytest.approx((1.0 + 0.25) / 2)
    nothing = np.full(4, np.nan)
    assert np.isnan(coverage(nothing, nothing, measured))
    assert np.isnan(half_width(nothing, nothing, size))
