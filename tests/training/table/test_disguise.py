"""Columns that are the target in disguise are told from sizes that make it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.arrays import FloatArray
from mlperf.training.table.columns import explaining_columns
from mlperf.training.table.disguise import is_function_of, named_in_terms, near_notes, scatter_about
from mlperf.training.table.verdict import verdict


def table(n_rows: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    m, n = 2.0 ** rng.integers(3, 10, (2, n_rows))
    times = (1e-5 + 1e-9 * m * n) * np.exp(0.05 * rng.standard_normal(n_rows))
    return pd.DataFrame({"m": m, "n": n, "time_s": times})


@pytest.mark.parametrize(
    "made",
    [np.log10, np.sqrt, lambda y: 3.0 + 250.0 * y, lambda y: 1e-3 / y, lambda y: np.round(np.log10(y), 5)],
    ids=["logarithm", "power", "offset", "reciprocal", "rounded"],
)
def test_an_exact_function_of_the_target_goes_whatever_its_name(made: Callable[[FloatArray], FloatArray]) -> None:
    frame = table().assign(column=lambda rows: made(rows.time_s.to_numpy()))
    kept, gone = explaining_columns(frame, "time_s")
    assert kept == ("m", "n")
    assert "the target" in gone[0].reason or "another unit" in gone[0].reason


def test_sizes_stay_even_where_the_time_is_proportional_to_them() -> None:
    frame = table().assign(flops=lambda rows: rows.m * rows.n * 2.0, gflop=lambda rows: rows.m * rows.n * 2.1e-9)
    frame["time_s"] = 1e-11 * frame.flops
    assert "flops" in explaining_columns(frame.drop(columns="gflop"), "time_s")[0]
    noise = np.exp(0.03 * np.random.default_rng(3).standard_normal(80))
    noisy = frame.drop(columns="flops").assign(time_s=frame.time_s * noise)
    assert "gflop" in explaining_columns(noisy, "time_s")[0]
    assert "time_s follows from gflop alone to" in near_notes(noisy, "time_s", ["m", "n", "gflop"])[0]
    alone = pd.DataFrame({"gflop": frame.gflop, "time_s": 3.0 * frame.gflop + 1.0})
    assert explaining_columns(alone, "time_s")[0] == ("gflop",)


@pytest.mark.parametrize("name", ["energy_j", "Energy (J)", "cost", "price usd", "power", "kwh"])
def test_an_outcome_that_goes_with_the_target_goes_by_its_name(name: str) -> None:
    rng = np.random.default_rng(2)
    frame = table().assign(**{name: lambda rows: 250.0 * rows.time_s * rng.uniform(0.95, 1.05, 80)})
    kept, gone = explaining_columns(frame, "time_s")
    assert kept == ("m", "n")
    assert "an outcome by its name" in gone[0].reason


def test_a_setting_with_the_name_of_an_outcome_stays() -> None:
    frame = table().assign(power_w=np.random.default_rng(4).choice([150.0, 250.0, 350.0], 80))
    assert "power_w" in explaining_columns(frame, "time_s")[0]


def test_rates_per_second_are_rates_and_no_times() -> None:
    frame = table().assign(samples_per_s=lambda rows: np.tile([32.0, 33.0], 40) / rows.time_s)
    assert explaining_columns(frame, "time_s")[1][0].reason.startswith("is made of the target: a rate that tells it to 1.")
    exact = frame.assign(samples_per_s=32.0 / frame.time_s)
    assert "a rate that tells it to less than 0.1 % alone" in explaining_columns(exact, "time_s")[1][0].reason


def test_few_values_whole_numbers_and_noise_are_no_function() -> None:
    y = table().time_s.to_numpy()
    assert is_function_of(2.5 * y, y)
    assert not is_function_of(np.arange(80.0), 1.5 * np.arange(80.0) + 0.5)
    assert not is_function_of(np.tile([0.5, 1.5], 40), np.tile([1.0, 3.0], 40))
    noisy = y * np.exp(0.01 * np.random.default_rng(5).standard_normal(80))
    assert not is_function_of(noisy, y)
    assert 0.005 < scatter_about(noisy, y) < 0.02
    assert scatter_about(y[::-1], y) == np.inf


def test_terms_that_name_the_target_in_disguise_are_told_first() -> None:
    rng = np.random.default_rng(6)
    frame = table().assign(
        log_t=lambda rows: np.log10(rows.time_s), energy_j=lambda rows: rows.time_s * rng.uniform(0.95, 1.05, 80)
    )
    found = named_in_terms(frame, "time_s", ["m", "log_t", "energy_j"])
    assert [note.split()[1] for note in found] == ["log_t", "energy_j"]
    model = mlperf.train(frame, target="time_s", terms=["m*n", "log_t"], method="ols")
    assert verdict(model).startswith("Careful: column log_t seems to be the target itself")


def test_an_error_that_no_clock_allows_is_told_first() -> None:
    size = np.arange(10.0, 70.0)
    model = mlperf.train(pd.DataFrame({"size": size, "time_s": 1e-6 * size}), target="time_s", method="ols")
    assert verdict(model).startswith("Careful: an error below 0.1 %")
