"""Each system is trained by the table that it knows, and by no other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.training.collectives.exchange_model import ExchangeModel
from mlperf.training.systems.by_system import train_for_system
from mlperf.training.systems.server_model import ServerModel
from mlperf.training.systems.system_fit import SystemFit


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Columns for all three kinds of models: steps of 1 to 8 GPUs, speeds of as many workers, exchanges among them."""
    rows = pd.DataFrame({"n_gpus": np.repeat([1, 2, 4, 8], 3), "size_bytes": np.tile([1e4, 1e6, 1e8], 4)})
    rows = rows.assign(
        n_workers=rows["n_gpus"],
        subbatch_size=np.tile([8, 16, 32], 4),
        step_s=0.01 * np.tile([8, 16, 32], 4) + 0.02 * (rows["n_gpus"] - 1) / rows["n_gpus"],
        updates_per_s=np.minimum(10.0 * rows["n_gpus"], 45.0),
        exchange_s=1e-4 + 2e-9 * rows["size_bytes"] * (rows["n_gpus"] - 1) / rows["n_gpus"] + 1e-5 * rows["n_gpus"],
    )
    path = tmp_path / "table.csv"
    rows[rows["n_gpus"] > 1].to_csv(path, index=False)
    return path


def test_a_table_trains_what_is_asked_for(table: Path) -> None:
    assert isinstance(train_for_system(table, "data-parallel"), SystemFit)
    assert isinstance(train_for_system(table, "data-parallel", component="exchange"), ExchangeModel)
    servers = train_for_system(table, "parameter-server")
    assert isinstance(servers, ServerModel)
    assert servers.provenance["data_sha256"][str(table)]


@pytest.mark.parametrize(
    ("system", "options", "told"),
    [
        ("sprint", {}, "to train on a table"),
        ("stale-synchronous", {}, "to train on a table"),
        ("data-parallel", {"component": "forward"}, "expected 'exchange'"),
        ("data-parallel", {"features": ["n_gpus"]}, "got features"),
        ("parameter-server", {"factors": ["n_gpus"]}, "got factors"),
        ("pipeline", {"component": "exchange", "groups": "n_gpus"}, "got groups"),
    ],
)
def test_what_a_system_does_not_know_is_refused(table: Path, system: str, options: dict, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        train_for_system(table, system, **options)


def test_a_folder_or_a_bundled_name_is_no_table(table: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="got a folder, expected a table") as caught:
        train_for_system(table.parent, "data-parallel")
    assert str(table.parent / sorted(each.name for each in table.parent.glob("*.csv"))[0]) in str(caught.value.hint)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="got a folder") as caught:
        train_for_system(tmp_path / "empty", "data-parallel")
    assert str(caught.value.hint).startswith("Train on it as a campaign")
    with pytest.raises(DataError, match="got the name of a bundled campaign"):
        train_for_system("cpu-epyc", "pipeline")


def test_faults_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_text("n_gpus,subbatch_size,step_s\n1,32,0.1\n2,32,-1\n4,32,0.2\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        train_for_system(path, "data-parallel")
    assert caught.value.place == f"{path}, line 3, column step_s"
    path.write_text("n_gpus,subbatch_size,step_s\n1,32,0.1\n2,32,\n,32,0.2\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 4, column n_gpus: got an empty cell, expected a number above 0"):
        train_for_system(path, "data-parallel")


@pytest.mark.parametrize("system", ["data-parallel", "parameter-server"])
def test_a_cell_in_another_unit_or_with_a_word_is_named_as_it_stands(tmp_path: Path, system: str) -> None:
    path = tmp_path / "steps.csv"
    path.write_text("n workers;n_gpus;subbatch_size;Step [ms]\n1;1;32;100,5 ms\n2;2;32;110,5 ms\n4;4;32;0,1201 s\n", "utf-8")
    with pytest.raises(DataError, match=r"got '0,1201 s', expected a number in ms") as caught:
        train_for_system(path, system)
    assert caught.value.place == f"{path}, line 4, column Step [ms]"
    path.write_text("n workers;n_gpus;subbatch_size;step_ms\n1;1;32;100,5 ms\n2;2;32;[N/A]\n4;4;32;120,1\n", "utf-8")
    with pytest.raises(DataError, match=r"got '\[N/A\]', expected a") as caught:
        train_for_system(path, system)
    assert caught.value.place == f"{path}, line 3, column step_ms"


def test_faults_in_speeds_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "speeds.csv"
    path.write_text("n_workers,n_servers,steps_per_s\n1,1,10\n2,,18\n4,1,30\n", encoding="utf-8")
    with pytest.raises(DataError, match="got an empty cell, expected a number") as caught:
        train_for_system(path, "parameter-server")
    assert caught.value.place == f"{path}, line 3, column n_servers"
    path.write_text("n_workers,steps_per_s\n2,10\n2,11\n", encoding="utf-8")
    with pytest.raises(FitError) as failed:
        train_for_system(path, "parameter-server")
    assert failed.value.place == str(path)


def test_runs_with_parameter_servers_are_told_what_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "ps_runs.csv"
    path.write_text("cnn,n_workers,samples_per_s\nsmall,1,10\nsmall,2,18\n", encoding="utf-8")
    with pytest.raises(DataError, match="got samples_per_s without subbatch_size") as caught:
        train_for_system(path, "parameter-server")
    assert caught.value.place == str(path)
    assert f"mlperf compare constants.json {path}" in str(caught.value.hint)
