"""Rows to predict are read as the model was trained, and found again in their file."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError
from mlperf.planning.table_rows import AskedRows, asked_rows
from mlperf.training.table.table_model import TableModel


@pytest.fixture(scope="module")
def model() -> TableModel:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"size": rng.uniform(1.0, 9.0, 60), "code": rng.choice(["01", "2"], 60)})
    table["time_s"] = (2.0 + table["size"]) * table["code"].map({"01": 1.0, "2": 2.0})
    return mlperf.train(table, target="time_s", terms=["size", "code", "size:code"], method="ols", report="none")


def test_places_are_lines_of_a_file_or_numbers_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('a\n1\n"2"\n3\n4\n5\n', encoding="utf-8")
    frame = pd.DataFrame({"a": range(5)})
    assert AskedRows(frame, path, "rows.csv").where([0, 1, 2, 4]) == f"{path}, lines 2, 3, 4 and 1 more"
    assert AskedRows(frame, None, "rows").where([0, 1, 2, 4]) == "rows, rows 1, 2, 3 and 1 more"
    assert AskedRows(frame, None, "rows").where([3]) == "rows, row 4"


def test_labels_keep_their_zeros_and_numbers_may_be_missing(model: TableModel, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("code,size\n01,\n2,3.5\n,4\n", encoding="utf-8")
    asked = asked_rows(model, path)
    assert asked.frame["code"].tolist() == ["01", "2", ""]
    assert asked.missing("size").tolist() == [True, False, False]
    assert asked.missing("code").tolist() == [False, False, True]
    assert asked.new_labels("code", frozenset({"01"})).tolist() == [False, True, True]


def test_a_text_among_numbers_of_a_frame_is_named(model: TableModel) -> None:
    with pytest.raises(DataError, match="got 'big', expected a number") as caught:
        asked_rows(model, pd.DataFrame({"size": [1.0, "big"], "code": "2"}))
    assert caught.value.place == "rows, row 2, column size"


def test_feature_tables_bring_the_columns_that_rows_lack(model: TableModel, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("kernel,code\nx,01\ny,2\nx,2\n", encoding="utf-8")
    asked = asked_rows(model, path, [pd.DataFrame({"kernel": ["x", "y"], "size": [1.5, 2.5]})], "kernel")
    assert asked.frame["size"].tolist() == [1.5, 2.5, 1.5]
    with pytest.raises(DataError, match="is missing size") as caught:
        asked_rows(model, path)
    assert str(caught.value.place).startswith(f"{path}, line 1")


def test_rows_of_the_standard_input_have_lines_too(model: TableModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    piped("code,size\n01,3\n2,x\n")
    with pytest.raises(DataError, match="got 'x', expected a number") as caught:
        asked_rows(model, "-")
    assert caught.value.place == "<stdin>, line 3, column size"
    piped("code,Size\n01,3\n")
    with pytest.raises(DataError, match=r"Did you mean 'Size' for 'size'\?") as missing:
        asked_rows(model, "-")
    assert missing.value.place == "<stdin>, line 1, column size"
    piped("code,size\n01,3\n2,\n")
    asked = asked_rows(model, "-")
    assert asked.frame["code"].tolist() == ["01", "2"]
    assert asked.where([0, 1]) == "<stdin>, lines 2, 3"


def test_labels_that_pandas_made_fractions_are_known(model: TableModel, tmp_path: Path) -> None:
    frame = pd.DataFrame({"code": [2.0, np.nan, 7.0], "size": 3.0})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    expected = model.predict(pd.DataFrame({"code": ["2"], "size": [3.0]}))
    for rows in (frame, tmp_path / "rows.csv"):
        asked = asked_rows(model, rows)
        assert asked.frame["code"].iloc[0] == "2"
        assert asked.missing("code").tolist() == [False, True, False]
        assert asked.new_labels("code", model.levels["code"]).tolist()[::2] == [False, True]
    np.testing.assert_array_equal(model.predict(frame.iloc[[0]]), expected)
    assert model.in_domain(frame.iloc[[0]]).all()


@pytest.mark.parametrize("size", ["1e60", "-1e31", "1e-200"])
def test_numbers_with_which_one_cannot_count_are_refused_by_line(model: TableModel, tmp_path: Path, size: str) -> None:
    """As training refuses them; a column that the model does not read may hold anything."""
    path = tmp_path / "rows.csv"
    path.write_text(f"code,size,other\n01,0,1e60\n2,{size},1\n", encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(f"got {float(size):g}, expected numbers between 1e-100 and 1e+30")) as caught:
        asked_rows(model, path)
    assert caught.value.place == f"{path}, line 3, column size"
    path.write_text("code,size,other\n01,0,1e60\n2,1e30,1\n", encoding="utf-8")
    assert len(asked_rows(model, path).frame) == 2
