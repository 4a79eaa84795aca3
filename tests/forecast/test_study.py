"""What the forecast is worth on measured streams of a busy machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.forecast import OnlineStudy, online_study, replay

FOLDER = "dwc_online"


@pytest.fixture(scope="module")
def study(shared_data: Path) -> OnlineStudy:
    folder = shared_data / FOLDER
    return online_study([folder / "raw_counters.csv", folder / "raw_counters_fixed.csv"], learners=False)


def mase(study: OnlineStudy, stream: str, horizon_s: float, forecast: str = "hedge") -> float:
    scores = study.scores
    row = scores[(scores["stream"] == stream) & (scores["horizon_s"] == horizon_s) & (scores["forecast"] == forecast)]
    return float(row["mase"].iloc[0])


def test_on_the_fixed_programme_it_beats_persistence_at_one_second(study: OnlineStudy) -> None:
    assert mase(study, "raw_counters_fixed", 1.0) <= 0.95


@pytest.mark.parametrize("horizon_s", [0.25, 1.0, 5.0])
def test_on_random_phases_it_is_hardly_worse_at_any_horizon(study: OnlineStudy, horizon_s: float) -> None:
    assert mase(study, "raw_counters", horizon_s) <= 1.05
    assert mase(study, "raw_counters", horizon_s, "ewma_0.2") > 1.05


def test_persistence_errs_as_a_plain_difference_says(study: OnlineStudy, shared_data: Path) -> None:
    rows = study.scores[study.scores["forecast"] == "persistence"].set_index(["stream", "horizon_s"])["log_error"]
    for name in ("raw_counters", "raw_counters_fixed"):
        raw = pd.read_csv(shared_data / FOLDER / f"{name}.csv")
        level = np.log(np.maximum(np.diff(raw["units"]) / np.diff(raw["t_s"]), 1.0))
        for horizon_s, steps in ((0.25, 1), (1.0, 4), (5.0, 20)):
            assert rows[name, horizon_s] == pytest.approx(np.abs(level[steps:] - level[:-steps]).mean(), rel=1e-6)


def test_intervals_cover_as_promised(study: OnlineStudy) -> None:
    coverage = study.scores[study.scores["forecast"] == "hedge"]["coverage"]
    assert coverage.between(0.85, 0.95).all()


def test_a_replay_scores_as_the_study(study: OnlineStudy, shared_data: Path) -> None:
    found = replay(shared_data / FOLDER / "raw_counters_fixed.csv", horizon_s=1.0)
    assert found.mase == pytest.approx(mase(study, "raw_counters_fixed", 1.0), abs=1e-12)
    assert found.performance == "units"


def test_groups_ahead_are_known_at_least_as_often_as_by_persistence(shared_data: Path) -> None:
    path = shared_data / FOLDER / "raw_counters_fixed.csv"
    groups = online_study([path], horizons_s=[1.0], learners=False, n_groups=4).groups.set_index("forecast")
    assert groups.loc["hedge", "accuracy"] >= groups.loc["persistence", "accuracy"] > groups.loc["majority", "accuracy"]
    raw = pd.read_csv(path)
    rate = np.maximum(np.diff(raw["units"]) / np.diff(raw["t_s"]), 1.0)
    first = int(0.25 * len(rate))
    label = np.searchsorted(np.quantile(rate[:first], [0.25, 0.5, 0.75]), rate)
    assert groups.loc["persistence", "accuracy"] == pytest.approx(np.mean(label[first:] == label[first - 4 : -4]), abs=0.004)
