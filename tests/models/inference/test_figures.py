"""What a report says about its rows and its selection, counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS


def test_rows_columns_and_candidates_are_counted() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(1.0, 9.0, 30), "b": rng.uniform(1.0, 9.0, 30)})
    frame["twice"] = 2.0 * frame["a"]
    frame.loc[[4, 9], "b"] = np.nan
    model = StepwiseOLS(na="drop", lower=["a", "b"], report="none").fit(frame, 1.0 + frame["a"] + rng.standard_normal(30))
    identity = model.report_.identity
    assert (identity.n_samples, identity.n_dropped) == (28, 2)
    assert (identity.rank, identity.df_resid) == (3, 25)
    assert identity.terms == ("a", "b")
    assert len(identity.aliased) == 1
    assert identity.aliased[0].startswith("twice = ")
    assert not identity.weighted
    assert not identity.saturated_start
    assert not identity.perfect
