"""Exponential weights against their formula and their guarantee."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.models.online.hedge import Hedge, HedgeSettings


def test_weights_follow_the_formula() -> None:
    rng = np.random.default_rng(0)
    losses = rng.random((40, 3))
    hedge = Hedge(3, HedgeSettings(rate=0.3, discount=0.9, prior=0.4))
    for row in losses:
        hedge.learn(row)
    faded = (losses * 0.9 ** np.arange(40)[::-1, None]).sum(axis=0)
    unit = faded[0] / (0.9 ** np.arange(40)).sum()
    raw = np.array([0.4, 0.3, 0.3]) * np.exp(-0.3 * faded / unit)
    np.testing.assert_allclose(hedge.weights(), raw / raw.sum(), rtol=1e-12)


def test_before_anything_is_known_the_prior_holds() -> None:
    np.testing.assert_allclose(Hedge(4, HedgeSettings(prior=0.7)).weights(), [0.7, 0.1, 0.1, 0.1])


def test_a_reference_that_never_errs_gets_everything() -> None:
    hedge = Hedge(3, HedgeSettings())
    hedge.learn([0.0, 1.0, 0.5])
    np.testing.assert_allclose(hedge.weights(), [1.0, 0.0, 0.0])


@pytest.mark.parametrize("way", ["weights", "leader"])
def test_the_loss_stays_near_the_best_members(way: str) -> None:
    """Regret at most ln(1 / prior) / rate + rate * n / 8 for losses in [0, 1] (Cesa-Bianchi and Lugosi 2006, theorem 2.2)."""
    rng = np.random.default_rng(4)
    n_rows = 2000
    truth = rng.random(n_rows)
    forecasts = np.column_stack([rng.random(n_rows), np.clip(truth + 0.1 * rng.standard_normal(n_rows), 0, 1), rng.random(n_rows)])
    hedge = Hedge(3, HedgeSettings(rate=0.1, discount=1.0, prior=1 / 3, way=way, furthest=100.0))
    loss = np.zeros(4)
    for row, value in zip(forecasts, truth, strict=True):
        found = hedge.combine(row, hedge.weights())
        loss += np.abs(np.append(row, found) - value)
        hedge.learn(np.abs(row - value))
    assert loss[3] <= loss[:3].min() + np.log(3) / 0.1 + 0.1 * n_rows / 8


def test_trust_moves_when_another_member_becomes_better() -> None:
    hedge = Hedge(2, HedgeSettings(rate=0.2, discount=0.98, prior=0.5))
    for _ in range(300):
        hedge.learn([1.0, 2.0])
    assert hedge.weights()[0] > 0.99
    for _ in range(300):
        hedge.learn([1.0, 0.2])
    assert hedge.weights()[1] > 0.99


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(UsageError, match="way"):
        Hedge(2, HedgeSettings(way="vote"))


def test_it_departs_from_the_reference_by_what_the_reference_misses() -> None:
    hedge = Hedge(2, HedgeSettings(prior=0.5, furthest=2.0))
    forecasts = np.array([5.0, 9.0])
    assert hedge.combine(forecasts, hedge.weights()) == 5.0
    for _ in range(10):
        hedge.learn([0.1, 0.1])
    assert hedge.combine(forecasts, hedge.weights()) == pytest.approx(5.2)
    assert hedge.combine(-forecasts, hedge.weights()) == pytest.approx(-5.2)
    assert hedge.combine(np.array([5.0, 5.1]), hedge.weights()) == pytest.approx(5.05)
