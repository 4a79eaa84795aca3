"""A table's model beside measured rows: errors by domain and group, coverage, what could not be compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError
from mlperf.planning.table_comparison import compare_rows
from mlperf.training.table.table_model import TableModel


def measured(n_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"size": rng.uniform(1.0, 50.0, n_rows), "device": rng.choice(["a", "b"], n_rows)})
    return table.assign(time_s=(2.0 + table["size"]) * np.exp(0.06 * rng.standard_normal(n_rows)))


@pytest.fixture(scope="module")
def model() -> TableModel:
    return mlperf.train(measured(200, 1), target="time_s", terms=["size"], method="ols", report="none")


def test_errors_and_coverage_are_those_of_the_rows(model: TableModel) -> None:
    rows = measured(300, 2)
    rows.loc[0, "size"] = 500.0
    found = compare_rows(model, rows, by="device")
    error = np.abs(model.predict(rows) / rows["time_s"] - 1.0)
    assert found.mape == pytest.approx(error.mean())
    parts = found.parts.set_index("rows")
    inside = model.in_domain(rows)
    assert not inside[0]
    assert parts.loc["outside", "n"] == (~inside).sum()
    assert parts.loc["in domain", "mape"] == pytest.approx(error[inside].mean())
    assert 0.9 < parts.loc["in domain", "coverage"] < 0.99
    by_device = found.by_group.set_index("device")
    assert by_device.loc["a", "mape"] == pytest.approx(error[rows["device"] == "a"].mean())
    assert found.by_group["mape"].is_monotonic_decreasing
    assert list(found.to_frame()["inside"]) == list(found.table["inside"])


def test_rows_without_a_measurement_are_counted(model: TableModel) -> None:
    rows = measured(20, 3)
    rows.loc[[2, 4], "time_s"] = [np.nan, 0.0]
    rows.loc[5, "size"] = np.nan
    found = compare_rows(model, rows)
    assert len(found.table) == 17
    assert found.notes[-1].startswith("3 of 20 rows")
    assert found.by_group.empty


def test_nothing_to_compare_with_is_an_error(model: TableModel) -> None:
    with pytest.raises(DataError, match="no column 'time_s'"):
        compare_rows(model, measured(5, 4).drop(columns="time_s"))
    with pytest.raises(DataError, match="expected at least one"):
        compare_rows(model, measured(5, 4).assign(time_s=0.0))


def test_measurements_in_another_unit_are_named(model: TableModel) -> None:
    with pytest.raises(DataError, match="no column 'time_s'") as error:
        compare_rows(model, measured(20, 3).rename(columns={"time_s": "time_ms"}))
    assert error.value.hint is not None
    assert error.value.hint.startswith("If 'time_ms' holds them, bring it to that unit and rename it.")


def test_groups_of_the_training_are_judged_without_being_asked() -> None:
    model = mlperf.train(measured(200, 1), target="time_s", terms=["size"], method="ols", report="none", groups="device")
    assert list(compare_rows(model, measured(40, 5)).by_group["device"]) in (["a", "b"], ["b", "a"])
