"""Rows of a prediction: numbers under the names of the fit are taken as they are, everything else is looked at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.validation import validate_data

from mlperf import StepwiseOLS
from mlperf.core.errors import DataError
from mlperf.models import CensoredNormal, FormAverage, LogOLS
from mlperf.models.formula.inputs import columns_of_fit, name_columns, plain_numbers

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
    with pytest.raises(DataError, match="row 4, column b: got NaN"):
        estimator.fit(asked.assign(b=asked["b"].where(asked.index != 3)), TIMES)
    with pytest.raises(DataError, match="row 4, column b: got NaN"):
        estimator.fit(asked.assign(b=asked["b"].where(asked.index != 3).astype("Int64")), TIMES)
    with pytest.raises(DataError, match="row 3, column y: got an infinity"):
        estimator.fit(asked, TIMES.where(asked.index != 2, np.inf))
    with pytest.raises(DataError, match="row 2, column a: got an infinity"):
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


@pytest.mark.parametrize("y", [TIMES, TIMES.to_numpy(), np.arange(12)], ids=["series", "array", "integers"])
def test_training_rows_that_are_plain_numbers_are_those_that_scikit_learn_reads(y: pd.Series | np.ndarray) -> None:
    rows, one, other = ROWS[["b", "a"]].assign(c=np.arange(12)), StepwiseOLS(), StepwiseOLS()
    found = plain_numbers(rows, y, 2)
    assert found is not None
    name_columns(one, rows)
    expected = validate_data(other, rows, y, reset=True, dtype=np.float64, y_numeric=True)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    assert (found[0].dtype, found[1].dtype) == (np.float64, np.float64)
    assert (one.n_features_in_, one.feature_names_in_.tolist()) == (other.n_features_in_, other.feature_names_in_.tolist())


@pytest.mark.parametrize(
    ("rows", "y"),
    [
        (ROWS, TIMES),
        (ROWS[["a"]].where(ROWS["a"] > 1.0), TIMES),
        (ROWS[["a"]], TIMES.where(TIMES.min() < TIMES)),
        (ROWS[["a"]], TIMES.astype(str)),
        (ROWS[["a"]], TIMES.tolist()),
        (ROWS[["a"]], TIMES[:5]),
        (ROWS[["a"]].set_axis([0], axis=1), TIMES),
        (ROWS[["a"]].to_numpy(), TIMES),
        (ROWS[["a"]].astype("Float64"), TIMES),
        (ROWS[["a"]][:1], TIMES[:1]),
    ],
    ids=["text", "gap", "gap in y", "text in y", "list", "lengths", "number as name", "array", "nullable", "one row"],
)
def test_other_training_rows_are_looked_at_more_closely(rows: pd.DataFrame, y: pd.Series) -> None:
    assert plain_numbers(rows, y, 2) is None


@pytest.mark.parametrize("estimator", [StepwiseOLS(), LogOLS()])
@pytest.mark.parametrize("words", [[*"123456789", "10", "eleven", "12"], pd.Series([*range(10), "eleven", 12.0])])
def test_a_word_among_the_values_to_predict_is_told_with_its_row(estimator: StepwiseOLS | LogOLS, words: object) -> None:
    with pytest.raises(DataError, match="y, row 11: got 'eleven', expected a number"):
        estimator.fit(ROWS[["a", "b"]].to_numpy(), words)


@pytest.mark.parametrize("estimator", [StepwiseOLS(), LogOLS()])
def test_a_fit_that_fails_tells_of_no_fit_before_it(estimator: StepwiseOLS | LogOLS) -> None:
    rows = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match=r"inconsistent numbers of samples: \[3, 2\]") as caught:
        estimator.fit(rows, [1.0, 2.0])
    assert caught.value.hint is None
