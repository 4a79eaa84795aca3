"""Rows of a prediction: numbers under the names of the fit are taken as they are, everything else is looked at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf import StepwiseOLS
from mlperf.core.errors import DataError
from mlperf.models import CensoredNormal, FormAverage, LogOLS
from mlperf.models.formula.inputs import columns_of_fit

ROWS = pd.DataFrame({"a": np.linspace(1.0, 3.0, 12), "b": np.tile([1.0, 2.0, 4.0], 4), "note": "x"})
TIMES = 2.0 * ROWS["a"] + 3.0 * ROWS["b"]


@pytest.fixture
def fitted() -> StepwiseOLS:
    return StepwiseOLS(terms=("a", "b")).fit(ROWS, TIMES)


def test_columns_are_found_among_others_and_in_any_order(fitted: StepwiseOLS) -> None:
    asked = ROWS[["note", "b", "a"]].assign(c=1)
    found = columns_of_fit(fitted, asked, among_others=True)
    assert found is not None
    assert found.tolist() == ROWS[["a", "b"]].to_numpy().tolist()
    assert fitted.predict(asked) == pytest.approx(TIMES.to_numpy())
    assert columns_of_fit(fitted, asked) is None


@pytest.mark.parametrize(
    "asked",
    [
        ROWS.assign(a=np.nan),
        ROWS.assign(b=np.inf),
        ROWS.assign(b="many"),
        ROWS[["a", "note"]],
        ROWS.iloc[:0],
        pd.concat([ROWS, ROWS[["a"]]], axis=1),
        ROWS[["a", "b"]].to_numpy(),
    ],
    ids=["a gap", "an infinity", "a label", "a column less", "no row", "a name twice", "an array"],
)
def test_what_is_left_to_the_checks(fitted: StepwiseOLS, asked: object) -> None:
    assert columns_of_fit(fitted, asked, among_others=True) is None


def test_the_checks_say_what_is_wrong(fitted: StepwiseOLS) -> None:
    with pytest.raises(DataError, match="no column 'b'"):
        fitted.predict(ROWS[["a", "note"]])
    with pytest.raises(DataError, match="two columns 'a'"):
        fitted.predict(pd.concat([ROWS, ROWS[["a"]]], axis=1))
    with pytest.raises(DataError, match="NaN"):
        fitted.predict(ROWS.assign(a=np.nan))


ESTIMATORS = [StepwiseOLS(), LogOLS(), CensoredNormal(), FormAverage()]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_gap_is_told_with_row_and_column(estimator) -> None:
    asked = ROWS[["a", "b"]]
    with pytest.raises(DataError, match="row 3, column b: got NaN"):
        estimator.fit(asked.assign(b=asked["b"].where(asked.index != 3)), TIMES)
    with pytest.raises(DataError, match="row 3, column b: got NaN"):
        estimator.fit(asked.assign(b=asked["b"].where(asked.index != 3).astype("Int64")), TIMES)
    with pytest.raises(DataError, match="row 2, column y: got an infinity"):
        estimator.fit(asked, TIMES.where(asked.index != 2, np.inf))
    with pytest.raises(DataError, match="row 1, column a: got an infinity"):
        estimator.fit(asked, TIMES).predict(asked.assign(a=asked["a"].where(asked.index != 1, np.inf)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_name_stands_for_one_column(estimator) -> None:
    with pytest.raises(DataError, match="two columns 'a'"):
        estimator.fit(pd.concat([ROWS[["a", "b"]], ROWS[["a"]]], axis=1), TIMES)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_dates_are_no_numbers_since_their_unit_is_any(estimator, unit: str) -> None:
    days = pd.to_timedelta(np.arange(1.0, 13.0), unit="D").astype(f"timedelta64[{unit}]")
    for column, told in ((pd.Timestamp("2026-01-01") + days, "dates"), (days, "spans of time")):
        with pytest.raises(DataError, match=f"column b: got {told}"):
            estimator.fit(ROWS[["a"]].assign(b=column), TIMES)
        with pytest.raises(DataError, match=f"y: got {told}"):
            estimator.fit(ROWS[["a"]], pd.Series(column))
    # As labels days are what they are.
    labelled = StepwiseOLS.from_formula("t ~ factor(day)", pd.DataFrame({"t": TIMES, "day": days.floor("6D")}))
    assert len(labelled.coef_) == 2
