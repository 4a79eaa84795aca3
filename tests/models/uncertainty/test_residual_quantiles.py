"""Intervals of a run from few rows: what ranks of left-out errors cannot say, Student's t does, in every member."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mlperf.models.estimators.choice.best_of_family import BestOfFamily
from mlperf.models.estimators.learning.learners import LogLearner
from mlperf.models.estimators.local.ratio_local import RatioLocal
from mlperf.models.estimators.local.scatter_local import ScatterLocal
from mlperf.models.estimators.members.log_linear import LogOLS
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.estimators.members.quantile import QuantileOLS
from mlperf.models.estimators.members.robust import HuberOLS
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles, draw_residuals, has_ranks, log_ratio_bound

pytestmark = pytest.mark.slow

NEW_ROWS = 100
RELATIVE, ABSOLUTE, LOG = "relative", "absolute", "log"


def runs(rng: np.random.Generator, n_rows: int, n_columns: int, noise: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Times 2 + x0 (exp(0.3 + 0.1 x0) under log noise), errors of 5 %; further columns do not matter."""
    frame = pd.DataFrame(rng.uniform(1.0, 10.0, (n_rows, n_columns)), columns=[f"x{i}" for i in range(n_columns)])
    clean, own = 2.0 + frame["x0"].to_numpy(), 0.05 * rng.standard_normal(n_rows)
    if noise == LOG:
        return frame, np.exp(0.3 + 0.1 * frame["x0"].to_numpy() + own)
    return frame, clean + 5.0 * own if noise == ABSOLUTE else clean * (1.0 + own)


def coverage(make: Callable[[], Any], n_rows: int, n_fits: int, n_columns: int = 1, noise: str = RELATIVE) -> float:
    """Share of new runs inside their 95 % intervals; every interval of a run must hold that of the mean."""
    rng, hits = np.random.default_rng(n_rows), []
    for _ in range(n_fits):
        frame, y = runs(rng, n_rows + NEW_ROWS, n_columns, noise)
        model = make().fit(frame[:n_rows], y[:n_rows])
        run = model.predict_interval(frame[n_rows:], kind="run")
        if not isinstance(model, LogLearner | BestOfFamily):
            mean = model.predict_interval(frame[n_rows:], kind="mean")
            assert (run.lower <= mean.lower).all()
            assert (mean.upper <= run.upper).all()
        hits.append((run.lower <= y[n_rows:]) & (y[n_rows:] <= run.upper))
    return float(np.mean(hits))


@pytest.mark.parametrize(("noise", "n_rows"), [(RELATIVE, 4), (RELATIVE, 6), (RELATIVE, 12), (RELATIVE, 40), (ABSOLUTE, 4)])
def test_runs_of_a_given_model_are_covered(noise: str, n_rows: int) -> None:
    """Outermost left-out errors cover 73, 78, 86 and 95 %."""
    share = coverage(lambda: StepwiseOLS(noise=noise, max_steps=0, report=["nested_cv"]), n_rows, 40, noise=noise)
    assert 0.93 <= share <= 0.98


@pytest.mark.parametrize("n_rows", [6, 12])
def test_runs_of_a_selected_model_are_covered(n_rows: int) -> None:
    share = coverage(lambda: StepwiseOLS(noise=RELATIVE, report=["nested_cv"]), n_rows, 30, n_columns=3)
    assert 0.93 <= share <= 0.98


def test_runs_of_a_model_selected_from_as_many_terms_as_rows_are_covered() -> None:
    """Three columns and a constant for four rows: nothing but left-out errors can say how far the selected model is off."""
    assert 0.9 <= coverage(lambda: StepwiseOLS(noise=RELATIVE, report=["nested_cv"]), 4, 20, n_columns=3) <= 0.995


MEMBERS: dict[str, tuple[Callable[[], Any], int]] = {
    #               made by                                 fits
    "log": (LogOLS, 20),
    "nonnegative": (NonNegativeOLS, 6),
    "huber": (HuberOLS, 6),
    "quantile": (QuantileOLS, 6),
    "ratio": (RatioLocal, 12),
    "scatter": (ScatterLocal, 12),
    "learner": (lambda: LogLearner("ridge"), 6),
    "family": (lambda: BestOfFamily(("relative",)), 5),
}


@pytest.mark.parametrize("member", MEMBERS)
def test_runs_of_every_member_are_covered(member: str) -> None:
    """Outermost left-out errors cover 72 to 80 %; of so few fits the share is known to some 4 %."""
    make, n_fits = MEMBERS[member]
    assert coverage(make, 6, n_fits, noise=LOG if member == "log" else RELATIVE) >= 0.9


