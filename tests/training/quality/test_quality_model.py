"""A known law of learning is found again, stored and offered as time to a target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf import load_model, save_model
from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.training.quality import fit_quality_table, time_to_target
from mlperf.training.quality.quality_model import QualityModel

NOISE = 0.05


def law(minibatch: np.ndarray, staleness: np.ndarray) -> np.ndarray:
    """Epochs = 2 mb^0.4 (1 + tau)^0.8."""
    return 2.0 * minibatch**0.4 * (1.0 + staleness) ** 0.8


def table(n_rows: int = 60) -> pd.DataFrame:
    """Random settings with a relative noise of 5 %."""
    rng = np.random.default_rng(3)
    size, age = np.exp(rng.uniform(1.5, 5.5, n_rows)), rng.uniform(0.8, 4.0, n_rows)
    epochs = law(size, age) * np.exp(NOISE * rng.standard_normal(n_rows))
    return pd.DataFrame({"mean_minibatch_size": size, "staleness": age, "epochs_to_target": epochs})


@pytest.fixture(scope="module")
def quality() -> QualityModel:
    return fit_quality_table(table(), 0.9)


def test_the_law_is_found(quality: QualityModel) -> None:
    """60 rows with 5 % noise: the curve is known to about 2 %."""
    size, age = np.array([10.0, 100.0]), np.array([1.0, 3.0])
    assert quality.epochs(size, age) == pytest.approx(law(size, age), rel=0.04)
    assert quality.errors is not None
    assert quality.errors.errors.mape < 1.5 * NOISE


def test_intervals_hold_runs_and_the_curve(quality: QualityModel) -> None:
    rows = table(400)
    found = quality.predict(rows["mean_minibatch_size"].to_numpy(), rows["staleness"].to_numpy())
    inside = (found.lower <= rows["epochs_to_target"]) & (rows["epochs_to_target"] <= found.upper)
    # Four standard errors of a share of 0.95 among 400.
    assert inside.mean() == pytest.approx(0.95, abs=0.05)
    assert np.all(found.upper - found.lower > found.mean_upper - found.mean_lower)


def test_a_place_nobody_measured_is_flagged(quality: QualityModel) -> None:
    found = quality.predict(np.array([50.0, 1e5]), np.array([2.0, 2.0]))
    assert found.in_domain.tolist() == [True, False]


def test_time_is_epochs_times_their_length(quality: QualityModel) -> None:
    size, age = np.array([[20.0], [80.0]]), np.array([1.0, 2.0, 3.0])
    answer = time_to_target(quality, 30.0 * np.ones((2, 3)), size, age)
    assert answer.seconds == pytest.approx(30.0 * quality.epochs(size, age))
    assert answer.seconds.shape == (2, 3)
    assert np.all((answer.lower_s < answer.seconds) & (answer.seconds < answer.upper_s))


def test_the_file_gives_the_same_answers(quality: QualityModel, tmp_path: Path) -> None:
    save_model(quality, tmp_path / "quality.json")
    again = load_model(tmp_path / "quality.json")
    size, age = np.array([33.0]), np.array([1.7])
    assert again.predict(size, age).upper.tolist() == quality.predict(size, age).upper.tolist()
    assert again.target_accuracy == quality.target_accuracy


def test_a_broken_file_is_named(quality: QualityModel, tmp_path: Path) -> None:
    path = tmp_path / "quality.json"
    save_model(quality, path)
    path.write_text(path.read_text().replace('"target_accuracy":0.9', '"target_accuracy":9'))
    with pytest.raises(DataError, match=r"quality.json: \$.target_accuracy"):
        load_model(path)


def cut(rows: pd.DataFrame, most: float) -> pd.DataFrame:
    """The same runs, ended after ``most`` epochs."""
    return rows.assign(epochs_to_target=rows["epochs_to_target"].where(rows["epochs_to_target"] <= most), n_epochs=most)


def test_runs_that_ended_early_do_not_bend_the_curve() -> None:
    """A quarter is cut off, at the largest mini-batches and ages: where they were is still told to a few errors of the curve."""
    rows = cut(table(), 25.0)
    found = fit_quality_table(rows, 0.9)
    assert found.n_censored == rows["epochs_to_target"].isna().sum() > 10
    size, age = np.array([100.0, 200.0]), np.array([3.0, 3.0])
    assert found.epochs(size, age) == pytest.approx(law(size, age), rel=0.15)
    assert np.all(found.rows.loc[rows["epochs_to_target"].isna(), "predicted_epochs"] > 25.0 * (1.0 - 4.0 * NOISE))


def test_a_run_that_ended_nowhere_is_refused() -> None:
    rows = table()
    rows.loc[::6, "epochs_to_target"] = np.nan
    with pytest.raises(DataError, match="n_epochs"):
        fit_quality_table(rows, 0.9)


def test_a_model_that_was_never_judged_says_so(quality: QualityModel) -> None:
    assert quality.judgement is None
    assert quality.experimental is not None


def test_the_judgement_is_stored(tmp_path: Path) -> None:
    rows = table().assign(n_nodes=np.arange(60) % 3 + 1, n_gpus_per_node=np.arange(60))
    found = fit_quality_table(rows, 0.9)
    save_model(found, tmp_path / "quality.json")
    again = load_model(tmp_path / "quality.json")
    assert found.judgement is not None
    assert again.judgement.factor == found.judgement.factor < 1.5
    assert again.experimental is found.experimental is None


def test_too_few_settings_are_refused() -> None:
    with pytest.raises(FitError, match="5 settings"):
        fit_quality_table(table(5), 0.9)


def test_a_target_in_percent_is_refused() -> None:
    with pytest.raises(UsageError, match="fraction"):
        fit_quality_table(table(), 90.0)
