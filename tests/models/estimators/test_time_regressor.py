"""Intervals from left-out residuals against their definition, and parameters there and back."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mlperf.core.errors import DataError, FitError
from mlperf.core.json_fields import Fields
from mlperf.models import CensoredNormal, FormAverage, GroupJackknifeOLS, LogStepwiseOLS, SelectedTerms
from mlperf.models.estimators.learning.boosted import BoostedResidual
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.estimators.time_regressor import ResidualIntervals, TimeRegressor, check_coefficients, read_fitted_columns
from mlperf.models.formula.terms import Terms
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles


class Twos(ResidualIntervals):
    """Predicts 2 s for every row."""

    def __init__(self, sizes: tuple[str, ...] = ("m",), k: int = 3, base: Any = None) -> None:
        self.sizes = sizes
        self.k = k
        self.base = base

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), 2.0)


def test_interval_is_the_prediction_times_quantiles_of_left_out_ratios() -> None:
    """Log ratios -0.4, -0.2, 0, 0.2, 0.4 at ranks 1/6 to 5/6: half of the runs lie between the ranks 1/4 and 3/4."""
    model = Twos()
    model.residuals_ = ResidualQuantiles.of(np.array([-0.4, -0.2, 0.0, 0.2, 0.4]))
    for kind in ("run", "mean"):
        found = model.predict_interval(range(3), kind=kind, level=0.5)
        np.testing.assert_allclose(found.lower, 2.0 * np.exp(-0.3))
        np.testing.assert_allclose(found.upper, 2.0 * np.exp(0.3))
    draws = model.sample(range(2), np.random.default_rng(0), 4000)
    assert draws.shape == (4000, 2)
    assert np.median(draws) == pytest.approx(2.0, rel=0.02)
    assert draws.max() == pytest.approx(2.0 * np.exp(0.4))


def test_without_left_out_residuals_there_is_no_interval() -> None:
    model = Twos()
    model.residuals_ = None
    with pytest.raises(FitError, match="left-out errors"):
        model.predict_interval(range(3))


def test_parameters_come_back_without_the_base() -> None:
    stored = Twos(("m", "n"), base=Twos()).parameters_to_dict()
    assert stored == {"sizes": ["m", "n"], "k": 3}
    again = Twos.from_parameters(Fields(stored, "$"))
    assert (again.sizes, again.k, again.base) == (("m", "n"), 3, None)
    with pytest.raises(DataError, match="extra"):
        Twos.from_parameters(Fields(stored | {"extra": 1}, "$"))


def test_times_are_positive() -> None:
    tags = TimeRegressor().__sklearn_tags__()
    assert tags.target_tags.positive_only
    assert tags.regressor_tags.poor_score


class Weighted(TimeRegressor):
    """Parameters of every kind."""

    def __init__(
        self,
        terms: Sequence[str] | None = None,
        clip: tuple[float, float] = (0.25, 4.0),
        counts: Sequence[int] = (8, 12),
        n_folds: int = 5,
        k: int | str = "auto",
        keep: bool = True,
    ) -> None:
        self.terms, self.clip, self.counts, self.n_folds, self.k, self.keep = terms, clip, counts, n_folds, k, keep


def test_parameters_come_back() -> None:
    model = Weighted(("m", "n"), (0.5, 2.0), (3,), 7, 4, False)
    again = Weighted.from_parameters(Fields(model.parameters_to_dict()))
    assert again.get_params() == model.get_params()
    assert Weighted.from_parameters(Fields(Weighted().parameters_to_dict())).get_params() == Weighted().get_params()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("terms", 3, "got 3, expected a list"),
        ("terms", [{"a": 1}], "got an object"),
        ("clip", 0.5, "expected a list"),
        ("clip", [0.5], "got 1 values, expected 2"),
        ("clip", [0.5, "x"], "expected a finite number"),
        ("counts", [[8]], "expected a finite number"),
        ("n_folds", "5", "expected a finite number"),
        ("n_folds", {}, "expected a finite number"),
        ("k", {"a": 1}, "got an object"),
        ("keep", 1, "expected true or false"),
    ],
)
def test_a_parameter_of_another_kind_is_named(name: str, value: Any, words: str) -> None:
    stored = Weighted().parameters_to_dict() | {name: value}
    with pytest.raises(DataError) as caught:
        Weighted.from_parameters(Fields(stored, "$.parameters"))
    assert words in caught.value.message
    assert str(caught.value.place).startswith(f"$.parameters.{name}")


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ({"n_features": 3, "columns": ["m", "n"]}, "got 2 values, expected 3"),
        ({"n_features": 2, "columns": ["m", "m"]}, "expected every name once"),
        ({"n_features": 0, "columns": None}, "expected a whole number"),
        ({"n_features": 1, "columns": "m"}, "expected a list"),
    ],
)
def test_columns_of_a_fit_are_as_many_as_it_had_each_once(stored: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_fitted_columns(Weighted(), Fields(stored), "columns")
    model = Weighted()
    read_fitted_columns(model, Fields({"n_features": 2, "columns": ["m", "n"]}), "columns")
    assert (model.n_features_in_, list(model.feature_names_in_)) == (2, ["m", "n"])


def test_as_many_coefficients_as_columns_are_expected() -> None:
    terms = Terms.learn(["m", "m*n"], pd.DataFrame({"m": [1.0, 2.0], "n": [3.0, 5.0]}))
    check_coefficients(terms, np.zeros(3), "$")
    with pytest.raises(DataError, match="got 2 coefficients, expected 3"):
        check_coefficients(terms, np.zeros(2), "$")


def test_a_domain_is_learned_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the fit and of its base; models of folds are asked for predictions alone."""
    learn, asked = Domain.fit, []
    monkeypatch.setattr(Domain, "fit", lambda *rows: asked.append(len(rows[0])) or learn(*rows))
    sizes = pd.DataFrame({"n": np.arange(1.0, 31.0), "m": np.arange(30.0, 0.0, -1.0) ** 2})
    model = BoostedResidual(max_iter=2).fit(sizes, 3.0 + sizes["n"].to_numpy())
    model.predict(sizes)
    assert not asked
    copy = deepcopy(model)
    assert model.in_domain(sizes).all()
    assert model.in_domain(sizes).all()
    assert asked == [30, 30]
    assert copy.to_dict() == model.to_dict()