def test_a_quantile_of_fewer_rows_than_coefficients_is_not_certain() -> None:
    """It passes through all rows: its own residuals are zero."""
    assert coverage(QuantileOLS, 6, 5, n_columns=3) >= 0.9


@pytest.mark.parametrize("n_samples", [4, 12, 38, 39])
def test_left_out_errors_of_a_mean_bound_a_new_value(n_samples: int) -> None:
    """1,500 samples of normal values each, their mean for a prediction: standard error of the share 0.6 %."""
    rng = np.random.default_rng(n_samples)
    hits = []
    for values in rng.standard_normal((1500, n_samples + 1)):
        known, new = values[:-1], values[-1]
        lower, upper = ResidualQuantiles.of((known - known.mean()) * n_samples / (n_samples - 1)).bounds(0.95)
        hits.append(lower <= new - known.mean() <= upper)
    assert 0.93 <= np.mean(hits) <= 0.98


def test_ranks_are_taken_where_there_are_enough() -> None:
    assert has_ranks(39, 0.95)
    assert has_ranks(19, 0.9)
    assert has_ranks(1999, 0.999)
    assert not has_ranks(38, 0.95)
    assert not has_ranks(18, 0.9)
    many = ResidualQuantiles.of(np.linspace(-1.0, 3.0, 39))
    assert many.bounds(0.95) == pytest.approx((-1.0, 3.0))
    few = ResidualQuantiles.of(np.array([-0.1, 0.1, 0.1, -0.1]), n_parameters=2)
    assert few.bounds(0.95) == pytest.approx((-0.1 * stats.t.ppf(0.975, 2), 0.1 * stats.t.ppf(0.975, 2)))
    assert few.bounds(0.5)[1] == pytest.approx(0.1)
    fractions = few.bounds(0.999, fractions=True)
    assert -1.0 < fractions[0] < -0.7
    assert ResidualQuantiles.from_dict(few.to_dict()).bounds(0.95) == few.bounds(0.95)
    old = {key: value for key, value in few.to_dict().items() if key != "n_parameters"}
    assert ResidualQuantiles.from_dict(old).n_parameters == 1


def test_the_bound_of_many_log_ratios_is_an_order_statistic() -> None:
    ratios = np.linspace(-0.19, 0.0, 20)
    assert log_ratio_bound(ratios, 0.9) == pytest.approx(0.18)
    assert log_ratio_bound(np.append(ratios, np.nan), 0.9) == pytest.approx(0.18)
    # 19 rows are the fewest that have a rank of 95 %: the largest.
    assert log_ratio_bound(ratios[:19], 0.95) == pytest.approx(0.19)
    assert np.isnan(log_ratio_bound(np.array([np.nan]), 0.9))


def test_the_bound_of_few_log_ratios_is_that_of_student() -> None:
    assert log_ratio_bound(np.array([-0.1]), 0.95) == pytest.approx(0.1 * stats.t.ppf(0.975, 1))
    few = np.array([0.1, -0.2, 0.1])
    assert log_ratio_bound(few, 0.95) == pytest.approx(np.sqrt(0.02) * stats.t.ppf(0.975, 2))
    # Never less than the largest.
    assert log_ratio_bound(np.array([0.5, *np.zeros(17)]), 0.95) == 0.5


@pytest.mark.parametrize("n_rows", [2, 3, 5, 10, 18])
def test_new_normal_errors_stay_within_the_bound_of_few(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    drawn = 0.1 * rng.standard_normal((4000, n_rows + 1))
    inside = [abs(row[-1]) <= log_ratio_bound(row[:-1], 0.95) for row in drawn]
    # Four standard errors are 1.4 %; two rows have one degree of freedom, and a bound wider than that about a known mean of zero.
    assert 0.936 <= np.mean(inside) <= (0.98 if n_rows > 2 else 0.998)


def test_few_residuals_are_drawn_farther_than_their_largest() -> None:
    rng = np.random.default_rng(0)
    few = np.array([0.1, -0.1, 0.05, -0.15, 0.1])
    drawn = draw_residuals(few, (2000, 3), rng)
    assert drawn.shape == (2000, 3)
    assert np.quantile(np.abs(drawn), 0.95) == pytest.approx(np.sqrt(np.mean(few**2)) * stats.t.ppf(0.975, 4), rel=0.1)
    many = np.tile(few, 8)
    assert set(draw_residuals(many, (500,), rng)) == set(few)
