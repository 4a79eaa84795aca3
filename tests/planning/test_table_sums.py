"""Intervals of sums hold what they should, whatever rows share: noise alone, the errors of a group, those of equal rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.table_prediction import predict_rows
from mlperf.planning.table_sums import shared_by_groups, sum_interval


def intervals(centre: np.ndarray, spread: np.ndarray) -> Interval:
    return Interval(centre * np.exp(-1.959964 * spread), centre * np.exp(1.959964 * spread), 0.95)


def test_one_row_keeps_its_own_interval() -> None:
    run = Interval(np.array([0.9, 3.0]), np.array([1.2, 3.9]), 0.95)
    found = sum_interval(np.array([0, 1]), np.array([0, 1]), run, run, 0.3, 0.02, 2)
    np.testing.assert_allclose(found.lower, run.lower, rtol=1e-12)
    np.testing.assert_allclose(found.upper, run.upper, rtol=1e-12)


@pytest.mark.parametrize(("mean", "group", "alike"), [(0.0, 0.0, 0.0), (0.02, 0.0, 0.0), (0.0, 0.05, 0.0), (0.0, 0.04, 0.08)])
@pytest.mark.parametrize("n_rows", [2, 30])
def test_drawn_sums_lie_inside_as_often_as_promised(mean: float, group: float, alike: float, n_rows: int) -> None:
    rng = np.random.default_rng(11)
    n_draws, noise = 4000, 0.15
    centre, equal = rng.uniform(1.0, 20.0, n_rows), np.arange(n_rows) // 2
    centre = centre[equal]
    spread = np.full(n_rows, np.sqrt(mean**2 + group**2 + alike**2 + noise**2))
    shared = rng.normal(0.0, np.hypot(mean, group), (n_draws, 1)) + rng.normal(0.0, alike, (n_draws, equal.max() + 1))[:, equal]
    drawn = (centre * np.exp(shared + rng.normal(0.0, noise, (n_draws, n_rows)))).sum(axis=1)
    of_mean = intervals(centre, np.full(n_rows, mean))
    share = group**2 / spread[0] ** 2
    found = sum_interval(np.zeros(n_rows, int), equal, of_mean, intervals(centre, spread), share, noise, 1)
    inside = ((found.lower[0] <= drawn) & (drawn <= found.upper[0])).mean()
    assert 0.935 < inside < 0.965 or (mean > 0 and 0.935 < inside < 0.99)


def test_sums_of_absolute_errors_may_be_negative() -> None:
    run = Interval(np.array([-2.0, -1.0]), np.array([2.0, 3.0]), 0.95)
    still = Interval(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 0.95)
    found = sum_interval(np.zeros(2, int), np.arange(2), still, run, 0.0, np.nan, 1)
    assert found.lower[0] == pytest.approx(1.0 - np.hypot(2.0, 2.0), rel=1e-6)


def test_shares_are_found_in_left_out_rows() -> None:
    rng = np.random.default_rng(12)
    groups = np.repeat(np.arange(200), 10)
    errors = 0.2 * rng.standard_normal(200)[groups] + 0.1 * rng.standard_normal(2000)
    rows = pd.DataFrame({"group": groups.astype(str), "measured": np.exp(errors), "predicted": 1.0})
    assert shared_by_groups(rows) == pytest.approx(0.8, abs=0.05)
    assert shared_by_groups(rows.assign(measured=np.exp(0.1 * rng.standard_normal(2000)))) < 0.03
    assert shared_by_groups(pd.DataFrame()) == 0.0


def stragglers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    slow = np.where(rng.random(shape) < 0.07, rng.uniform(1.5, 3.0, shape), 1.0)
    return np.exp(rng.normal(0.0, 0.03, shape)) * slow


NOISES = {
    "stragglers": stragglers,
    "exponential": lambda rng, shape: 1.0 + 0.3 * rng.standard_exponential(shape),
    "heavy tails": lambda rng, shape: np.exp(0.1 * rng.standard_t(3, shape)),
}


@pytest.mark.parametrize("noise", list(NOISES))
def test_sums_of_skewed_or_heavy_noise_are_covered(noise: str) -> None:
    """A few slow runs make a row's interval long on one side; the middle of it is no run's mean."""
    rng = np.random.default_rng(15)

    def rows(n_rows: int) -> pd.DataFrame:
        size = np.exp(rng.uniform(0.0, 3.0, n_rows))
        return pd.DataFrame({"size": size, "time_s": (2.0 + size) * NOISES[noise](rng, (n_rows,))})

    model = mlperf.train(rows(150), target="time_s", terms=["size"], method="ols", report="none")
    for n_rows, most in ((2, 2.2), (25, 0.8)):
        sums = predict_rows(model, rows(400 * n_rows).assign(job=np.repeat(np.arange(400), n_rows)), by="job").sums
        assert sums is not None
        lower, upper, measured = sums["lower_time_s"], sums["upper_time_s"], sums["measured_time_s"]
        assert ((lower <= measured) & (measured <= upper)).mean() >= 0.92
        assert ((lower <= sums["predicted_time_s"]) & (sums["predicted_time_s"] <= upper)).all()
        assert ((upper - lower) / measured).median() < most


@pytest.mark.parametrize("unmeasured", [0.0, -1.0, np.nan])
def test_the_sum_of_a_group_with_a_row_that_was_not_measured_is_not_known(unmeasured: float) -> None:
    rows = pd.DataFrame({"size": np.arange(1.0, 41.0), "time_s": 2.0 + np.arange(1.0, 41.0), "job": np.arange(40) // 20})
    model = mlperf.train(rows, target="time_s", terms=["size"], method="ols", report="none")
    rows.loc[3, "time_s"] = unmeasured
    sums = predict_rows(model, rows, by="job").sums
    assert sums is not None
    assert sums["measured_time_s"].isna().tolist() == sums["relative_error"].isna().tolist() == [True, False]


def test_values_that_may_be_zero_count_in_the_sum() -> None:
    size = np.arange(-20.0, 20.0)
    rows = pd.DataFrame({"size": size, "change": size, "job": np.arange(40) // 20})
    model = mlperf.train(rows, target="change", terms=["size"], method="ols", noise="absolute", report="none")
    sums = predict_rows(model, rows, by="job").sums
    assert sums is not None
    assert sums["measured_change"].tolist() == [-210.0, 190.0]


def test_sums_of_absolute_errors_are_no_lognormal_ones() -> None:
    """Small times with a large error: the floor under a time says nothing of how far a sum may lie below."""
    rng = np.random.default_rng(16)
    size = np.linspace(1.0, 40.0, 60)
    model = mlperf.train(
        pd.DataFrame({"size": size, "t": np.maximum(size + rng.normal(0.0, 6.0, 60), 0.01)}),
        target="t",
        terms=["size"],
        method="ols",
        noise="absolute",
    )
    new = pd.DataFrame({"size": rng.uniform(5.0, 40.0, 4000), "job": np.arange(4000) // 10})
    sums = predict_rows(model, new.assign(t=new["size"] + rng.normal(0.0, 6.0, 4000)), by="job").sums
    assert sums is not None
    inside = (sums["lower_t"] <= sums["measured_t"]) & (sums["measured_t"] <= sums["upper_t"])
    assert 0.9 <= inside.mean() <= 0.99
    np.testing.assert_allclose((sums["lower_t"] + sums["upper_t"]) / 2.0, sums["predicted_t"], rtol=0.02)


@pytest.mark.parametrize("scatter", [0.0, 0.15])
def test_sums_of_networks_never_measured_are_covered(scatter: float) -> None:
    """Layers of new networks, each with a speed of its own: nine of ten sums and more lie inside, no wider than needed."""
    rng = np.random.default_rng(13)
    n_networks, n_layers = 150, 12
    network = np.repeat(np.arange(n_networks), n_layers)
    size = np.exp(rng.uniform(0.0, 5.0, len(network)))
    own = scatter * rng.standard_normal(n_networks)[network]
    table = pd.DataFrame(
        {"size": size, "network": network, "time_s": (2.0 + size) * np.exp(own + 0.08 * rng.standard_normal(len(size)))}
    )
    train, test = table[network < 50], table[network >= 50]
    model = mlperf.train(train, target="time_s", terms=["size"], groups="network", method="ols", report="none")
    sums = predict_rows(model, test, by="network").sums
    assert sums is not None
    inside = (sums["lower_time_s"] <= sums["measured_time_s"]) & (sums["measured_time_s"] <= sums["upper_time_s"])
    assert 0.88 <= inside.mean() <= 1.0
    width = np.log(sums["upper_time_s"] / sums["lower_time_s"]).median() / 3.92
    assert width < 1.5 * np.hypot(scatter, 0.08 / np.sqrt(n_layers) * 1.7) + 0.01


def test_the_covered_share_of_a_sum() -> None:
    rng = np.random.default_rng(14)
    table = pd.DataFrame({"size": rng.uniform(1.0, 9.0, 80)}).assign(
        time_s=lambda rows: 2.0 + rows["size"] * rng.uniform(0.95, 1.05, 80)
    )
    model = mlperf.train(table, target="time_s", terms=["size"], method="ols", report="none")
    asked = pd.DataFrame({"size": [2.0, 3.0, 95.0, np.nan, 4.0], "net": ["a", "a", "a", "a", "b"]})
    sums = predict_rows(model, asked, by="net").sums
    assert sums is not None
    first = sums.iloc[0]
    assert (first["n_rows"], first["n_predicted"]) == (4, 3)
    assert first["rows_in_domain_share"] == 0.5
    predicted = model.predict(asked.iloc[:3])
    assert first["predicted_time_s"] == pytest.approx(predicted.sum())
    assert first["total_in_domain_share"] == pytest.approx(predicted[:2].sum() / predicted.sum())
    assert sums["total_in_domain_share"].iloc[1] == 1.0
