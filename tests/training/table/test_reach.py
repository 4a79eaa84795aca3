"""Intervals widen with the distance beyond what was tested, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.models.validation.folds import leave_largest_out
from mlperf.training.table.reach import LEAST_TESTED, MOST_WIDER, Reach
from mlperf.training.table.table_fit import TableFit


def reach(times: Any, **columns: Any) -> Reach:
    values = np.asarray(times, float)
    return Reach.of(pd.DataFrame(columns), values, leave_largest_out(values, 0.4))


def test_distances_are_those_of_the_rows_that_were_left_out() -> None:
    found = reach([1.0, 2.0, 4.0, 8.0, 16.0], m=[1, 2, 4, 8, 16])
    assert found.tested == pytest.approx(np.log(4.0))
    frame = pd.DataFrame({"m": [16, 64, 256, 1024, 10**9, 1]})
    wider = found.wider(frame, np.array([16.0, 64.0, 64.0, 64.0, 64.0, 1.0]))
    np.testing.assert_allclose(wider, [1.0, 1.0, 2.0, 3.0, MOST_WIDER, 1.0])
    np.testing.assert_allclose(found.wider(frame[:1], np.array([256.0])), [2.0])
    np.testing.assert_allclose(found.wider(frame[:1], np.array([1.0 / 64.0])), [3.0])


def test_sizes_that_are_nearly_equal_or_not_positive_are_no_trap() -> None:
    found = reach([1.0, 1.01, 1.02, 1.03, 1.04], m=[0, 1, 2, 3, 4], k=[-2.0, -2.0, -2.0, -2.0, -2.0])
    assert found.tested == pytest.approx(max(LEAST_TESTED, np.log1p(2.0 / 2.0)))
    wider = found.wider(pd.DataFrame({"m": [8, -5, 4 * (np.e**2 - 1) + 4], "k": -2.0}), np.ones(3))
    np.testing.assert_allclose(wider, [1.0, np.log1p(5 / 4) / np.log(2.0), 2.0 / np.log(2.0)])
    assert np.isfinite(reach([1.0, 2.0, 3.0, 4.0], m=[1, 2, 3, 4]).wider(pd.DataFrame({"m": [0, -3]}), np.ones(2))).all()


@pytest.mark.slow
def test_far_rows_have_wider_intervals_and_near_ones_what_they_had() -> None:
    """14,000 times the largest volume had the interval of a row just outside: -13 % to +18 %."""
    rng = np.random.default_rng(1)
    m, k = rng.integers(64, 4097, (2, 120))
    rows = pd.DataFrame({"m": m, "k": k, "time_s": (2e-5 + 1e-9 * m * k) * np.exp(0.07 * rng.standard_normal(120))})
    model = mlperf.train(rows, target="time_s", terms=["m*k", "m", "k"], report="none", n_folds=3)
    assert isinstance(model.fitted, TableFit)
    document = model.fitted.to_dict()
    again = TableFit.from_dict(document)
    assert document.pop("reach")["tested"] > LEAST_TESTED
    old = TableFit.from_dict(document)
    asked = pd.DataFrame({"m": [1000, 4200, 10**5, 10**6], "k": [1000, 4200, 10**5, 10**6]})
    run, before = again.predict_interval(asked), old.predict_interval(asked)
    np.testing.assert_array_equal(run.upper, model.predict_interval(asked).upper)
    np.testing.assert_array_equal([run.lower[:2], run.upper[:2]], [before.lower[:2], before.upper[:2]])
    width, width_before = np.log(run.upper / run.lower), np.log(before.upper / before.lower)
    assert width[2] > 1.5 * width_before[2]
    assert width[3] > width[2]
    inside = model.in_domain(rows)
    own, old_own = model.predict_interval(rows), old.predict_interval(rows)
    np.testing.assert_array_equal(own.upper[inside], old_own.upper[inside])
