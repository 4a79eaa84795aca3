"""Columns and scores of tuned kernels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.studies.open_data.tuning import in_octaves, regret_of_top, second_order


def test_second_order_terms_are_all_pairs_and_squares() -> None:
    assert second_order(("a", "b", "c")) == ("a", "b", "c", "a*a", "b*b", "c*c", "a*b", "a*c", "b*c")


def test_octaves_leave_switches_alone() -> None:
    names = ("mwg", "nwg", "kwg", "mdimc", "ndimc", "mdima", "ndimb", "kwi", "vwm", "vwn", "strm", "strn", "sa", "sb")
    made = in_octaves(pd.DataFrame([[8.0] * 10 + [0.0, 1.0, 0.0, 1.0]], columns=names))
    assert made.iloc[0].tolist() == [3.0] * 10 + [0.0, 1.0, 0.0, 1.0]


def test_regret_of_the_predicted_top_ten() -> None:
    measured = np.arange(1.0, 31.0)
    assert regret_of_top(measured, measured) == 0.0
    assert regret_of_top(-measured, measured) == pytest.approx(20.0)
