"""Every row outside the measured domain says why: its label, its size, or that such sizes were not measured together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DomainError
from mlperf.planning.table_prediction import predict_rows
from mlperf.planning.table_remarks import COMBINATION, size_remark
from mlperf.report.text.views import result_text
from mlperf.training.table.table_model import TableModel

SPEED = {"A100": 1.0, "V100": 3.0, "H100": 0.5, "RTX 3090": 2.0}
TERMS = ["m*k", "gpu", "I(m*k):gpu"]


def measured(n_rows: int = 120, rare: tuple[str, ...] = ("V100", "V100")) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    labels = [*rng.choice(["A100", "H100"], n_rows - len(rare)), *rare]
    table = pd.DataFrame({"m": rng.integers(1, 61, n_rows), "k": rng.uniform(0.5, 4.0, n_rows), "gpu": labels})
    noise = np.exp(0.05 * rng.standard_normal(n_rows))
    return table.assign(time_s=(1e-5 + 1e-6 * table["m"] * table["k"]) * table["gpu"].map(SPEED) * noise)


@pytest.fixture(scope="module")
def model() -> TableModel:
    return mlperf.train(measured(), target="time_s", terms=TERMS, method="ols", report="none")


def rows(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"m": 20, "k": 2.0, "gpu": "A100"} | columns, index=range(1))


def remark(model: TableModel, **columns: Any) -> str:
    return str(predict_rows(model, rows(**columns)).remark[0])


def test_a_rare_label_lies_outside_and_says_what_it_is_predicted_as(model: TableModel, tmp_path: Path) -> None:
    usual = measured()["gpu"].mode()[0]
    path = tmp_path / "new.csv"
    pd.concat([rows(), rows(gpu="V100")]).to_csv(path, index=False)
    found = predict_rows(model, path)
    assert found.in_domain.tolist() == [True, False]
    assert found.remark.tolist() == ["", f"gpu V100 is in 2 training rows only: predicted as {usual}"]
    assert found.notes == (
        "column gpu: 1 row has a label of too few training rows to be told apart ('V100'), outside the measured domain: "
        f"{path}, line 3",
    )
    many = mlperf.train(measured(rare=("V100", "V100", "RTX 3090")), target="time_s", terms=TERMS, method="ols", report="none")
    assert remark(many, gpu="V100") == "gpu V100 is in 2 training rows only: predicted as (other), with 1 other rare label"
    assert remark(many, gpu="RTX 3090").startswith("gpu RTX 3090 is in 1 training row only: predicted as (other)")


def test_a_new_label_says_what_it_is_predicted_as_and_which_label_may_be_meant(model: TableModel) -> None:
    usual = measured()["gpu"].mode()[0]
    assert remark(model, gpu="a100") == f"gpu a100 is new (did you mean A100?): predicted as {usual}, the most frequent"
    assert remark(model, gpu="TPU") == f"gpu TPU is new: predicted as {usual}, the most frequent"


def test_a_column_that_did_not_vary_in_training_is_named_where_it_is_another(tmp_path: Path) -> None:
    """No interval knows what a second GPU costs where there was one in every row."""
    table = measured().assign(gpus=8, link="nvlink", run=1, step_s=2.0)
    model = mlperf.train(table, target="time_s", terms=TERMS, method="ols", report="none")
    path = tmp_path / "new.csv"
    new = pd.concat([rows(gpus=8, link="nvlink"), rows(gpus=16, link=""), rows(gpus=8, link="pcie")]).assign(run=2, step_s=3.0)
    new.to_csv(path, index=False)
    found = predict_rows(model, path)
    words = "in every row that the model learnt from, so that it knows nothing of other values"
    beyond = "nor do the intervals and the measured domain"
    assert found.notes == (
        f"column gpus was 8 {words} ('16'), {beyond}: {path}, line 3",
        f"column link was nvlink {words} ('pcie'), {beyond}: {path}, line 4",
    )
    assert found.in_domain.tolist() == [True, False, False]
    assert found.remark.tolist() == ["", "gpus = 16 (measured: 8 only)", "link = pcie (measured: nvlink only)"]
    assert predict_rows(model, table.assign(gpus=8.0)[table["gpu"] != "V100"]).notes == ()
    with pytest.raises(DomainError, match=r"gpus = 16 \(measured: 8 only\); 2 of 3 rows lie outside") as caught:
        predict_rows(model, path, strict=True)
    assert caught.value.place == f"{path}, line 3, column gpus"


def test_a_row_outside_says_its_size_before_a_value_that_was_not_measured() -> None:
    """Such columns are counted beyond the third; sums count the row as outside, and keep the bounds that its interval gives."""
    constants = {"gpus": 8, "link": "nvlink", "driver": "550", "nodes": 1}
    table = measured(rare=()).assign(**constants)
    model = mlperf.train(table, target="time_s", terms=TERMS, method="ols", report="none")
    other = rows(gpus=16, link="pcie", driver="560", nodes=2)
    new = pd.concat([rows(**constants), other, rows(**constants | {"m": 900, "gpus": 4})])
    found = predict_rows(model, new.assign(job="a"), by="job")
    assert found.remark[1].endswith("; driver = 560 (measured: 550 only); and in 1 more of the columns of one measured value")
    assert found.remark[2] == "m = 900 is outside the measured 1 to 60; gpus = 4 (measured: 8 only)"
    assert found.sums is not None
    assert found.sums["rows_in_domain_share"].tolist() == [pytest.approx(1.0 / 3.0)]
    same = predict_rows(model, new.assign(job="a")[["m", "k", "gpu", "job"]], by="job").sums
    assert same is not None
    assert same[["lower_time_s", "upper_time_s"]].equals(found.sums[["lower_time_s", "upper_time_s"]])
    dated = measured(rare=()).assign(day=pd.Timestamp("2024-01-03"))
    model = mlperf.train(dated, target="time_s", terms=TERMS, method="ols", report="none")
    assert predict_rows(model, dated.assign(day=pd.Timestamp("2024-02-01"))).remark[0] == ""


def test_a_size_outside_is_named_with_the_measured_range(model: TableModel) -> None:
    assert remark(model, m=900) == "m = 900 is outside the measured 1 to 60"
    assert remark(model, m=-5) == "m = -5 is not positive (measured: 1 to 60)"
    assert remark(model, m=0).startswith("m = 0 is not positive")
    assert remark(model, m=900, gpu="TPU").endswith("the most frequent; m = 900 is outside the measured 1 to 60")
    found = predict_rows(model, rows(m=900))
    assert found.to_frame()["remark"].tolist() == ["m = 900 is outside the measured 1 to 60"]
    assert "m = 900 is outside the measured 1 to 60" in result_text(found)
    assert size_remark("m", 16.0000001, 1.0, 16.0) == "m = 16.0000001 is outside the measured 1 to 16"


def test_sizes_that_were_not_measured_together_are_no_mystery() -> None:
    table = measured()
    table = table[(table["m"] / 60.0 + table["k"] / 4.0 < 1.2) & (table["gpu"] != "V100")]
    made = mlperf.train(table, target="time_s", terms=TERMS, method="ols", report="none")
    found = predict_rows(made, rows(m=int(table["m"].max()), k=float(table["k"].max())))
    assert not found.in_domain[0]
    assert found.remark[0] == COMBINATION


def test_more_than_three_columns_are_counted() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.uniform(1.0, 2.0, (60, 5)), columns=list("abcde"))
    made = mlperf.train(table.assign(time_s=table.sum(axis=1)), target="time_s", terms=list("abcde"), method="ols", report="none")
    told = str(predict_rows(made, table.iloc[:1] + 9.0).remark[0])
    assert told.count("is outside the measured") == 3
    assert told.endswith("; 2 further columns outside what was measured")


def test_a_model_of_an_earlier_release_says_why_too() -> None:
    from mlperf.models.storage.store import model_to_dict

    table = measured(rare=())
    ols = mlperf.StepwiseOLS(terms=["m*k", "gpu"], noise="relative").fit(table[["m", "k", "gpu"]], table["time_s"])
    document = {"target": "time_s", "total_scale": 1.0, "model": model_to_dict(ols), "errors": None, "noise_floor": "NaN"}
    old = TableModel.from_dict({**document, "groups": None, "provenance": {}})
    found = predict_rows(old, pd.concat([rows(m=900), rows(gpu="a100")]))
    assert found.remark.tolist() == ["m = 900 is outside the measured 1 to 60", "gpu a100 is new (did you mean A100?)"]
