"""Scoring on left-out rows: figures worked by hand, statsmodels, methods that remember what they saw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, FitError
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.validation.folds import Fold
from mlperf.studies.open_data.products import largest_products
from mlperf.studies.open_data.scoring.result import figures_of
from mlperf.studies.open_data.scoring.trial import (
    Method,
    Trial,
    device_rows,
    first_rows,
    joined,
    left_out,
    score,
    seventy_thirty,
    shuffled_folds,
)


class Remembers:
    """Predicts the mean of its training rows and remembers them."""

    def __init__(self, offset: float = 0.0) -> None:
        self.offset = offset
        self.seen: list[float] = []

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Remembers:
        self.seen += X["x"].tolist()
        self.mean_ = float(np.mean(y)) + self.offset
        self.choice_ = f"mean of {len(y)}"
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return np.full(len(X), self.mean_)

    def in_domain(self, X: pd.DataFrame) -> np.ndarray:
        return X["x"].to_numpy() < 3

    def predict_interval(self, X: pd.DataFrame, kind: str, level: float) -> Interval:
        assert (kind, level) == ("run", 0.95)
        return Interval(self.predict(X) - 1.0, self.predict(X) + 1.0, level)


class Silent(Remembers):
    """Has no interval."""

    def predict_interval(self, X: pd.DataFrame, **asked: object) -> Interval:
        raise FitError(f"{len(X)} rows, {asked}: none")


def trial(folds: list[Fold] | None = None, groups: Any = None) -> Trial:
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 4.0]})
    split = [Fold("last three", np.array([0, 1]), np.array([2, 3, 4]))] if folds is None else folds
    return Trial("Z1", "machine", X, np.array([2.0, 4.0, 3.0, 6.0, 1.5]), split, 1, groups=groups)


def test_figures_by_hand() -> None:
    """Trained on 2 and 4, it answers 3 for 3, 6 and 1.5: errors 0, 1/2, 1; 2 to 4 holds the first only."""
    found = score(Method("mean", "default", Remembers), trial())
    assert (found.n_train, found.n_test, found.n_groups) == (2, 3, 5)
    assert found.mape == pytest.approx(0.5)
    assert found.median == pytest.approx(0.5)
    assert found.q3 == pytest.approx(0.75)
    assert found.max == pytest.approx(1.0)
    assert found.bias == pytest.approx((0 - 0.5 + 1) / 3)
    assert found.coverage == pytest.approx(1 / 3)
    assert found.half_width == pytest.approx(1 / 3)
    assert found.in_domain == pytest.approx(1 / 3)
    assert found.choice == "mean of 2"
    assert np.isnan(score(Method("mean", "default", Silent), trial()).coverage)


def test_negative_predictions_count_as_zero_and_are_reported() -> None:
    """It answers -3 three times: 100 % each when clipped, 200, 150 and 300 % as they are."""
    found = score(Method("mean", "default", lambda: Remembers(-6.0)), trial())
    assert found.mape == pytest.approx(1.0)
    assert found.mape_unclipped == pytest.approx((2.0 + 1.5 + 3.0) / 3)
    assert found.nonpositive == 1.0


def test_a_method_never_sees_the_rows_it_is_tested_on() -> None:
    folds = [Fold("a", np.array([0, 1, 2]), np.array([3, 4])), Fold("b", np.array([3, 4]), np.array([0, 1, 2]))]
    made: list[Remembers] = []

    def make() -> Remembers:
        made.append(Remembers())
        return made[-1]

    answers = left_out(Method("mean", "default", make), trial(folds))
    assert [one.seen for one in made] == [[0.0, 1.0, 2.0], [3.0, 4.0]]
    assert answers.predicted.tolist() == [3.0, 3.0, 3.75, 3.75, 3.75]
    assert answers.measured.tolist() == [6.0, 1.5, 2.0, 4.0, 3.0]


def test_a_group_on_both_sides_is_refused() -> None:
    with pytest.raises(DataError, match="group"):
        left_out(Method("mean", "default", Remembers), trial(groups=["a", "b", "a", "c", "c"]))


def test_choices_are_counted() -> None:
    assert joined(["", ""]) == ""
    assert joined(["k = 8", "k = 8"]) == "k = 8"
    assert joined(["a", "b", "b"]) == "b (2 of 3), a (1 of 3)"


def test_findings_name_the_method_and_the_figure() -> None:
    found = score(Method("mean", "default", Remembers), trial())
    (error, inside) = figures_of([found], (("mean", "mape"), ("mean", "in_domain")))
    assert (error.task, error.device, error.what, error.value) == ("Z1", "machine", "mean: MAPE", pytest.approx(0.5))
    assert (inside.what, inside.value) == ("mean: share in domain", pytest.approx(1 / 3))


def test_seventy_thirty_is_the_permutation_of_seed_0() -> None:
    """RandomState(0).permutation(10) has been 2 8 4 9 1 6 7 3 0 5 in every version of numpy."""
    (fold,) = seventy_thirty(10)
    assert fold.train.tolist() == [2, 8, 4, 9, 1, 6, 7]
    assert fold.test.tolist() == [3, 0, 5]
    assert seventy_thirty(10, 2)[0].test.tolist() == [3, 0]


def test_ten_folds_test_every_row_once() -> None:
    folds = shuffled_folds(94)
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(94))
    assert {len(fold.test) for fold in folds} == {9, 10}
    assert all(len(fold.train) + len(fold.test) == 94 for fold in folds)


def test_largest_products_are_left_out_whatever_their_order() -> None:
    (fold,) = largest_products(pd.DataFrame({"m": [5, 1, 4, 2, 3], "n": 2, "k": 3}))
    assert fold.test.tolist() == [0]


def test_first_rows_need_enough_rows() -> None:
    assert first_rows(10, 6, 3)[0].test.tolist() == [6, 7, 8]
    with pytest.raises(DataError, match="at least 11"):
        first_rows(10, 8, 3)


def test_a_device_is_found_by_part_of_its_name_and_repeats_go() -> None:
    frame = pd.DataFrame({"device": ["Tesla P4", "Tesla T4", "Tesla P4", "Tesla P4"], "m": [1, 2, 1, 3], "t": [0.1, 0.2, 0.3, 0.4]})
    assert device_rows(frame, "P4", ["m"])["t"].tolist() == [0.1, 0.4]
    assert len(device_rows(frame, "P4")) == 3
    for name in ("Tesla", "V100"):
        with pytest.raises(DataError, match="Tesla P4, Tesla T4"):
            device_rows(frame, name)
