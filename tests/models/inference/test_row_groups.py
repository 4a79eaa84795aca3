"""Which rows belong together: rows that were dropped, factors, hostile groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.inference.row_groups import RowGroups, group_numbers


def test_groups_of_dropped_rows_leave_no_gap() -> None:
    groups = group_numbers(["b", "c", "a", "c", "a"], 5)
    assert groups.tolist() == [1, 2, 0, 2, 0]
    rows = RowGroups({}, np.array([1, 2, 4]), groups)
    assert rows.groups().tolist() == [1, 0, 0]
    assert RowGroups({}, np.array([1]), None).groups() is None


def test_configurations_are_equal_in_every_column() -> None:
    columns = {"x": np.array([1.0, 1.0, 2.0, 1.0, 1.0]), "kind": np.array(["u", "v", "u", "u", "u"], dtype=object)}
    found = RowGroups(columns, np.array([0, 1, 2, 4]), None).configurations()
    assert found.tolist() == [0, 1, 2, 0]
    assert RowGroups({}, np.arange(3), None).configurations().tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("groups", "message"),
    [(["a", "b"], "one for each of the 3 rows"), (["a", None, "b"], "got no value"), ([1.0, 2.0, np.nan], "got no value")],
)
def test_hostile_groups_are_refused_at_the_fit(groups: list[object], message: str) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0]})
    with pytest.raises(DataError, match=message):
        StepwiseOLS(report="none").fit(frame, [1.0, 2.0, 3.5], groups=groups)


def test_rows_of_a_formula_with_gaps_keep_their_groups() -> None:
    """Equal to the fit of the complete rows alone."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(1.0, 9.0, 30)})
    y, groups = 2.0 + frame["x"] + rng.standard_normal(30), np.repeat(np.arange(6), 5)
    gaps = frame.assign(x=frame["x"].where(frame.index % 7 != 3))
    dropped = StepwiseOLS(na="drop", report="none").fit(gaps, y, groups=groups).report_.clustered
    kept = gaps["x"].notna().to_numpy()
    alone = StepwiseOLS(report="none").fit(frame[kept], y[kept], groups=groups[kept]).report_.clustered
    np.testing.assert_allclose(dropped.std_err, alone.std_err, rtol=1e-12)
    assert dropped.f_value == pytest.approx(alone.f_value)
