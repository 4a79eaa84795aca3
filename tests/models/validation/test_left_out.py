"""The loop that leaves rows out: what it refuses, what it hands back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, FitError
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.validation.folds import Fold, configuration_groups, grouped_folds, leave_one_group_out
from mlperf.models.validation.left_out import fold_numbers, left_out, over_folds


class Mean:
    """Predicts the mean of its training rows, plus and minus one; knows rows below 3."""

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Mean:
        self.mean, self.choice_ = float(np.mean(y)), f"mean of {len(X)}"
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return np.full(len(X), self.mean)

    def in_domain(self, X: pd.DataFrame) -> np.ndarray:
        return X["x"].to_numpy() < 3

    def predict_interval(self, X: pd.DataFrame, kind: str, level: float) -> Interval:
        assert (kind, level) == ("run", 0.95)
        return Interval(self.predict(X) - 1.0, self.predict(X) + 1.0, level)


class Silent(Mean):
    """Has no interval."""

    def predict_interval(self, X: pd.DataFrame, **asked: object) -> Interval:
        raise FitError(f"{len(X)} rows, {asked}: none")


class Told(Mean):
    """Wants to know the groups."""

    uses_groups = True

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: Any = None) -> Told:
        super().fit(X, y)
        self.choice_ = " ".join(groups)
        return self


X, Y = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 4.0]}), np.array([2.0, 4.0, 3.0, 6.0, 1.5])
TWO_WAYS = [Fold("a", np.array([0, 1, 2]), np.array([3, 4])), Fold("b", np.array([3, 4]), np.array([0, 1, 2]))]


def test_rows_come_back_in_their_order() -> None:
    rows = left_out(Mean, X, Y, None, TWO_WAYS, intervals=True)
    assert rows.predicted.tolist() == [3.75, 3.75, 3.75, 3.0, 3.0]
    assert rows.measured.tolist() == Y.tolist()
    assert rows.fold.tolist() == [1, 1, 1, 0, 0]
    assert rows.lower.tolist() == [2.75, 2.75, 2.75, 2.0, 2.0]
    assert rows.upper.tolist() == [4.75, 4.75, 4.75, 4.0, 4.0]
    assert rows.in_domain.tolist() == [True, True, True, False, False]
    assert (rows.knows_domain, rows.fold_names, rows.choices) == (True, ("a", "b"), ("mean of 3", "mean of 2"))
    assert rows.errors.n == 5


def test_rows_that_no_fold_tests_have_no_answer() -> None:
    rows = left_out(Mean, X, Y, None, TWO_WAYS[:1], intervals=True)
    assert rows.tested.tolist() == [False, False, False, True, True]
    assert np.isnan(rows.predicted[:3]).all()
    assert np.isnan(rows.lower[:3]).all()
    assert rows.errors.n == len(rows.to_frame()) == 2


def test_a_model_without_intervals_or_domain_leaves_them_open() -> None:
    class Bare:
        def fit(self, X: pd.DataFrame, y: np.ndarray) -> Bare:
            self.level = float(y[: len(X)].max())
            return self

        def predict(self, X: pd.DataFrame) -> np.ndarray:
            return np.full(len(X), self.level)

    assert np.isnan(left_out(Silent, X, Y, None, TWO_WAYS, intervals=True).lower).all()
    assert np.isnan(left_out(Mean, X, Y, None, TWO_WAYS).lower).all()
    bare = left_out(Bare, X, Y, None, TWO_WAYS, intervals=True)
    assert np.isnan(bare.upper).all()
    assert not bare.knows_domain
    assert not bare.in_domain.any()
    assert bare.choices == ("", "")


def test_a_model_that_tells_both_at_once_is_asked_once() -> None:
    class Both(Mean):
        def predict_flagged(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return 2.0 * Mean.predict(self, X), np.asarray(X)[:, 0] > 1.0

        def predict(self, X: np.ndarray) -> np.ndarray:
            raise AssertionError(f"asked for {len(X)} rows again")

        in_domain = predict

    X, y = np.arange(4.0)[:, None], np.array([1.0, 3.0, 3.0, 1.0])
    rows = left_out(Both, X, y, None, [Fold("inner", np.array([0, 3]), np.array([1, 2]))])
    assert rows.predicted[1:3].tolist() == [2.0, 2.0]
    assert rows.in_domain.tolist() == [False, False, True, False]
    assert rows.knows_domain


def test_groups_reach_the_estimators_that_use_them() -> None:
    rows = left_out(Told, X, Y, list("ppqrr"), TWO_WAYS)
    assert rows.choices == ("p p q", "r r")


def test_a_leak_is_refused_before_anything_is_fitted() -> None:
    def never() -> Mean:
        raise AssertionError("fitted")

    with pytest.raises(DataError, match="group 'a' in training and test"):
        left_out(never, X, Y, list("abacc"), [Fold("f", np.array([0, 1]), np.array([2, 3]))])
    twice = X.assign(x=[0.0, 1.0, 0.0, 3.0, 4.0])
    fold = [Fold("f", np.array([0, 1]), np.array([2, 3]))]
    with pytest.raises(DataError, match="training row 1 and test row 3"):
        left_out(never, twice, Y, None, fold)
    with pytest.raises(DataError, match="training row 1 and test row 3"):
        left_out(never, twice, Y, list("abcde"), fold)
    assert left_out(Mean, twice, Y, list("abcde"), fold, equal_rows=True).errors.n == 2


def test_tables_of_answers_are_filled_by_their_last_axis() -> None:
    found = over_folds(TWO_WAYS, (2, 5), lambda fold: np.stack([fold.test, -fold.test]))
    assert found.tolist() == [[0, 1, 2, 3, 4], [0, -1, -2, -3, -4]]
    assert fold_numbers(TWO_WAYS[:1], 5).tolist() == [-1, -1, -1, 0, 0]


def test_every_row_is_tested_once_with_a_model_that_had_not_seen_it() -> None:
    """The time is a label of the group: a model that sees the group recalls it, one that does not predicts the others' mean."""

    class Recall:
        def fit(self, X, y):
            self.seen = dict(zip(X["cnn"], y, strict=True))
            self.mean = y.mean()
            return self

        def predict(self, X):
            return np.array([self.seen.get(name, self.mean) for name in X["cnn"]])

    frame = pd.DataFrame({"cnn": np.repeat(list("abcd"), 3), "b": np.tile([1, 2, 4], 4)})
    y = np.repeat([1.0, 2.0, 3.0, 4.0], 3)
    result = left_out(Recall, frame, y, frame["cnn"], leave_one_group_out(frame["cnn"]))
    np.testing.assert_allclose(result.predicted[::3], [3.0, 8 / 3, 7 / 3, 2.0])
    assert result.fold_names == ("a", "b", "c", "d")
    assert result.by_fold()["mape"].tolist() == pytest.approx([2.0, 1 / 3, 2 / 9, 0.5])
    assert result.errors.n == 12


def test_repeats_stay_together_without_groups() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"n": np.repeat(rng.integers(1, 999, 30), 4)})
    y = (1.0 + 0.1 * frame["n"]) * rng.lognormal(0, 0.05, 120)
    result = left_out(lambda: NonNegativeOLS(n_draws=0), frame, y, None, grouped_folds(configuration_groups(frame)))
    assert result.errors.mape < 0.06
    assert frame.assign(fold=result.fold).groupby("n")["fold"].nunique().max() == 1


def test_a_fold_that_cannot_be_fitted_is_named() -> None:
    class Never:
        def fit(self, X, y):
            raise FitError(f"got too little: {len(X)} rows, {len(y)} times", hint="Measure more.")

    with pytest.raises(FitError, match="left out: fold 0: got too little"):
        left_out(Never, pd.DataFrame({"n": range(10)}), np.ones(10), None, grouped_folds(range(10)))
