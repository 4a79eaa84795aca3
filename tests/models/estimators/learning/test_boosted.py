"""Boosted residual: our trees against scikit-learn's, what it corrects, where it stops."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.estimator_checks import check_estimator

from mlperf.core.errors import DataError, FitError
from mlperf.models.estimators.learning.boosted import BoostedResidual
from mlperf.models.estimators.learning.trees import Trees
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.storage.store import model_from_json, model_to_json
from mlperf.models.validation.scores import relative_errors

pytestmark = pytest.mark.slow

BASE = NonNegativeOLS(["m * n * k", "m * n"], n_draws=0)
COLUMNS = ["m", "n", "k", "kind"]


@pytest.fixture(scope="module")
def products() -> tuple[pd.DataFrame, np.ndarray]:
    """A cost per product and per output, a kernel that switches at k = 100, two kinds, 2 % noise."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(np.exp(rng.uniform(np.log(8), np.log(512), (1200, 3))).astype(int), columns=["m", "n", "k"])
    frame["kind"] = rng.choice(["NN", "NT"], 1200)
    slow = np.where(frame["k"] >= 100, 1.7, 1.0) * np.where(frame["kind"] == "NT", 1.3, 1.0)
    y = (1e-6 + 2e-11 * frame["m"] * frame["n"] * frame["k"]) * slow * rng.lognormal(0, 0.02, 1200)
    return frame, y.to_numpy()


@pytest.mark.parametrize("seed", range(5))
def test_trees_equal_scikit_learn(seed: int) -> None:
    """Values on thresholds, far outside and missing included: equal to 1e-12 (in fact to the last bit)."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(800, 4)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) ** 2 + np.isnan(X[:, 1]) + rng.normal(size=800)
    boosting = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=9, random_state=seed).fit(X, y)
    query = np.concatenate([X, 100 * rng.normal(size=(500, 4)), np.full((1, 4), np.nan)])
    trees = Trees.of(boosting)
    np.testing.assert_allclose(trees.predict(query), boosting.predict(query), rtol=1e-12, atol=1e-12)
    assert np.array_equal(Trees.from_dict(trees.to_dict(), 4).predict(query), trees.predict(query))


def test_trees_refuse_a_path_that_never_ends() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    document = Trees.of(HistGradientBoostingRegressor(max_iter=2).fit(X, X[:, 0])).to_dict()
    document["left"][0] = 0
    with pytest.raises(DataError, match="children"):
        Trees.from_dict(document, 2)


@pytest.mark.parametrize(
    "model", [BoostedResidual(max_iter=2), BoostedResidual(n_folds=2, max_iter=2)], ids=["plain", "with intervals"]
)
def test_scikit_learn_contract(model: Any) -> None:
    assert [
        result["check_name"] for result in check_estimator(model, on_skip=None, on_fail=None) if result["status"] == "failed"
    ] == []


def test_residual_removes_what_the_base_cannot_say(products: Any) -> None:
    frame, y = products
    train = np.arange(len(y)) < 900
    base = relative_errors(NonNegativeOLS(BASE.terms, n_draws=0).fit(frame[train], y[train]).predict(frame[~train]), y[~train])
    model = BoostedResidual(BASE, COLUMNS).fit(frame[train], y[train])
    errors = relative_errors(model.predict(frame[~train]), y[~train])
    assert base.mape > 0.15
    assert errors.mape < 0.05


def test_predictions_are_those_of_the_parts(products: Any) -> None:
    """Base times exp of scikit-learn's own trees on the same residual."""
    frame, y = products
    model = BoostedResidual(BASE, ["m", "n", "k"]).fit(frame, y)
    base = NonNegativeOLS(BASE.terms, n_draws=0).fit(frame, y).predict(frame)
    trees = HistGradientBoostingRegressor(
        max_iter=150, learning_rate=0.06, max_leaf_nodes=12, min_samples_leaf=8, early_stopping=False, random_state=0
    )
    sizes = frame[["m", "n", "k"]].to_numpy(dtype=float)
    expected = base * np.exp(trees.fit(sizes, np.log(y / base)).predict(sizes))
    np.testing.assert_allclose(model.predict(frame), expected, rtol=1e-12)


