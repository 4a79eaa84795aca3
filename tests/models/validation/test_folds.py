"""Folds that keep groups together, and the guard against leaks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlperf.core.errors import DataError, FitError
from mlperf.models import BestOfFamily, BoostedResidual, GroupJackknifeOLS, LogLearner, LogOLS, ScatterLocal
from mlperf.models.validation.folds import Fold, check_folds, group_labels, grouped_folds, leave_largest_out, leave_one_group_out

pytestmark = pytest.mark.slow


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


def test_leaks_are_refused() -> None:
    frame = pd.DataFrame({"n": [1, 2, 1, 3], "kind": ["a", "a", "a", "b"]})
    with pytest.raises(DataError, match="group 'g1' in training and test"):
        check_folds([Fold("f", np.array([0, 1]), np.array([2, 3]))], frame.assign(n=range(4)), ["g1", "g2", "g1", "g3"])
    with pytest.raises(DataError, match="training row 1 and test row 3"):
        check_folds([Fold("f", np.array([0, 1]), np.array([2, 3]))], frame)
    check_folds([Fold("f", np.array([0, 2]), np.array([1, 3]))], frame, ["g1", "g2", "g1", "g3"])


def test_equal_rows_of_different_groups_are_a_leak_unless_that_is_the_question() -> None:
    frame = pd.DataFrame({"n": [1, 2, 1, 3]})
    fold = Fold("f", np.array([0, 1]), np.array([2, 3]))
    with pytest.raises(DataError, match="training row 1 and test row 3"):
        check_folds([fold], frame, ["a", "b", "c", "d"])
    check_folds([fold], frame, ["a", "b", "c", "d"], equal_rows=True)
    with pytest.raises(DataError, match="group 'a'"):
        check_folds([fold], frame, ["a", "b", "a", "d"], equal_rows=True)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", None, "b", "a"], "groups, row 2: got no value"),
        ([np.nan, 1.0, 1.0, 2.0], "groups, row 1: got no value"),
        (["a", "b", "b"], r"groups of shape \(3,\), expected one for each of the 4 rows"),
        ([["a"], ["b"], ["b"], ["c"]], r"groups of shape \(4, 1\)"),
    ],
)
def test_every_row_needs_one_group(groups: list, message: str) -> None:
    with pytest.raises(DataError, match=message):
        group_labels(groups, 4)


@pytest.mark.parametrize(
    "estimator", [LogOLS(), ScatterLocal(), LogLearner("ridge"), GroupJackknifeOLS(), BestOfFamily(), BoostedResidual(n_folds=2)]
)
def test_estimators_refuse_fewer_groups_than_rows(estimator) -> None:
    n = np.arange(1.0, 9.0)
    with pytest.raises(DataError, match=r"groups of shape \(7,\), expected one for each of the 8 rows"):
        estimator.fit(pd.DataFrame({"n": n}), n, groups=["a"] * 7)
