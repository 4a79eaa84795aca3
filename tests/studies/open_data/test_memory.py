"""Shares and scores of failures on four layouts by hand; the open rows are judged in tests/acceptance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.studies.open_data.memory import brier, right, score_failures, state_bytes


def test_shares_and_scores_by_hand() -> None:
    told, true = np.array([0.9, 0.2, 0.6, 0.1]), np.array([True, False, False, True])
    assert right(told > 0.5, true) == 0.5
    assert brier(told, true) == pytest.approx((0.01 + 0.04 + 0.36 + 0.81) / 4)


def test_states_are_sixteen_bytes_a_parameter_of_the_part() -> None:
    rows = pd.DataFrame({"n_params": [1e9], "tensor_parallel": [2], "pipeline_parallel": [4]})
    assert state_bytes(rows).tolist() == [2e9]


@pytest.mark.data
@pytest.mark.usefixtures("shared_data")
def test_the_bar_of_the_rung() -> None:
    """At least 94, 96, 82 % of layouts told right, and better than the majority."""
    for subject, least in (("70/30", 0.94), ("more nodes", 0.96), ("1B to 3B", 0.82)):
        found = {each.what: each.value for each in score_failures(subject, None).findings}
        assert found["layouts told right"] >= least > found["layouts told right by majority"]
        assert found["Brier score over that of the share"] < 1.0