def test_beyond_the_rows_it_is_flagged_and_grows_as_the_base_does(products: Any) -> None:
    frame, y = products
    model = BoostedResidual(BASE, COLUMNS).fit(frame, y)
    far, farther = frame.head(3).assign(m=10**6), frame.head(3).assign(m=2 * 10**6)
    assert not model.in_domain(far).any()
    np.testing.assert_allclose(model.predict(farther) / model.predict(far), 2.0, rtol=1e-3)
    assert model.in_domain(frame).mean() > 0.95


def test_flag_and_prediction_ask_the_trees_once(products: Any) -> None:
    frame, y = products
    model = BoostedResidual(BASE, COLUMNS, max_iter=5).fit(frame, y)
    rows = pd.concat([frame.head(50), frame.head(50).assign(m=10**6)])
    with patch.object(Trees, "predict", autospec=True, side_effect=Trees.predict) as asked:
        predicted, inside = model.predict_flagged(rows)
    assert asked.call_count == 1
    assert np.array_equal(predicted, model.predict(rows))
    assert np.array_equal(inside, model.in_domain(rows))
    assert 0.4 < inside.mean() <= 0.5


def test_monotone_columns_do_not_fall(products: Any) -> None:
    frame, y = products
    model = BoostedResidual(BASE, ["m", "n", "k"], monotone=("k",)).fit(frame, y)
    grid = frame.head(50).loc[frame.head(50).index.repeat(60)].assign(k=np.tile(np.arange(8, 488, 8), 50))
    correction = model.correction(grid).reshape(50, 60)
    assert (np.diff(correction, axis=1) >= 0).all()


@pytest.mark.parametrize("n_folds", [0, 3])
def test_stored_model_is_bit_equal(products: Any, n_folds: int) -> None:
    frame, y = products
    model = BoostedResidual(BASE, COLUMNS, n_folds=n_folds, max_iter=40).fit(frame, y)
    text = model_to_json(model)
    again = model_from_json(text)
    assert model_to_json(again) == text
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert np.array_equal(again.in_domain(frame), model.in_domain(frame))
    if n_folds:
        assert np.array_equal(again.predict_interval(frame).upper, model.predict_interval(frame).upper)


def test_intervals_cover_rows_of_new_groups(products: Any) -> None:
    frame, y = products
    train = np.arange(len(y)) < 800
    model = BoostedResidual(BASE, COLUMNS, n_folds=5).fit(frame[train], y[train])
    interval = model.predict_interval(frame[~train])
    assert 0.90 <= np.mean((interval.lower <= y[~train]) & (y[~train] <= interval.upper)) <= 0.99
    with pytest.raises(FitError, match="n_folds"):
        BoostedResidual(BASE, COLUMNS, max_iter=5).fit(frame, y).predict_interval(frame)


@pytest.mark.parametrize(("n_values", "n_bins"), [(1, 2), (12, 12), (400, 255)])
def test_trees_of_few_values_have_few_bins_and_are_the_same(n_values: int, n_bins: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit those of scikit-learn's default of 255 bins."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        np.column_stack([1 + rng.permutation(500) % n_values, rng.integers(1, 1 + min(n_values, 5), 500)]), columns=["a", "b"]
    )
    y = (1.0 + frame["a"] * frame["b"]) * rng.lognormal(0, 0.2, 500)
    found = BoostedResidual(max_iter=20).fit(frame, y)
    made = []

    class Default(HistGradientBoostingRegressor):
        def __init__(self, **options: Any) -> None:
            made.append(options.pop("max_bins", 255))
            super().__init__(**options)

    monkeypatch.setattr("sklearn.ensemble.HistGradientBoostingRegressor", Default)
    assert found.trees_.to_dict() == BoostedResidual(max_iter=20).fit(frame, y).trees_.to_dict()
    assert made == [n_bins]
