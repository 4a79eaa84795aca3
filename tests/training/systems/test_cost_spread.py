"""What costs are off by: least squares' own covariance, and wider intervals the further a step lies from those measured."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from mlperf.core.errors import DataError
from mlperf.training.systems.cost_spread import CostSpread, log_half_width
from mlperf.training.systems.system_fit import SystemFit
from mlperf.training.systems.train_system import train_system


def measured(seed: int, sizes: tuple[int, ...] = (48, 64, 96, 128)) -> pd.DataFrame:
    """Steps of two machines: so much a sample, so much a step, noise of 4 %."""
    made = pd.DataFrame([(n, size) for n in (2, 4) for size in sizes for _ in range(2)], columns=["n_gpus", "subbatch_size"])
    noise = np.exp(0.04 * np.random.default_rng(seed).standard_normal(len(made)))
    return made.assign(n_params=1e6, step_s=(1e-3 * made["subbatch_size"] + 8e-3) * noise)


def test_the_covariance_is_that_of_weighted_least_squares() -> None:
    rng = np.random.default_rng(0)
    design = np.column_stack([rng.uniform(1.0, 9.0, 200), rng.uniform(1e8, 1e9, 200)])
    seconds = design @ [2e-3, 4e-12] * np.exp(0.01 * rng.standard_normal(200))
    known = sm.OLS(np.ones(200), design / seconds[:, None]).fit()
    spread = CostSpread.of(design, seconds, np.asarray(known.params)[None], np.zeros(200, int))
    # The prior that `shared_costs` has is as wide as the step: next to 200 rows it is nothing.
    assert spread.covariance[0] == pytest.approx(np.asarray(known.normalized_cov_params), rel=1e-3)
    assert spread.leverage[0] == pytest.approx(2 / 200, rel=1e-3)


def test_many_rows_have_the_covariance_of_their_triangle() -> None:
    rng = np.random.default_rng(1)
    design = rng.uniform(1.0, 9.0, (2500, 3))
    seconds = design @ [1.0, 2.0, 3.0] * np.exp(0.05 * rng.standard_normal(2500))
    known = sm.OLS(np.ones(2500), design / seconds[:, None]).fit()
    spread = CostSpread.of(design, seconds, np.asarray(known.params)[None], np.zeros(2500, int))
    assert spread.covariance[0] == pytest.approx(np.asarray(known.normalized_cov_params), rel=1e-3)


def test_terms_without_a_cost_are_sure_and_no_leverage_lies_below_the_measured_ones() -> None:
    design = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 4.0]])
    seconds = np.array([1.0, 2.1, 2.9, 4.0])
    spread = CostSpread.of(design, seconds, np.array([[1.0, 0.0]]), np.zeros(4, int))
    assert np.count_nonzero(spread.covariance) == 1
    assert spread.excess(design, seconds, np.zeros(4, int)) == pytest.approx(0.0, abs=0.02)
    assert spread.excess(design, np.zeros(4), np.zeros(4, int)).tolist() == [0.0] * 4


def test_bounds_of_several_kinds_are_joined() -> None:
    nothing = np.array([np.nan, 0.5, np.nan])
    assert log_half_width(0.3, (nothing,), np.array([0.0, 0.0, 16.0])) == pytest.approx([0.3, 0.5, 0.3 * np.sqrt(17.0)])
    assert np.isnan(log_half_width(float("nan"), (nothing,), np.zeros(3))[0])


def test_intervals_hold_steps_far_from_those_measured() -> None:
    """A sub-batch of 2, where 48 was the smallest: what a step costs without samples is hardly told, and the interval says so."""
    asked = measured(0, (2,)).iloc[:1]
    truth = 1e-3 * 2 + 8e-3
    held, held_before, widths = [], [], []
    for seed in range(24):
        model = train_system(measured(seed))
        found = model.predict(asked)
        held.append(found.interval.lower[0] <= truth <= found.interval.upper[0])
        within = model.predict(measured(0))
        widths.append(np.log(found.interval.upper[0] / found.step_s[0]) / np.log(within.interval.upper / within.step_s).min())
        before = np.log(within.interval.upper / within.step_s).min()
        held_before.append(abs(np.log(truth / found.step_s[0])) <= before)
    assert np.median(widths) > 2.0
    assert np.mean(held) > 0.75 > 0.6 > np.mean(held_before)


def test_a_stored_model_has_the_same_intervals_and_older_ones_have_them_as_before() -> None:
    model = train_system(measured(3))
    asked = measured(0, (2, 64))
    document = json.loads(json.dumps(model.to_dict()))
    again = SystemFit.from_dict(document)
    assert again.predict(asked).interval.upper.tolist() == model.predict(asked).interval.upper.tolist()
    older = SystemFit.from_dict({name: value for name, value in document.items() if name != "spread"})
    factor = older.predict(asked).interval.upper / older.predict(asked).step_s
    assert factor == pytest.approx(factor[0])
    assert "spread" not in older.to_dict()
    spread = document["spread"]
    for wrong, message in (
        ({**spread, "leverage": []}, "expected a square"),
        ({"leverage": [0.1], "covariance": [1.0]}, "expected that of"),
        ({**spread, "leverage": [-1.0]}, r"leverage\[0\]"),
    ):
        with pytest.raises(DataError, match=message):
            SystemFit.from_dict({**document, "spread": wrong})
