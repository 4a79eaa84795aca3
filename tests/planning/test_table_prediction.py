"""Rows as they come are predicted: repeats alike, missing cells and new labels named with file and line, old models read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError, DomainError, UsageError
from mlperf.models.storage.store import model_to_dict
from mlperf.planning import table_prediction
from mlperf.planning.table_prediction import predict_rows
from mlperf.training.fits.ratio_model import Scaled
from mlperf.training.table.table_model import TableModel

pytestmark = pytest.mark.slow

N_ROWS = 150


def measured() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {"m": rng.integers(1, 60, N_ROWS), "k": rng.uniform(0.5, 4.0, N_ROWS), "gpu": rng.choice(["A", "C"], N_ROWS)}
    )
    factor = table["gpu"].map({"A": 1.0, "C": 3.0})
    return table.assign(time_s=(1e-5 + 1e-6 * table["m"] * table["k"]) * factor * np.exp(0.05 * rng.standard_normal(N_ROWS)))


@pytest.fixture(scope="module")
def model() -> TableModel:
    return mlperf.train(measured(), target="time_s", terms=["m*k", "gpu", "I(m*k):gpu"], method="ols")


def test_every_row_is_answered_as_by_itself_in_any_chunks(model: TableModel, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pd.concat([measured(), measured().iloc[::-1]], ignore_index=True)
    monkeypatch.setattr(table_prediction, "CHUNK", 7)
    found = predict_rows(model, rows)
    np.testing.assert_array_equal(found.predicted, model.predict(rows))
    np.testing.assert_array_equal(found.in_domain, model.in_domain(rows))
    for kind, interval in (("mean", found.confidence_interval), ("run", found.prediction_interval)):
        direct = model.predict_interval(rows, kind)
        np.testing.assert_array_equal(interval.lower, direct.lower)
        np.testing.assert_array_equal(interval.upper, direct.upper)


def test_columns_say_the_unit_and_the_error(model: TableModel) -> None:
    frame = predict_rows(model, measured()).to_frame()
    names = [f"{name}_time_s" for name in ("predicted", "mean_lower", "mean_upper", "run_lower", "run_upper")]
    assert list(frame)[-7:] == [*names, "relative_error", "in_domain"]
    np.testing.assert_allclose(frame["relative_error"], frame["predicted_time_s"] / frame["time_s"] - 1.0)
    assert "relative_error" not in predict_rows(model, measured().drop(columns="time_s")).to_frame()


def test_missing_cells_and_new_labels_are_named_and_the_rest_is_predicted(model: TableModel, tmp_path: Path) -> None:
    rows = measured().astype(object)
    rows.loc[[3, 5], "m"] = ""
    rows.loc[5, "gpu"] = ""
    rows.loc[8, "gpu"] = "B"
    rows.to_csv(tmp_path / "new.csv", index=False)
    found = predict_rows(model, tmp_path / "new.csv")
    assert np.flatnonzero(np.isnan(found.predicted)).tolist() == [3, 5]
    assert not found.in_domain[[3, 5, 8]].any()
    assert [found.remark[row] for row in (3, 5, 8)] == [
        "no m",
        "no m; no gpu",
        f"gpu B is new: predicted as {measured()['gpu'].mode()[0]}, the most frequent",
    ]
    assert [note.rpartition(": ")[2] for note in found.notes] == [
        f"{tmp_path / 'new.csv'}, lines 5, 7",
        f"{tmp_path / 'new.csv'}, line 7",
        f"{tmp_path / 'new.csv'}, line 10",
    ]
    whole = np.setdiff1d(np.arange(N_ROWS), [3, 5, 8])
    np.testing.assert_allclose(found.predicted[whole], model.predict(measured())[whole], rtol=1e-12)


def test_strict_refuses_with_the_line(model: TableModel, tmp_path: Path) -> None:
    rows = measured()
    rows.loc[[4, 9], "m"] = 10_000
    rows.to_csv(tmp_path / "far.csv", index=False)
    with pytest.raises(DomainError) as caught:
        predict_rows(model, tmp_path / "far.csv", strict=True)
    assert caught.value.place == f"{tmp_path / 'far.csv'}, line 6, column m"
    lower, upper = measured()["m"].min(), measured()["m"].max()
    assert caught.value.message == (
        f"lies outside the measured domain: m = 10000 is outside the measured {lower} to {upper}; 2 of 150 rows lie outside"
    )
    assert "leave --strict out" in str(caught.value.hint)
    with pytest.raises(DomainError, match="gpu Z is new") as label:
        predict_rows(model, measured().assign(gpu=["Z", *measured()["gpu"][1:]]), strict=True)
    assert label.value.place == "rows, row 1, column gpu"
    assert label.value.message.endswith("; 1 of 150 rows lies outside")
    with pytest.raises(DataError, match="empty cell") as missing:
        predict_rows(model, measured().assign(k=[np.nan, *measured()["k"][1:]]), strict=True)
    assert missing.value.place == "rows, row 1, column k"


def test_labels_that_look_like_numbers_stay_labels(tmp_path: Path) -> None:
    table = measured().assign(gpu=lambda rows: rows["gpu"].map({"A": "007", "C": "12"}))
    model = mlperf.train(table, target="time_s", terms=["m*k", "gpu", "I(m*k):gpu"], method="ols")
    table.to_csv(tmp_path / "new.csv", index=False)
    np.testing.assert_allclose(predict_rows(model, tmp_path / "new.csv").predicted, model.predict(table), rtol=1e-12)


def test_a_model_of_an_earlier_release_answers_and_leaves_new_labels_out() -> None:
    table = measured()
    ols = mlperf.StepwiseOLS(terms=["m*k", "gpu"], noise="relative").fit(table[["m", "k", "gpu"]], table["time_s"])
    document = {"target": "time_s", "total_scale": 1.1, "model": model_to_dict(ols), "errors": None, "noise_floor": "NaN"}
    old = TableModel.from_dict({**document, "groups": None, "provenance": {}})
    assert isinstance(old.fitted, Scaled)
    rows = table.assign(gpu=["B", *table["gpu"][1:]])
    found = predict_rows(old, rows)
    assert np.isnan(found.predicted[0])
    np.testing.assert_allclose(found.predicted[1:], 1.1 * ols.predict(table[["m", "k", "gpu"]])[1:], rtol=1e-12)


def test_what_cannot_be_predicted_is_refused(model: TableModel, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column 'network'"):
        predict_rows(model, measured(), by="network")
    with pytest.raises(DataError, match="no row that can be predicted"):
        predict_rows(model, measured().assign(k=np.nan))
    rows: Any = measured().assign(m=["many", *["3"] * (N_ROWS - 1)])
    rows.to_csv(tmp_path / "text.csv", index=False)
    with pytest.raises(DataError, match="expected a number") as caught:
        predict_rows(model, tmp_path / "text.csv")
    assert caught.value.place == f"{tmp_path / 'text.csv'}, line 2, column m"
    with pytest.raises(UsageError, match="campaign"):
        predict_rows(rows, rows)


@pytest.mark.parametrize("method", ["ols", "nonnegative", "local", "boosted", "log"])
def test_a_row_on_which_a_term_has_no_value_keeps_no_other_from_its_prediction(method: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"a": rng.uniform(1.0, 9.0, 60), "b": rng.uniform(1.0, 9.0, 60)})
    table["time_s"] = (3.0 + np.log2(table["a"]) + 5.0 / table["b"]) * rng.uniform(0.97, 1.03, 60)
    model = mlperf.train(table, target="time_s", terms=["log2(a)", "1/b"], method=method, n_folds=2, report="none")
    path = tmp_path / "new.csv"
    path.write_text("a,b\n0,2\n3,4\n2,0\n", encoding="utf-8")
    found = predict_rows(model, path)
    np.testing.assert_array_equal(np.isfinite(found.predicted), [False, True, False])
    assert found.predicted[1] == model.predict(pd.DataFrame({"a": [3], "b": [4]}))[0]
    assert found.in_domain.tolist() == [False, True, False]
    assert found.remark[0].startswith("a = 0 is not positive")
    assert found.remark[0].endswith("a term has no value there: not predicted")
    with pytest.raises(DataError, match="no row that can be predicted") as caught:
        predict_rows(model, pd.DataFrame({"a": [0.0], "b": [2.0]}))
    assert "a = 0 is not positive" in str(caught.value.hint)
