"""Growing tables: rows are appended, and files of earlier versions go on."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from mlperf.collect.protocol.tables import GrowingTable
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.server_schema import PS_RUNS, SERVER_TABLES
from mlperf.datasets.reading.read import read_table

ROW = {
    **dict.fromkeys(PS_RUNS.names, 1),
    "mode": "real",
    "cnn": "digits-fc",
    "plan": "1x1x1",
    "exchange": "asynchronous",
    "code": "scalar",
    "version": "9.9",
}


def test_a_file_of_an_earlier_version_gets_the_columns_that_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "ps_runs.csv"
    pd.DataFrame([{**ROW, "run": 1}]).drop(columns=["code", "version"]).to_csv(path, index=False)
    table = GrowingTable(tmp_path, "ps_runs", SERVER_TABLES)
    assert [row["code"] for row in table.rows()] == ["unknown"]
    assert read_table(path, PS_RUNS)["version"].tolist() == ["unknown"]
    for run in (2, 3):
        table.add([{**ROW, "run": run}])
        table.flush()
    found = read_table(path, PS_RUNS, "keep")
    assert found["run"].tolist() == [1, 2, 3]
    assert found["code"].tolist() == ["unknown", "scalar", "scalar"]
    assert found["version"].astype(str).tolist() == ["unknown", "9.9", "9.9"]


def test_another_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ps_runs.csv").write_text("run,colour\n1,red\n", encoding="utf-8")
    with pytest.raises(DataError, match="got columns run, colour"):
        GrowingTable(tmp_path, "ps_runs", SERVER_TABLES).rows()


UPDATES = "operation,n_params,subbatch_size,input_size,cpu_s,wall_s,round,sequence,load,reference_s"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("update_momentum,1024", "updates.csv, line 2: got 2 cells, expected 10"),
        ("update_momentum,1024,0,0,1e-06,1e-06,1,3,0.1,0.001,7,8", "updates.csv, line 2: got 12 cells, expected 10"),
        ("update_momentum,1024,0,0,1e-06,1e-06,,3,0.1,0.001", "line 2, column round: got '', expected a whole number"),
        ("update_momentum,1024,0,0,1e-06,1e-06,1,x,0.1,0.001", "line 2, column sequence: got 'x', expected a whole number"),
    ],
)
def test_a_row_that_was_cut_off_or_edited_is_named(row: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "updates.csv").write_text(f"{UPDATES}\n{row}\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        GrowingTable(tmp_path, "updates").rows()


def test_a_compressed_table_that_was_cut_off_is_named(tmp_path: Path) -> None:
    """Its end of file would otherwise read as a user who goes."""
    content = gzip.compress(b"trans,m,n,k\n" * 1000)
    (tmp_path / "sgemm.csv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"sgemm.csv.gz: is not a whole gzip file"):
        GrowingTable(tmp_path, "sgemm").rows()
