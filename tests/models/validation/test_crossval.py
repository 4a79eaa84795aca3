"""Folds that keep groups together, errors against formulas, the guard against leaks."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlperf.core.errors import DataError, FitError
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.validation.crossval import (
    Fold,
    check_folds,
    cross_validate,
    grouped_folds,
    leave_largest_out,
    leave_one_group_out,
    noise_floor,
    regret,
    relative_errors,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=4, max_size=60), st.integers(2, 8), st.integers(0, 3))
def test_grouped_folds_partition_the_rows_by_whole_groups(groups: list[int], n_folds: int, seed: int) -> None:
    if len(set(groups)) < 2:
        with pytest.raises(FitError, match="at least 2"):
            grouped_folds(groups, n_folds, seed)
        return
    folds = grouped_folds(groups, n_folds, seed)
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(len(groups)))
    labels = np.array(groups)
    for fold in folds:
        assert not set(labels[fold.train]) & set(labels[fold.test])
        assert len(fold.train) + len(fold.test) == len(groups)
    assert len(folds) == min(n_folds, len(set(groups)))


def test_folds_are_of_about_equal_size_and_repeat_with_the_seed() -> None:
    groups = np.repeat(np.arange(40), np.random.default_rng(0).integers(1, 9, 40))
    sizes = [len(fold.test) for fold in grouped_folds(groups, 5)]
    assert max(sizes) - min(sizes) <= 8
    first, again, other = (grouped_folds(groups, 5, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a.test, b.test) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a.test, b.test) for a, b in zip(first, other, strict=True))


def test_leave_one_group_out_names_what_it_left_out() -> None:
    folds = leave_one_group_out(["vgg", "alex", "vgg"])
    assert [(fold.name, fold.test.tolist()) for fold in folds] == [("alex", [1]), ("vgg", [0, 2])]


def test_leave_largest_out_tests_extrapolation() -> None:
    (fold,) = leave_largest_out(np.arange(10), 0.2)
    assert fold.test.tolist() == [8, 9]


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


def test_errors_need_positive_measurements() -> None:
    with pytest.raises(DataError, match="row 1"):
        relative_errors([1.0, 1.0], [1.0, 0.0])
    with pytest.raises(DataError, match="2 predictions for 1"):
        relative_errors([1.0, 1.0], [1.0])


def test_leaks_are_refused() -> None:
    frame = pd.DataFrame({"n": [1, 2, 1, 3], "kind": ["a", "a", "a", "b"]})
    with pytest.raises(DataError, match="group 'g1' in training and test"):
        check_folds([Fold("f", np.array([0, 1]), np.array([2, 3]))], frame.assign(n=range(4)), ["g1", "g2", "g1", "g3"])
    with pytest.raises(DataError, match="training row 0 and test row 2"):
        check_folds([Fold("f", np.array([0, 1]), np.array([2, 3]))], frame)
    check_folds([Fold("f", np.array([0, 2]), np.array([1, 3]))], frame, ["g1", "g2", "g1", "g3"])


def test_cross_validation_tests_every_row_once_with_a_model_that_had_not_seen_it() -> None:
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
    result = cross_validate(Recall, frame, y, frame["cnn"], folds=leave_one_group_out(frame["cnn"]))
    np.testing.assert_allclose(result.predicted[::3], [3.0, 8 / 3, 7 / 3, 2.0])
    assert result.fold_names == ("a", "b", "c", "d")
    assert result.by_fold()["mape"].tolist() == pytest.approx([2.0, 1 / 3, 2 / 9, 0.5])
    assert result.errors.n == 12


def test_repeats_stay_together_without_groups() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"n": np.repeat(rng.integers(1, 999, 30), 4)})
    y = (1.0 + 0.1 * frame["n"]) * rng.lognormal(0, 0.05, 120)
    result = cross_validate(lambda: NonNegativeOLS(n_draws=0), frame, y)
    assert result.errors.mape < 0.06
    assert frame.assign(fold=result.fold).groupby("n")["fold"].nunique().max() == 1


def test_a_fold_that_cannot_be_fitted_is_named() -> None:
    class Never:
        def fit(self, X, y):
            raise FitError(f"got too little: {len(X)} rows, {len(y)} times", hint="Measure more.")

    with pytest.raises(FitError, match="left out: fold 0: got too little"):
        cross_validate(Never, pd.DataFrame({"n": range(10)}), np.ones(10))


def test_noise_floor_is_odd_against_even_repeats() -> None:
    """Medians of five odd and five even repeats with 4 % noise: the difference of two such medians, by 20,000 draws."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"cnn": np.repeat(np.arange(400), 10), "round": np.tile(np.arange(10), 400)})
    frame["time_s"] = (1.0 + frame["cnn"]) * rng.lognormal(0, 0.04, 4000)
    odd, even = (np.median(rng.lognormal(0, 0.04, (20_000, 5)), axis=1) for _ in range(2))
    floor = noise_floor(frame.sample(frac=1.0, random_state=0), ["cnn"], "time_s", order="round")
    assert floor.mape == pytest.approx(np.mean(np.abs(odd / even - 1)), rel=0.1)
    assert floor.pooled_cv == pytest.approx(0.04, rel=0.05)
    assert floor.n_configurations == 400
    with pytest.raises(FitError, match="one repeat"):
        noise_floor(frame[frame["round"] == 0], ["cnn"], "time_s")


def test_regret_of_a_choice() -> None:
    assert regret([2.0, 1.0, 3.0], [5.0, 6.0, 7.0]).tolist() == pytest.approx([0.2])
    assert regret([2.0, 1.0, 3.0, 1.0], [5.0, 6.0, 7.0, 9.0], ["a", "a", "b", "b"]).tolist() == pytest.approx([0.2, 9 / 7 - 1])
