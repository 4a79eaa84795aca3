"""Predicted rows in a file: every digit, whole numbers whole, inputs never written over."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import UsageError
from mlperf.datasets.reading.grid import EVERY_DIGIT
from mlperf.planning import table_output
from mlperf.planning.table_output import write_rows
from mlperf.planning.table_prediction import RowPredictions, predict_rows


@pytest.fixture(scope="module")
def found() -> RowPredictions:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"size": rng.integers(1, 90, 60)}).assign(
        time_s=lambda rows: (2.0 + rows["size"]) * rng.uniform(0.95, 1.05, 60)
    )
    model = mlperf.train(table, target="time_s", terms=["size"], method="ols", report="none")
    return predict_rows(model, table.assign(size=[np.nan, *table["size"][1:]]))


def test_the_file_holds_the_frame_with_all_digits(found: RowPredictions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_output, "CHUNK", 7)
    told = write_rows(found, tmp_path / "out.csv")
    again = pd.read_csv(tmp_path / "out.csv", keep_default_na=True, **EVERY_DIGIT)
    expected = found.to_frame()
    assert list(again) == list(expected)
    np.testing.assert_array_equal(again["predicted_time_s"], expected["predicted_time_s"])
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[2].split(",")[0].isdigit()
    assert (told.n_rows, told.n_predicted) == (60, 59)
    assert told.errors is not None
    assert told.errors.mape == pytest.approx(found.to_frame()["relative_error"].abs().mean())
    assert 0.9 <= told.coverage <= 1.0


def test_an_input_is_not_written_over(found: RowPredictions, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(path)
    for name in ("rows.csv", "link.csv", "../" + tmp_path.name + "/rows.csv"):
        with pytest.raises(UsageError, match="which is read"):
            write_rows(found, tmp_path / name, [path])
    assert path.read_text(encoding="utf-8") == "a\n1\n"
