"""Choice of a member: what made the data wins, the simpler one where nothing speaks against it, AIC on one scale."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.utils.estimator_checks import check_estimator

from mlperf.core.errors import FitError, UsageError
from mlperf.models.estimators.choice.family import DEFAULT, choose_family
from mlperf.models.estimators.choice.selected_terms import SelectedTerms
from mlperf.models.estimators.members.log_linear import LogOLS
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.validation.folds import leave_one_group_out

pytestmark = pytest.mark.slow

TERMS = ["m * n", "m", "n"]


def table(seed: int, time_of: Any, noise: float = 0.05) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"m": rng.integers(8, 512, 240), "n": rng.integers(8, 512, 240)})
    y = time_of(frame["m"].to_numpy(float), frame["n"].to_numpy(float)) * rng.lognormal(0, noise, 240)
    return frame, y, np.repeat(np.arange(24), 10)


def test_a_power_law_chooses_log() -> None:
    frame, y, groups = table(0, lambda m, n: 1e-7 * m**0.6 * n**0.9)
    choice = choose_family(frame, y, groups, ("relative", "absolute", "log", "nonnegative"), terms=TERMS)
    assert choice.chosen == "log"
    assert choice.table.set_index("member").loc["log", "mape"] < 0.06


def test_a_sum_of_costs_chooses_a_simple_member() -> None:
    """Several members are equally right: none of the complex ones may win by luck."""
    frame, y, groups = table(1, lambda m, n: 2e-5 + 3e-9 * m * n + 2e-8 * m)
    choice = choose_family(frame, y, groups, DEFAULT, terms=TERMS)
    rows = choice.table.set_index("member")
    assert rows.loc[choice.chosen, "complexity"] <= 1
    assert set(rows.index) == set(DEFAULT)
    assert (rows["note"] == "").all()
    assert rows["chosen"].sum() == 1
    assert rows.loc[choice.best, "behind"] == 0.0
    assert choice.estimator.predict(frame).shape == (240,)
    json.dumps(choice.to_dict(), allow_nan=False)


def test_a_switch_of_kernel_chooses_a_local_or_learnt_member() -> None:
    frame, y, groups = table(2, lambda m, n: (2e-5 + 3e-9 * m * n) * np.where((m > 100) & (n < 200), 3.0, 1.0))
    choice = choose_family(frame, y, groups, ("relative", "log", "local", "boosted", "boosting"), terms=TERMS)
    assert choice.chosen in ("local", "boosted", "boosting")


def test_aic_is_on_the_scale_of_the_times() -> None:
    """-2 log likelihood of the density of t itself, by scipy, with the constants that all members share left out."""
    frame, y, groups = table(3, lambda m, n: 1e-7 * m**0.6 * n**0.9)
    rows = choose_family(frame, y, groups, ("absolute", "log"), terms=["m", "n"]).table.set_index("member")
    log_fit = LogOLS(["log(m)", "log(n)"], smearing=False).fit(frame, y)
    residual = np.log(y / log_fit.predict(frame))
    sigma = np.sqrt(np.mean(residual**2))
    minus_two = -2.0 * float(np.sum(norm.logpdf(residual, scale=sigma) - np.log(y)))
    assert rows.loc["log", "aic"] == pytest.approx(minus_two + 2 * 3 - len(y) * (1 + np.log(2 * np.pi)), rel=1e-9)
    assert rows.loc["log", "aic"] < rows.loc["absolute", "aic"]


def test_own_members_and_own_folds() -> None:
    frame, y, groups = table(4, lambda m, n: 2e-5 + 3e-9 * m * n)
    mine = {"product": lambda: NonNegativeOLS(["m * n"], n_draws=0), "none": lambda: NonNegativeOLS(["m"], n_draws=0)}
    choice = choose_family(frame, y, groups, mine, folds=leave_one_group_out(groups))
    assert choice.chosen == "product"
    assert choice.table["loss"].is_monotonic_increasing
    assert set(choice.predictions) == set(mine)


def test_a_member_that_fails_stays_in_the_table_with_its_reason() -> None:
    frame, y, groups = table(5, lambda m, n: 2e-5 + 3e-9 * m * n)

    class Never:
        def fit(self, X: Any, y: Any) -> None:
            raise FitError(f"got {len(X)} rows and {len(y)} times, expected luck")

    choice = choose_family(frame, y, groups, {"never": Never, "sum": lambda: NonNegativeOLS(TERMS, n_draws=0)})
    assert choice.chosen == "sum"
    assert "expected luck" in choice.table.set_index("member").loc["never", "note"]
    with pytest.raises(FitError, match="no member could be fitted"):
        choose_family(frame, y, groups, {"never": Never})
    with pytest.raises(UsageError, match="'deep'"):
        choose_family(frame, y, groups, ("deep",))


def test_selected_member_keeps_what_selection_kept() -> None:
    """A column of noise leaves by AIC; the non-negative fit on the rest is the one made on those terms alone."""
    frame, y, _ = table(6, lambda m, n: 2e-5 + 3e-9 * m * n)
    frame = frame.assign(noise=np.random.default_rng(0).uniform(1, 2, 240))
    model = SelectedTerms(NonNegativeOLS(["m * n", "noise"], n_draws=0)).fit(frame, y)
    assert model.selection_.terms_ == ("I(m * n)",)
    assert np.array_equal(model.predict(frame), NonNegativeOLS(["m * n"], n_draws=0).fit(frame, y).predict(frame))


def test_selected_member_meets_the_contract_of_scikit_learn() -> None:
    results = check_estimator(SelectedTerms(NonNegativeOLS(n_draws=0, n_folds=0)), on_skip=None, on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
