"""Candidates that the rows cannot tell apart are named: numpy's correlation, made designs."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mlperf.models.estimators.stepwise.selection_extras import correlations, factor_contrasts
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.formula.terms import Terms
from mlperf.models.storage.store import model_from_json, model_to_json


def design(noise: float, offset: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    """Truth is a; b is a with noise; c is something else."""
    rng = np.random.default_rng(4)
    a = rng.normal(size=200) + offset
    frame = pd.DataFrame({"a": a, "b": -3 * a + noise * rng.normal(size=200), "c": rng.normal(size=200)})
    return frame, 2 * a + rng.normal(size=200) * 0.1


def test_correlation_is_that_of_numpy() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(50, 2)), rng.normal(size=(50, 3))
    both = np.corrcoef(np.hstack([left, right]).T)
    np.testing.assert_allclose(correlations(left - left.mean(axis=0), right - right.mean(axis=0)), both[:2, 2:], rtol=1e-12)
    assert correlations(np.zeros((4, 1)), np.ones((4, 1))).tolist() == [[0.0]]


@pytest.mark.parametrize("noise", ["absolute", "relative"])
def test_a_twin_that_was_left_out_is_named(noise: str) -> None:
    frame, y = design(0.1, offset=20.0)
    model = StepwiseOLS(noise=noise, criterion="bic").fit(frame, y)
    assert len({"a", "b"} & set(model.terms_)) == 1
    (warning,) = [text for text in model.report_.warnings if "left out" in text]
    assert {"a", "b"} <= set(warning.replace(";", " ").split())
    assert "-0.999" in warning


def test_a_large_common_offset_is_no_correlation() -> None:
    """Uncentred, columns with a large mean look parallel."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=100) + 1e3, "b": rng.normal(size=100) + 1e3})
    model = StepwiseOLS().fit(frame, frame["a"].to_numpy() + 0.01 * rng.normal(size=100))
    assert not any("left out" in text for text in model.report_.warnings)


def test_candidates_that_differ_are_not_named() -> None:
    frame, y = design(3.0)
    assert not any("left out" in text for text in StepwiseOLS().fit(frame, y).report_.warnings)


def labelled() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"m": rng.uniform(1.0, 9.0, 90), "gpu": rng.choice(["A100", "H100", "V100"], 90)})
    return frame.assign(time_s=(1.0 + frame["m"]) * frame["gpu"].map({"A100": 2.0, "H100": 1.0, "V100": 3.0}))


def test_differences_between_labels_may_be_negative_and_the_baseline_is_named() -> None:
    """A GPU faster than the first one of the alphabet costs less than it: that is no negative cost."""
    frame = labelled()
    noisy = frame["time_s"] * np.exp(0.02 * np.random.default_rng(7).standard_normal(len(frame)))
    model = StepwiseOLS(terms=["m", "gpu", "m:gpu"], noise="relative", report="none").fit(frame[["m", "gpu"]], noisy)
    assert model.report_.names[-2] == "m:gpuH100"
    assert model.report_.coef[-2] < 0.0
    assert not any("never negative" in text for text in model.report_.warnings)
    assert model.report_.identity.baselines == ("gpu A100",)
    line = "baseline: gpu A100; the coefficient of another label is its difference from the baseline"
    assert line in model.report_.text()
    assert line in model.report_.parts()[2]
    again = model_from_json(model_to_json(model))
    assert line in again.report_.text()


def test_a_file_of_an_earlier_release_names_no_baseline() -> None:
    frame = labelled()
    model = StepwiseOLS(terms=["m", "gpu"], noise="relative", report="none").fit(frame[["m", "gpu"]], frame["time_s"])
    document = json.loads(model_to_json(model))
    del document["report"]["identity"]["baselines"]
    again = model_from_json(json.dumps(document))
    assert "baseline" not in again.report_.text()
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    plain = StepwiseOLS(terms=["m"], noise="relative", report="none").fit(frame[["m"]], frame["time_s"])
    assert "baselines" not in plain.report_.to_dict()["identity"]


def test_contrasts_are_those_of_the_coding() -> None:
    frame = labelled()
    for terms, numbers, bases in ((["m"], set(), ()), (["m", "gpu", "m:gpu"], {2, 3}, ("gpu A100",)), (["m:gpu"], set(), ())):
        learned = Terms.learn(terms, frame)
        found = factor_contrasts(learned.terms, learned.variables, intercept=True)
        assert (set(found.terms), found.baselines) == (numbers, bases)
