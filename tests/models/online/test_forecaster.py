"""The prequential forecaster: nothing is known early, scores are what a second pass finds, and it is never far from persistence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.models.online.forecaster import Forecaster, ForecasterSettings
from mlperf.models.online.learners import LEARNERS
from mlperf.models.online.members import COMPARED, MEMBERS, Persistence, Shape
from mlperf.models.online.protocol import Prequential, prequential

pytestmark = pytest.mark.slow

SHAPE = Shape(3, 2)


def terms_of(levels: np.ndarray, seed: int = 9) -> np.ndarray:
    rng = np.random.default_rng(seed)
    quick, slow = levels[0], levels[0]
    rows = np.zeros((len(levels), 5))
    for row, level in enumerate(levels):
        quick, slow = quick + 0.2 * (level - quick), slow + 0.05 * (level - slow)
        rows[row, :3] = level - quick, level - levels[max(row - 1, 0)], level - slow
    rows[:, 3:] = rng.standard_normal((len(levels), 2))
    return rows


def run(levels: np.ndarray, horizon: int, settings: ForecasterSettings | None = None) -> Prequential:
    return prequential([float(level) for level in levels], list(terms_of(levels)), horizon, SHAPE, settings)


def noise(n_rows: int = 400, seed: int = 0) -> np.ndarray:
    return 5.0 + 0.1 * np.random.default_rng(seed).standard_normal(n_rows)


def random_walk(n_rows: int = 800, seed: int = 0) -> np.ndarray:
    return np.cumsum(0.1 * np.random.default_rng(seed).standard_normal(n_rows))


def jumps(n_rows: int = 800, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    stays = rng.integers(12, 48, n_rows)
    return np.concatenate([np.full(stay, rng.normal(5, 2)) for stay in stays])[:n_rows] + 0.05 * rng.standard_normal(n_rows)


@pytest.mark.parametrize("horizon", [1, 4, 20])
def test_no_forecast_changes_when_the_future_does(horizon: int) -> None:
    levels, rows = random_walk(300), terms_of(random_walk(300))
    other, other_rows = levels.copy(), rows.copy()
    other[200:] += 7.0
    other_rows[200:] *= -3.0
    first = prequential(levels.tolist(), list(rows), horizon, SHAPE).forecasts
    second = prequential(other.tolist(), list(other_rows), horizon, SHAPE).forecasts
    for one, two in zip(first[:200], second[:200], strict=True):
        assert (one.hedged, one.persistence) == (two.hedged, two.persistence)
        assert (one.each == two.each).all()
        assert (one.lower == two.lower) or math.isnan(one.lower)
    assert first[200].hedged != second[200].hedged


@pytest.mark.parametrize("horizon", [1, 4, 20])
def test_scores_are_what_a_second_pass_finds(horizon: int) -> None:
    levels = random_walk(300)
    found = run(levels, horizon)
    said = np.array([made.hedged for made in found.forecasts])[:-horizon]
    error, persistence = np.abs(levels[horizon:] - said), np.abs(levels[horizon:] - levels[:-horizon])
    assert found.n_scored == len(error)
    assert found.mase["hedge"] == pytest.approx(error.sum() / persistence.sum(), rel=1e-12)
    assert found.mape["hedge"] == pytest.approx(np.mean(np.abs(np.exp(said) / np.exp(levels[horizon:]) - 1)), rel=1e-12)
    assert found.mase["persistence"] == 1.0


def test_noise_around_a_level_is_averaged() -> None:
    """Two independent errors against one: the best possible ratio of mean absolute errors is 1 / sqrt(2)."""
    found = run(noise(2000), 1).mase
    assert 0.70 < found["hedge"] < 0.78


def one_jump(n_rows: int = 800, seed: int = 0) -> np.ndarray:
    return np.where(np.arange(n_rows) < 300 + seed, 5.0, 7.0)


@pytest.mark.parametrize("series", [noise, random_walk, jumps, one_jump])
@pytest.mark.parametrize("horizon", [1, 4, 20])
def test_it_is_never_far_worse_than_persistence(series, horizon: int) -> None:
    for seed in range(2):
        assert run(series(800, seed), horizon).mase["hedge"] < 1.05


def test_it_is_held_within_what_was_seen() -> None:
    rows = terms_of(random_walk(200))
    rows[150] = 1e9
    found = prequential(random_walk(200).tolist(), list(rows), 1, SHAPE).forecasts
    levels = random_walk(200)
    for step, made in enumerate(found):
        seen = levels[: step + 1]
        assert seen.min() - 1e-12 <= made.hedged <= seen.max() + 1e-12


def test_a_constant_series_has_no_scaled_error() -> None:
    found = run(np.full(50, 3.0), 2)
    assert math.isnan(found.mase["hedge"])
    assert found.mape["hedge"] == 0.0


def test_intervals_cover_as_promised() -> None:
    settings = ForecasterSettings(level=0.8)
    assert run(jumps(3000), 4, settings).coverage == pytest.approx(0.8, abs=0.03)


def test_learners_and_levels_run_beside_the_members_without_weight() -> None:
    settings = ForecasterSettings(compared={**COMPARED, **LEARNERS})
    found, alone = run(noise(150), 1, settings), run(noise(150), 1)
    assert set(found.mase) == {"hedge", *MEMBERS, *COMPARED, *LEARNERS}
    assert found.mase["hedge"] == alone.mase["hedge"]
    assert all(math.isfinite(value) for value in found.mase.values())
    assert found.to_frame()["forecast"].iloc[0] == "hedge"


def test_persistence_must_come_first() -> None:
    with pytest.raises(UsageError, match="persistence"):
        Forecaster(1, SHAPE, ForecasterSettings(members={"other": lambda _: Persistence()}))
    with pytest.raises(UsageError, match="horizon"):
        Forecaster(0, SHAPE)