def test_rows_without_a_domain_are_refused_by_the_fit() -> None:
    sizes = pd.DataFrame({"n": [1.0, 2.0, np.inf, 4.0]})
    with pytest.raises(DataError, match="finite"):
        NonNegativeOLS(terms=["1 / n"]).fit(sizes, np.arange(1.0, 5.0))


def weighed() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Costs of two columns with 10 % noise, sizes measured several times, and whole weights of which some are zero."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": rng.integers(1, 9, 60) * 1.0, "b": rng.integers(1, 5, 60) * 1.0})
    y = (2e-3 + 1e-3 * frame["a"] + 4e-4 * frame["b"]).to_numpy() * rng.lognormal(0.0, 0.1, 60)
    return frame, y, rng.integers(0, 4, 60)


WEIGHED = [
    CensoredNormal(),
    FormAverage(),
    GroupJackknifeOLS(),
    LogStepwiseOLS(max_steps=0),
    SelectedTerms(NonNegativeOLS(n_draws=20, n_folds=0)),
]


@pytest.mark.parametrize("model", WEIGHED, ids=lambda model: type(model).__name__)
def test_whole_weights_are_repeats(model: Any) -> None:
    frame, y, weight = weighed()
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = clone(model).fit(frame.iloc[rows].reset_index(drop=True), y[rows]).predict(frame)
    found = clone(model).fit(frame, y, sample_weight=weight).predict(frame)
    np.testing.assert_allclose(found, repeated, rtol=1e-8)
    # Were weights passed by, the two would still agree to a thousandth or so.
    assert np.abs(found / clone(model).fit(frame, y).predict(frame) - 1.0).max() > 1e-4


@pytest.mark.parametrize("model", WEIGHED, ids=lambda model: type(model).__name__)
def test_weights_of_one_change_nothing_and_rows_of_zero_are_as_absent(model: Any) -> None:
    frame, y, weight = weighed()
    plain, ones = (clone(model).fit(frame, y, **given) for given in ({}, {"sample_weight": np.ones(len(y))}))
    np.testing.assert_allclose(ones.predict(frame), plain.predict(frame), rtol=1e-12)
    kept = weight > 0
    less, zeros = clone(model).fit(frame[kept], y[kept]), clone(model).fit(frame, y, sample_weight=kept.astype(float))
    np.testing.assert_allclose(zeros.predict(frame), less.predict(frame), rtol=1e-10)
    if hasattr(model, "predict_interval"):
        few, all_rows = (each.predict_interval(frame) for each in (plain, ones))
        np.testing.assert_allclose(all_rows.upper, few.upper, rtol=1e-9)


@pytest.mark.parametrize("model", WEIGHED, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda n: -np.ones(n), "[Nn]egative"),
        (lambda n: np.full(n, np.nan), "NaN|missing"),
        (lambda n: np.ones(n - 1), "sample_weight.shape"),
        (np.zeros, "zero"),
    ],
    ids=["negative", "NaN", "short", "zero"],
)
def test_weights_that_weigh_nothing_are_refused(model: Any, given: Any, told: str) -> None:
    frame, y, _ = weighed()
    with pytest.raises(ValueError, match=told):
        clone(model).fit(frame, y, sample_weight=given(len(y)))
