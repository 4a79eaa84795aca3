"""One method on a table: an estimator like any other, positive predictions, honest flags, bit-equal after storage."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from mlperf.core.errors import MlperfError
from mlperf.training.table.methods import BOOSTING, METHODS
from mlperf.training.table.table_regressor import TableRegressor, read_columns

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(2.0 ** rng.integers(3, 10, (240, 3)), columns=list("mnk")).assign(gpu=["A", "B"] * 120)
    speed = np.where(frame.gpu == "B", 3.0, 1.0)
    return frame, np.asarray((1e-5 + 2e-11 * speed * frame.m * frame.n * frame.k) * np.exp(0.03 * rng.standard_normal(240)))


@pytest.mark.parametrize("method", METHODS)
def test_it_is_an_estimator(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few trees: the contract is about what surrounds them."""
    monkeypatch.setitem(BOOSTING, "max_iter", 8)
    results = check_estimator(TableRegressor(method), on_skip=None, on_fail=None)
    assert [(each["check_name"], str(each["exception"])) for each in results if each["status"] == "failed"] == []


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_stored_and_answers_bit_equal(method: str, rows: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, times = rows
    fitted = TableRegressor(method).fit(frame, times)
    again = TableRegressor.from_dict(fitted.to_dict())
    np.testing.assert_array_equal(again.predict(frame), fitted.predict(frame))
    np.testing.assert_array_equal(again.in_domain(frame), fitted.in_domain(frame))
    assert np.median(np.abs(fitted.predict(frame) / times - 1.0)) < 0.1


def test_no_time_is_predicted_at_or_below_zero() -> None:
    size = np.linspace(10.0, 20.0, 30)
    fitted = TableRegressor("ols", ["size"]).fit(pd.DataFrame({"size": size}), size - 9.0)
    asked = pd.DataFrame({"size": [5.0, 15.0]})
    np.testing.assert_allclose(fitted.predict(asked), [0.25, 6.0], rtol=1e-9)
    assert list(fitted.in_domain(asked)) == [False, True]
    raw = clone(fitted).set_params(floored=False).fit(pd.DataFrame({"size": size}), size - 9.0)
    assert raw.predict(asked)[0] < 0.0


def test_a_level_never_seen_is_outside(rows: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, times = rows
    fitted = TableRegressor("ols").fit(frame, times)
    asked = frame.head(2).assign(gpu=["A", "Z"])
    assert list(fitted.in_domain(asked)) == [True, False]
    assert np.isfinite(fitted.predict(asked)).all()


def test_many_rows_are_drawn_from(monkeypatch: pytest.MonkeyPatch, rows: tuple[pd.DataFrame, np.ndarray]) -> None:
    from dataclasses import replace

    monkeypatch.setattr("mlperf.training.table.table_regressor.METHODS", {"ratio": replace(METHODS["ratio"], most_rows=100)})
    assert TableRegressor("ratio").fit(*rows).n_used_ == 100


def test_columns_that_terms_read() -> None:
    assert read_columns(["m*n", "log(`batch size`)", "m"]) == ("m", "n", "batch size")
    assert read_columns("~ a * poly(b, 2)") == ("a", "b")


def test_a_damaged_document_names_its_path(rows: tuple[pd.DataFrame, np.ndarray]) -> None:
    document = TableRegressor("ols").fit(*rows).to_dict()
    document["method"] = "magic"
    with pytest.raises(MlperfError, match="method"):
        TableRegressor.from_dict(document)
