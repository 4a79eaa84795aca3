"""Candidates that the rows cannot tell apart are named: numpy's correlation, made designs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.models.estimators.stepwise.selection_extras import correlations
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS


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
