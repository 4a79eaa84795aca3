"""Left-out errors as logarithms, and the score of a model that left nothing out."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from mlperf.training.gradient.score import GradientScore


def test_residuals_are_logarithms_of_measured_over_predicted_where_there_is_a_prediction() -> None:
    steps = pd.DataFrame({"cnn": ["a", "b"], "subbatch_size": [1, 1], "measured_s": [2.0, 3.0], "linear_s": [1.0, math.nan]})
    score = GradientScore(steps, pd.DataFrame(), pd.DataFrame(), 0.01, 0.02)
    assert score.log_residuals("linear") == pytest.approx([math.log(2.0)])


def test_a_model_without_kernels_knows_no_spread() -> None:
    score = GradientScore.unknown()
    assert math.isnan(score.step_cv)
    assert score.predictions.empty
