"""A table's report says the same of a model that was just trained and of one that was read."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.models.storage.store import model_to_dict
from mlperf.report.text.views import result_text
from mlperf.training.reported_model import model_report
from mlperf.training.table.table_model import TableModel
from mlperf.training.table.table_report import table_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    rows = pd.DataFrame({"m": rng.integers(1, 60, 160), "k": rng.uniform(1.0, 9.0, 160), "net": rng.choice(list("abcdefgh"), 160)})
    return rows.assign(time_s=(3.0 + 0.5 * rows["m"] * rows["k"]) * np.exp(0.05 * rng.standard_normal(160)))


@pytest.mark.parametrize("method", ["ols", "ratio"])
def test_train_and_report_print_the_same(table: pd.DataFrame, method: str, tmp_path: Path) -> None:
    model = mlperf.train(table, target="time_s", terms=["m*k", "k", "m"], groups="net", method=method)
    mlperf.save_model(model, tmp_path / "model.json")
    trained = result_text(model)
    assert result_text(model_report(mlperf.load_model(tmp_path / "model.json"))) == trained
    for words in (
        "time_s ~ ",
        "HC3",
        "VIF",
        "p (selective)",
        "kept",
        "reset p",
        "Left-out error by net",
        "Path of the selection",
        "Start:  AIC",
    ):
        assert words in trained
    for words in ("noise floor", "lm(time_s ~ ", "smf.wls(", "weights = 1/time_s^2"):
        assert words in trained
    assert trained.startswith(f"time_s by {method}: rows that it had not seen are missed by ")
    assert trained.partition("\n\n")[2].startswith(
        f"Model of time_s: {method}\ntime_s of groups of net that it had not seen is typically missed by "
    )


def test_the_formula_predicts_what_the_model_predicts_where_it_is_the_model(table: pd.DataFrame) -> None:
    own, other = (mlperf.train(table, target="time_s", terms=["m*k"], method=method, report="none") for method in ("ols", "log"))
    formulas = table_report(own).formulas
    assert formulas is not None
    row = table.iloc[0]
    names = {f"{letter}2": row[name] for name, letter in formulas.cells.items()}
    worked_out = eval(formulas.spreadsheet.removeprefix("="), {}, names)  # noqa: S307 - made from our own terms
    assert worked_out == pytest.approx(own.predict(table)[0], rel=1e-12)
    notes = table_report(other).formulas
    assert notes is not None
    assert any("log predicts" in note for note in notes.notes)
    assert not any("log predicts" in note for note in formulas.notes)
    assert table_report(own).power_law is None


def test_a_power_law_that_predicts_is_printed_with_its_exponents(table: pd.DataFrame) -> None:
    model = mlperf.train(table, target="time_s", terms=["m*k"], method="log", report="none")
    law = table_report(model).power_law
    assert law is not None
    names = {f"{letter}2": table[name].iloc[0] for name, letter in law.cells.items()}
    words = {"EXP": math.exp, "LN": math.log}
    worked_out = eval(law.spreadsheet.removeprefix("="), words, names)  # noqa: S307 - made from our own terms
    assert worked_out == pytest.approx(model.predict(table)[0], rel=1e-12)
    trained, reported = result_text(model), result_text(model_report(model))
    assert f"The power law that predicts time_s\n{law.formula}" in trained
    assert law.formula in reported


def test_a_model_of_an_earlier_release_reports_what_it_has(table: pd.DataFrame) -> None:
    ols = mlperf.StepwiseOLS(terms=["m*k"], noise="relative").fit(table[["m", "k"]], table["time_s"])
    document = {"target": "time_s", "total_scale": 1.5, "model": model_to_dict(ols), "errors": None, "noise_floor": "NaN"}
    old = TableModel.from_dict({**document, "groups": None, "provenance": {}})
    found = table_report(old)
    assert found.effects.empty
    assert found.formulas is not None
    assert found.formulas.spreadsheet.startswith("=1.5*(")
    assert "Too few groups" in result_text(model_report(old))
