"""A stored model of kernels answers as the fitted one, and says where it may not be asked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mlperf import load_model, save_model
from mlperf.core.errors import DataError, DomainError, UsageError
from mlperf.studies.kernels import (
    KernelTimes,
    asked_kernels,
    choose_setting,
    predict_kernels,
    train_kernels,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def halves(made: KernelTimes) -> tuple[KernelTimes, KernelTimes]:
    """Kernels to learn from, and kernels that were never run; twins on one side."""
    rows = made.sweep(choose_setting(made))
    names = sorted(set(rows.groups))
    known = np.isin(rows.groups, names[: 3 * len(names) // 4])
    return rows.rows(known), rows.rows(~known)


@pytest.mark.parametrize("learner", ["linear", "boosting"])
def test_unseen_kernels(halves: tuple[KernelTimes, KernelTimes], learner: str, tmp_path: Path) -> None:
    known, unseen = halves
    model = train_kernels(known, learner_name=learner, n_folds=4)
    found = predict_kernels(model, unseen)
    assert found.score["mape"] < 0.2
    assert found.score["rank"] > 0.8
    assert (found.prediction_interval.lower <= found.predicted_s).all()
    assert (found.predicted_s <= found.prediction_interval.upper).all()
    save_model(model, tmp_path / "kernels.json")
    again = predict_kernels(load_model(tmp_path / "kernels.json"), unseen)
    assert again.predicted_s.tolist() == found.predicted_s.tolist()
    assert again.prediction_interval.upper.tolist() == found.prediction_interval.upper.tolist()
    assert again.in_domain.tolist() == found.in_domain.tolist()


def test_a_source_model_answers_for_a_pattern_alone(halves: tuple[KernelTimes, KernelTimes]) -> None:
    known, unseen = halves
    model = train_kernels(known, features="swc-s", learner_name="linear", n_folds=4)
    pattern = str(unseen.frame["pattern"].iloc[0])
    alone = predict_kernels(model, asked_kernels([pattern], 100))
    beside = predict_kernels(model, unseen)
    assert alone.predicted_s[0] == pytest.approx(beside.predicted_s[0], rel=1e-12)
    assert alone.score == {}


def test_outside_the_domain(halves: tuple[KernelTimes, KernelTimes]) -> None:
    known, _ = halves
    model = train_kernels(known, features="swc-s", learner_name="linear", n_folds=4)
    far = asked_kernels(["ij-jlk-kil"], 7)
    assert not predict_kernels(model, far).in_domain.any()
    with pytest.raises(DomainError, match="outside the measured domain"):
        predict_kernels(model, far, strict=True)


def test_counts_that_are_missing_are_named(halves: tuple[KernelTimes, KernelTimes]) -> None:
    model = train_kernels(halves[0], learner_name="linear", n_folds=0)
    with pytest.raises(DataError, match="in_"):
        predict_kernels(model, asked_kernels(["ij-jlk-kil"], 100))


def test_what_a_file_cannot_hold(halves: tuple[KernelTimes, KernelTimes], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot hold"):
        save_model(train_kernels(halves[0], learner_name="forest", n_folds=0), tmp_path / "model.json")


def test_a_damaged_file_is_refused_with_its_place(halves: tuple[KernelTimes, KernelTimes], tmp_path: Path) -> None:
    path = tmp_path / "kernels.json"
    save_model(train_kernels(halves[0], learner_name="linear", n_folds=0), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["machine"]["caches"][0]["size_bytes"] = -1
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DataError, match="size_bytes") as caught:
        load_model(path)
    assert "$.machine.caches[0]" in str(caught.value)


def test_commands_for_campaigns_do_not_take_it(halves: tuple[KernelTimes, KernelTimes], tmp_path: Path) -> None:
    path = tmp_path / "kernels.json"
    save_model(train_kernels(halves[0], learner_name="linear", n_folds=0), path)
    with pytest.raises(UsageError, match="single kernels") as caught:
        load_model(path, "system", "table")
    assert "mlperf kernels predict" in str(caught.value.hint)
