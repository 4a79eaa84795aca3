"""Plain sentences: the error, the range, what to try."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.training.table.verdict import advice, range_text, verdict

pytestmark = pytest.mark.slow


def rows(noise: float) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.uniform(1.0, 100.0, 90)
    return pd.DataFrame({"size": size, "time_s": size * np.exp(noise * rng.standard_normal(90))})


def test_it_says_how_far_and_where() -> None:
    text = verdict(mlperf.train(rows(0.02), target="time_s", n_folds=2))
    assert "typically missed by 1." in text
    assert "size 1." in text
    assert "to 9" in text
    assert "Try" not in text


def test_it_says_what_to_try_where_the_error_is_large() -> None:
    assert "--terms" in verdict(mlperf.train(rows(0.9), target="time_s", n_folds=2))


def test_it_says_where_nothing_is_left_to_find() -> None:
    table = pd.concat([rows(0.1)] * 2, ignore_index=True)
    table["time_s"] *= np.exp(0.1 * np.random.default_rng(1).standard_normal(len(table)))
    table["time_s"] = table["size"] * np.exp(0.1 * np.random.default_rng(2).standard_normal(len(table)))
    assert "Repeats of one row scatter" in verdict(mlperf.train(table, target="time_s", n_folds=2))


def test_repeats_that_scatter_more_than_the_model_errs_are_no_bound_and_silence_no_advice() -> None:
    model = mlperf.train(rows(0.9), target="time_s", n_folds=2, method="ols")
    error = model.errors.errors.mape
    assert "nothing is left to find" in advice(replace(model, noise_floor=0.9 * error))
    assert advice(replace(model, noise_floor=2.0 * error)).startswith("That is much.")
    near = advice(replace(model, noise_floor=1.1 * error))
    assert near.startswith("Repeats of one row scatter by as much (")
    assert "That is much." in near


def test_the_ends_of_a_range_are_told_apart_and_whole_numbers_as_they_are() -> None:
    assert range_text(16.0, 370728.0) == "16 to 370728"
    assert range_text(0.123456, 2.0) == "0.1235 to 2"
    assert range_text(999999998.2, 1000000002.4) == "999999998 to 1e+09"
    assert range_text(2.00000001, 2.00000002) == "2.00000001 to 2.00000002"
    assert range_text(3.0, 3.0) == "3 to 3"
