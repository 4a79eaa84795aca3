"""Rules of thumb and single forms beside the chosen one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import UsageError
from mlperf.studies.open_data.collectives import AsAtTheLargest, ChosenForm, SingleForm, each_row, is_rejected

N, S = (each.ravel() for each in np.meshgrid([2.0, 4.0, 8.0, 16.0], 2.0 ** np.arange(12, 28)))
X = pd.DataFrame({"n_gpus": N, "size_bytes": S})
RING = 2.0 * (N - 1.0) * (1e-5 + S / (N * 2e10))


def test_as_at_the_largest_count_at_the_nearest_size() -> None:
    model = AsAtTheLargest().fit(X, RING)
    largest = RING[N == 16.0]
    assert model.predict(pd.DataFrame({"n_gpus": 64.0, "size_bytes": [2.0**12, 2.0**20 * 1.1]})).tolist() == [
        largest[0],
        largest[8],
    ]


def test_a_single_form_says_nothing_where_rows_cannot_carry_it() -> None:
    assert SingleForm("ring").fit(X, RING).predict(X) == pytest.approx(RING)
    assert SingleForm("two-level").fit(X, RING).predict(X).tolist() == [0.0] * len(X)
    assert (SingleForm("two-level", 8).fit(X, RING).predict(X) > 0.0).all()
    elsewhere = SingleForm("line for each count").fit(X, RING).predict(X.assign(n_gpus=3.0))
    assert elsewhere.tolist() == [0.0] * len(X)


def test_the_chosen_form_answers_as_an_estimator() -> None:
    model = ChosenForm().fit(X, RING)
    assert model.predict(X) == pytest.approx(RING, rel=1e-6)
    assert model.in_domain(X).all()
    assert is_rejected(model.model_)
    bounds = model.predict_interval(X)
    assert (bounds.lower <= bounds.upper).all()
    with pytest.raises(UsageError):
        model.predict_interval(X, kind="often")


def test_each_row_is_left_out_by_itself() -> None:
    folds = each_row(3)
    assert [(fold.train.tolist(), fold.test.tolist()) for fold in folds] == [([1, 2], [0]), ([0, 2], [1]), ([0, 1], [2])]
