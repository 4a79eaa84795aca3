"""The choice: the simplest among those that err alike and predict no time <= 0, judged by groups it has not seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import FitError
from mlperf.models.validation.folds import configuration_groups, grouped_folds
from mlperf.training.table.choice import Choice, choose_method, compared_rows, cross_chosen, left_out_material, simplest
from mlperf.training.table.methods import METHODS
from mlperf.training.table.table_regressor import TableRegressor

pytestmark = pytest.mark.slow

N_FOLDS = 3


def choose(
    frame: pd.DataFrame, times: np.ndarray, methods: tuple[str, ...] = tuple(METHODS), *, terms: object = None, stated: bool = False
) -> Choice:
    return choose_method(
        frame,
        times,
        configuration_groups(frame),
        lambda name: TableRegressor(name, terms),
        methods,
        lambda keys: grouped_folds(keys, N_FOLDS, 0),
        stated=stated,
    )


def cost(seed: int, n_rows: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(2.0 ** rng.uniform(3, 9, (n_rows, 3)), columns=list("mnk"))
    return frame, np.asarray((1e-5 + 2e-11 * frame.m * frame.n * frame.k) * np.exp(0.05 * rng.standard_normal(n_rows)))


def test_a_sum_of_costs_is_left_to_the_method_that_explains() -> None:
    assert choose(*cost(0)).chosen == "ols"


def test_a_power_law_is_left_to_logarithms() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(2.0 ** rng.uniform(0, 12, (150, 2)), columns=["a", "b"])
    times = np.asarray(frame.a**0.7 * frame.b**-1.3 * np.exp(0.05 * rng.standard_normal(150)))
    found = choose(frame, times)
    assert found.chosen == "log"
    assert found.rows.errors.mape < 0.06
    assert found.beyond == "boosted-log"


@pytest.mark.parametrize(("stated", "beyond"), [(False, "log"), (True, "quantile")])
def test_of_few_rows_costs_that_were_stated_go_on_where_a_power_law_bends(stated: bool, beyond: str) -> None:
    frame = pd.DataFrame({"a": 2.0 ** np.random.default_rng(1).uniform(0, 12, 24)})
    times = np.asarray(frame.a**0.5)
    found = choose(frame, times, ("log", "quantile"), terms=("a",), stated=stated)
    assert (found.chosen, found.beyond) == ("log", beyond)


def test_what_predicts_a_time_below_zero_cannot_win() -> None:
    size = np.random.default_rng(2).uniform(0.0, 10.0, 200)
    times = np.asarray(np.where(size < 1.0, 1.0, np.exp(size)))
    found = choose(pd.DataFrame({"size": size}), times, ("ols", "log", "local"), terms=("size",))
    table = found.table.set_index("method")
    assert table.loc["ols", "nonpositive"] > 0.0
    assert found.chosen != "ols"


def test_ties_go_to_the_simpler_one() -> None:
    losses = {"ols": np.array([0.10, 0.12, 0.09, 0.11]), "boosted": np.array([0.11, 0.09, 0.10, 0.10])}
    assert simplest(losses, ["ols", "boosted"]) == "ols"
    assert simplest({**losses, "ols": losses["ols"] + 1.0}, ["ols", "boosted"]) == "boosted"
    assert simplest(losses, ["boosted"]) == "boosted"


def test_the_error_of_a_fold_is_that_of_a_method_chosen_without_it() -> None:
    found = choose(*cost(3), ("ols", "log", "ratio"))
    assert len(found.rows.choices) == N_FOLDS
    assert found.rows.errors.n == 150
    assert found.rows.errors.mape < 0.06


def test_the_domain_of_a_fold_is_that_of_the_method_that_answers_it() -> None:
    rows = choose(*cost(3), ("ols",)).rows
    poor = replace(rows, predicted=3.0 * rows.predicted, in_domain=~rows.in_domain)
    codes = np.arange(len(rows.measured))
    for found in ({"ols": rows, "log": poor}, {"ols": poor, "log": rows}):
        answers = cross_chosen(found, codes)
        assert np.array_equal(answers.in_domain, rows.in_domain)
        assert np.array_equal(answers.predicted, rows.predicted)


def test_a_method_that_cannot_be_fitted_is_noted() -> None:
    frame, times = cost(4, 12)
    table = choose(frame, times).table.set_index("method")
    assert table.loc["ols", "note"] == ""
    with pytest.raises(FitError, match="no method could be fitted"):
        choose(frame, times, ())


def test_a_large_table_is_compared_in_whole_groups() -> None:
    keys = np.repeat(np.arange(500), 20)
    used = compared_rows(keys, 0, 1000)
    counts = np.bincount(keys[used])
    assert set(counts[counts > 0]) == {20}
    assert 900 <= len(used) <= 1000
    assert len(compared_rows(keys[:300], 0)) == 300


def test_what_was_missed_beyond_the_domain_of_a_fold_widens_intervals_out_there_alone() -> None:
    frame, times = cost(5)
    found = choose(frame, times, ("ols", "log"))
    fitted = TableRegressor("ols", None).fit(frame, times)
    assert 0 < (~found.rows.in_domain).sum() < 60

    def material(predicted: np.ndarray, in_domain: np.ndarray) -> tuple[dict[str, object], float]:
        near, _, far = left_out_material(
            replace(found, rows=replace(found.rows, predicted=predicted, in_domain=in_domain)), frame.to_numpy(), fitted
        )
        assert near is not None
        assert far is not None
        return near.to_dict(), far.bounds(0.95)[1]

    told, inside = found.rows.predicted, found.rows.in_domain
    poor = np.where(inside, told, told / 50.0)
    assert material(poor, inside)[0] == material(told, inside)[0]
    assert material(poor, inside)[1] > material(told, inside)[1]
    everywhere = material(poor, np.zeros_like(inside))
    assert everywhere[0]["n_samples"] == len(times)
    assert material(poor, inside)[0]["n_samples"] == inside.sum()
    assert everywhere[1] == material(told, np.ones_like(inside))[1]


def test_of_few_rows_all_errors_tell_how_far_off_rows_beyond_the_domain_may_be() -> None:
    frame, times = cost(6, 30)
    found = choose(frame, times, ("ols", "log"))
    inside = found.rows.in_domain
    fitted = TableRegressor("ols", None).fit(frame, times)
    assert found.residuals_beyond is None
    assert 10 <= inside.sum() < 30
    near, _, far = left_out_material(found, frame.to_numpy(), fitted)
    assert near is not None
    assert far is not None
    assert (near.n_samples, far.n_samples) == (inside.sum(), 30)
    found = replace(found, rows=replace(found.rows, in_domain=np.arange(30) < 9))
    near, _, far = left_out_material(found, frame.to_numpy(), fitted)
    assert near is not None
    assert near.n_samples == 30
    assert far is None
