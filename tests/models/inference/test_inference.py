"""The summary that is kept with a model: statsmodels' own text, but for the date."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS, WLS

from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.storage.store import model_from_json, model_to_json


def table(n_rows: int = 60) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(1.0, 9.0, n_rows), "noise": rng.standard_normal(n_rows)})
    return frame, pd.Series(3.0 + 2.0 * frame["a"] + 0.3 * rng.standard_normal(n_rows), name="time_s")


def comparable(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("noise", ["absolute", "relative"])
def test_it_is_what_statsmodels_prints_of_the_same_columns(noise: str) -> None:
    """Of the terms that were kept, with the weights of the noise; only date and time are blank."""
    frame, y = table()
    model = StepwiseOLS(terms=["a"], noise=noise, report="none").fit(frame, y)
    columns = pd.DataFrame({"(Intercept)": 1.0, "a": frame["a"]})
    given = OLS(y, columns) if noise == "absolute" else WLS(y, columns, weights=1.0 / y**2)
    theirs = comparable(given.fit(method="qr").summary().as_text())
    ours = comparable(model.report_.statsmodels_summary)
    different = [number for number, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other]
    assert [theirs[number].split(":")[0] for number in different] == ["Date", "Time"]
    assert not any("Date:" in line or "Time:" in line for line in ours)
    assert [ours[number][40:] for number in different] == [theirs[number][40:] for number in different]


def test_a_read_model_has_the_same_text() -> None:
    frame, y = table()
    model = StepwiseOLS().fit(frame, y)
    stored = model_to_json(model)
    again = model_from_json(stored)
    assert again.report_.statsmodels_summary == model.report_.statsmodels_summary
    assert model_to_json(again) == stored


def test_few_rows_pass_in_silence_and_none_left_give_no_summary() -> None:
    frame, y = table(5)
    assert "OLS Regression Results" in StepwiseOLS(report="none").fit(frame, y).report_.statsmodels_summary
    full = StepwiseOLS(lower=["a"], saturated="raise", report="none", terms=["a"]).fit(frame[:3], y[:3])
    assert full.report_.statsmodels_summary is not None
    empty = StepwiseOLS(terms="~ 0 + a", k=1e9, report="none").fit(frame, y)
    assert empty.rank_ == 0
    assert empty.report_.statsmodels_summary is None
