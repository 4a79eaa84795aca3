"""A table's model as a file: bit-equal, of this release and of earlier ones; errors by group."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError
from mlperf.models.storage.store import model_to_dict
from mlperf.training.table.table_model import TableModel, grouped_errors, profile_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    m, n = 2.0 ** rng.uniform(3, 9, (2, 120))
    device = rng.choice(["A", "B", "C"], 120)
    times = (1e-5 + 1e-9 * m * n * np.where(device == "B", 4.0, 1.0)) * np.exp(0.1 * rng.standard_normal(120))
    return pd.DataFrame({"m": m, "n": n, "device": device, "time_s": times})


def test_a_model_is_read_back_bit_equal(rows: pd.DataFrame, tmp_path: Path) -> None:
    model = mlperf.train(rows, target="time_s", n_folds=2)
    mlperf.save_model(model, tmp_path / "model.json")
    again = mlperf.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    for kind in ("mean", "run"):
        np.testing.assert_array_equal(again.predict_interval(rows, kind).upper, model.predict_interval(rows, kind).upper)
    assert (again.method, again.reason, again.notes, again.set_aside) == (model.method, model.reason, model.notes, model.set_aside)
    pd.testing.assert_frame_equal(again.methods, model.methods, check_dtype=False, check_like=True)
    assert again.profile == model.profile


def test_a_file_of_an_earlier_release_answers_as_it_did(rows: pd.DataFrame) -> None:
    """It held one least-squares fit and a factor on its predictions."""
    model = mlperf.train(rows, target="time_s", terms=["m*n", "m"], method="ols")
    document = model.to_dict()
    old = {key: document[key] for key in ("target", "errors", "noise_floor", "groups", "joined", "provenance")}
    fit = model.fitted.estimator
    again = TableModel.from_dict({**old, "total_scale": 1.5, "model": model_to_dict(fit)})
    np.testing.assert_array_equal(again.predict(rows), 1.5 * fit.predict(rows))
    np.testing.assert_array_equal(again.predict_interval(rows).lower, 1.5 * fit.predict_interval(rows, kind="run").lower)
    assert again.method == "ols"


def test_a_missing_column_is_named(rows: pd.DataFrame) -> None:
    model = mlperf.train(rows, target="time_s", terms=["m*n"], method="ols")
    with pytest.raises(DataError, match="is missing n"):
        model.check_columns(rows[["m"]], "rows.csv")
    with pytest.raises(DataError, match=r"hint: Did you mean 'N' for 'n'\? Rename the column\."):
        model.check_columns(rows.rename(columns={"n": "N"}), "rows.csv")
    with pytest.raises(
        DataError, match=r"is missing m, n: .*\n  hint: Add what is missing; the other columns .* are width, time_s\."
    ):
        model.check_columns(pd.DataFrame({"width": [1], "time_s": [2]}), "rows.csv")
    with pytest.raises(DataError, match="hint: Add the columns with the values of these rows"):
        model.check_columns(rows[[]], "rows.csv")


def test_errors_by_group_come_worst_first() -> None:
    rows = pd.DataFrame({"group": list("aabb"), "measured": [1.0, 1.0, 1.0, 1.0], "predicted": [1.1, 0.9, 2.0, 2.0]})
    found = grouped_errors(rows)
    assert list(found["group"]) == ["b", "a"]
    np.testing.assert_allclose(found["mape"], [1.0, 0.1])
    np.testing.assert_allclose(found["bias"], [1.0, 0.0], atol=1e-12)


def test_profiles_are_quantiles_and_levels() -> None:
    found = profile_of(pd.DataFrame({"size": np.arange(101.0), "gpu": ["B"] * 60 + ["A"] * 41}))
    assert found["gpu"] == ("B", "A")
    assert found["size"][0] == 0.0
    assert found["size"][10] == 50.0


def test_numbers_that_stand_as_objects_are_answered_as_numbers(rows: pd.DataFrame) -> None:
    model = mlperf.train(rows, target="time_s", terms=["m*n", "device"], method="ols", n_folds=2)
    for kind in ("mean", "run"):
        asked, made = (model.predict_interval(table, kind) for table in (rows, rows.astype(object)))
        np.testing.assert_array_equal(made.upper, asked.upper)
    assert model.in_domain(rows.astype(object)).all()


def test_spans_of_time_are_set_aside_with_what_to_write(rows: pd.DataFrame) -> None:
    waited = rows.assign(wait=pd.to_timedelta(np.arange(len(rows)) % 7, unit="s"))
    model = mlperf.train(waited, target="time_s", method="ols", n_folds=2)
    assert [(item.name, "dt.total_seconds()" in item.reason) for item in model.set_aside] == [("wait", True)]
    assert np.isfinite(model.predict_interval(waited).upper).all()
