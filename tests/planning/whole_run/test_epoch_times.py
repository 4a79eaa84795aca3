"""Draws of an epoch from its interval, or from draws; what is no prediction of epochs is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mlperf.core.errors import DataError, UsageError
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.whole_run.epoch_times import EpochTimes
from mlperf.systems.base.times import RunGrid


def epochs(value: float = 100.0, lower: float = 90.0, upper: float = 130.0, level: float = 0.9, **others: Any) -> EpochTimes:
    one = np.array([1])
    interval = Interval(np.array([lower]), np.array([upper]), level)
    return EpochTimes(pd.DataFrame({"n_nodes": one}), np.array([value]), interval, one, one, one, np.array([True]), **others)


def test_draws_have_the_interval_for_quantiles_on_either_side() -> None:
    drawn = epochs().draw(200_000, np.random.default_rng(0))
    assert drawn.shape == (200_000, 1)
    assert_allclose(np.quantile(drawn, [0.05, 0.5, 0.95]), [90.0, 100.0, 130.0], rtol=0.003)


def test_an_interval_without_width_does_not_vary() -> None:
    assert_allclose(epochs(lower=100.0, upper=100.0).draw(10, np.random.default_rng(0)), 100.0)


def test_given_draws_are_taken_whole() -> None:
    given = np.array([[80.0], [120.0]])
    drawn = epochs(draws=given).draw(1000, np.random.default_rng(0))
    assert set(drawn.ravel()) == {80.0, 120.0}


def test_a_prediction_of_any_system_gives_its_epochs() -> None:
    run = RunGrid.product([1, 2], [4], [8], 1000)
    interval = Interval(np.array([9.0, 4.0]), np.array([11.0, 6.0]), 0.95)
    prediction = SimpleNamespace(
        epoch_s=np.array([10.0, 5.0]),
        prediction_interval={"epoch_s": interval},
        run=run,
        in_domain={"epoch_s": np.array([True, False])},
        system="data-parallel",
        source={"forward": "model", "exchange": "assumed", "overhead": "not measured, counted as 0"},
        other_machine=("another processor",),
    )
    found = EpochTimes.of(prediction)
    assert (found.system, found.assumed, found.other_machine, found.calibrated) == (
        "data-parallel",
        ("exchange", "overhead (counted as 0)"),
        ("another processor",),
        False,
    )
    assert found.take(np.array([False, True])).assumed == found.assumed
    assert_allclose(found.n_gpus, [4, 8])
    assert found.configs["subbatch_size"].tolist() == [8, 8]
    assert found.in_domain.tolist() == [True, False]
    with pytest.raises(UsageError, match="without epochs"):
        EpochTimes.of(SimpleNamespace(prediction_interval={}))


@pytest.mark.parametrize(
    ("value", "lower", "upper"), [(0.0, 0.0, 130.0), (100.0, 101.0, 130.0), (float("nan"), 1.0, 130.0), (100.0, 90.0, float("inf"))]
)
def test_what_is_no_epoch_is_refused(value: float, lower: float, upper: float) -> None:
    with pytest.raises(DataError, match="inside their intervals"):
        epochs(value, lower, upper)
    with pytest.raises(DataError, match="shapes"):
        EpochTimes(
            pd.DataFrame({"n_nodes": [1, 2]}),
            np.array([1.0]),
            Interval(np.array([1.0]), np.array([1.0]), 0.9),
            *[np.array([1])] * 3,
            np.array([True]),
        )
