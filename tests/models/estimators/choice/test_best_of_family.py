"""The family's best is chosen on training rows: truth of a known form, inner splits, simulated noise."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from mlperf.models.estimators.choice.best_of_family import BestOfFamily
from mlperf.models.estimators.local.ratio_local import RatioLocal
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.validation.folds import leave_largest_out

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Time linear in n with 5 % noise and a step of 60 % at n = 100."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": np.exp(rng.uniform(1, 8, 400))})
    y = (1e-3 + 1e-5 * frame["n"]).to_numpy() * np.where(frame["n"] > 100, 1.6, 1.0) * rng.lognormal(0, 0.05, 400)
    return frame, y


MEMBERS = {"line": lambda: NonNegativeOLS(["n"], n_draws=0), "near": lambda: RatioLocal(["n"], ["n"], n_folds=0)}


def test_the_member_that_suits_is_taken(table: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, y = table
    assert BestOfFamily(MEMBERS).fit(frame[:300], y[:300]).choice_ == "near"
    straight = (1e-3 + 1e-5 * frame["n"]).to_numpy() * np.random.default_rng(1).lognormal(0, 0.05, 400)
    assert BestOfFamily(MEMBERS).fit(frame[:300], straight[:300]).choice_ == "line"


def test_interval_covers_rows_that_took_no_part(table: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, y = table
    interval = BestOfFamily(MEMBERS).fit(frame[:300], y[:300]).predict_interval(frame[300:])
    covered = np.mean((interval.lower <= y[300:]) & (y[300:] <= interval.upper))
    assert covered == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 100))


def test_an_inner_split_asks_the_question_of_the_outer_one(table: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, y = table
    seen: list[int] = []

    def split(X: pd.DataFrame) -> list:
        folds = leave_largest_out(X["n"].to_numpy(), 0.2)
        seen.append(len(folds[0].test))
        return folds

    model = BestOfFamily(MEMBERS, split=split).fit(frame[:300], y[:300])
    assert seen == [60]
    assert np.isfinite(model.predict_interval(frame[300:]).lower).all()


@pytest.mark.parametrize("members", [("relative",), {"line": partial(NonNegativeOLS, n_draws=0, n_folds=0)}], ids=["name", "made"])
def test_scikit_learn_contract(members: Any) -> None:
    results = check_estimator(BestOfFamily(members, n_folds=2), on_skip=None, on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
