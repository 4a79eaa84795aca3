"""Predicted rows as people see them: one unit, some rows of many, sums first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.planning.table_comparison import compare_rows
from mlperf.planning.table_output import write_rows
from mlperf.planning.table_prediction import predict_rows
from mlperf.report.text.views import result_figure, result_text
from mlperf.training.table.table_model import TableModel


def rows(n_rows: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"size": np.exp(rng.uniform(0.0, 9.0, n_rows)), "net": rng.choice(list("abc"), n_rows)})
    return table.assign(time_s=1e-6 * (2.0 + table["size"]) * np.exp(0.05 * rng.standard_normal(n_rows)))


@pytest.fixture(scope="module")
def model() -> TableModel:
    return mlperf.train(rows(120), target="time_s", terms=["size"], method="ols", report="none")


def test_every_time_of_the_table_has_one_unit(model: TableModel) -> None:
    text = result_text(predict_rows(model, rows(30)))
    heading = text.splitlines()[2]
    assert heading.count("(us)") == 6
    assert "(ms)" not in text
    assert result_text(predict_rows(model, rows(30)), "ms").splitlines()[2].count("(ms)") == 6


def test_many_rows_are_not_printed(model: TableModel) -> None:
    text = result_text(predict_rows(model, rows(900)))
    assert len(text.splitlines()) < 50
    assert "860 further rows: -o FILE" in text


def test_sums_come_first(model: TableModel, tmp_path: object) -> None:
    found = predict_rows(model, rows(50), by="net")
    assert result_text(found).splitlines()[2] == "Sums of time_s by net"
    text = result_text(write_rows(found, f"{tmp_path}/out.csv"))
    assert text.startswith(f"50 rows: time_s written to {tmp_path}/out.csv, all 50 inside")
    assert "Sums of time_s by net" in text
    assert "50 rows written to" in text
    assert "on average" in text


def test_a_comparison_shows_the_worst_rows_and_a_figure(model: TableModel) -> None:
    pytest.importorskip("matplotlib")
    found = compare_rows(model, rows(300, 2), by="net")
    text = result_text(found)
    assert text.splitlines()[2] == "time_s: predicted against measured"
    assert "By net, the worst first" in text
    assert "The 40 rows that are missed most of 300" in text
    assert len(result_figure(found).axes) == 2
