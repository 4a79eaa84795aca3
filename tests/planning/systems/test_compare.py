"""Measured runs beside what a system predicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mlperf
from mlperf.cli.main import cli
from mlperf.core.errors import DataError
from mlperf.planning.systems.compare import compare_system
from mlperf.specs import JobSpec

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows(small_model: Any) -> Any:
    """What the model predicts, a tenth slower: measurements whose error is known."""
    job = JobSpec(dataset_size=60_000, subbatch_size=2)
    frame = mlperf.predict_system(small_model, "sprint", ["alexnet", "resnet18"], "cpu-cluster", job, n_nodes=[1, 2]).to_frame()
    keys = ["cnn", "n_nodes", "n_gpus_per_node", "subbatch_size", "dataset_size"]
    return frame[keys].assign(epoch_s=1.1 * frame["epoch_s"], gpu_iteration_s=1.1 * frame["gpu_iteration_s"])


def test_errors_are_those_that_were_put_in(small_model: Any, rows: Any) -> None:
    found = compare_system(small_model, "sprint", rows, "cpu-cluster")
    assert set(found.errors) == {"epoch_s", "gpu_iteration_s"}
    for errors in found.errors.values():
        np.testing.assert_allclose([errors.mape, errors.bias], [1 - 1 / 1.1, 1 / 1.1 - 1], rtol=1e-9)


def test_an_epoch_needs_its_data_set(small_model: Any, rows: Any) -> None:
    with pytest.raises(DataError, match="no column with an output") as caught:
        compare_system(small_model, "sprint", rows.drop(columns=["dataset_size", "gpu_iteration_s"]), "cpu-cluster")
    assert "dataset_size" in str(caught.value.hint)
    with pytest.raises(DataError, match="'cnn'"):
        compare_system(small_model, "sprint", rows.drop(columns="cnn"), "cpu-cluster")


def test_the_command_compares_a_file(small_model: Any, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("from mlperf.systems.sprint.system import SprintSystem\nMINE = SprintSystem(name='mine')\n")
    mlperf.save_model(small_model, "model.json")
    rows.to_csv("runs.csv", index=False)
    words = ["compare", "model.json", "runs.csv", "--system", "mine:MINE", "--machine", "cpu-cluster", "--json"]
    done = CliRunner().invoke(cli, [*words, "--max-error", "0.05"], standalone_mode=False)
    assert done.return_value == 1, done.output
    errors = json.loads(done.stdout)["result"]["errors"]
    assert errors["epoch_s"]["mape"] == pytest.approx(1 - 1 / 1.1)


def test_a_file_in_another_unit_and_spelling_is_the_same(small_model: Any, rows: Any, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    told = rows.assign(**{"Epoch [ms]": [f"{1e3 * each:.17g} ms" for each in rows["epoch_s"]]}).drop(columns="epoch_s")
    told.rename(columns={"cnn": "CNN", "n_nodes": "N Nodes"}).to_csv(path, index=False, sep=";")
    found, plain = (compare_system(small_model, "sprint", each, "cpu-cluster") for each in (path, rows))
    assert found.errors["epoch_s"].mape == pytest.approx(plain.errors["epoch_s"].mape, rel=1e-12)


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("n_nodes", "1.5", "got 1.5, expected a whole number >= 1"),
        ("dataset_size", "60k", "got '60k', expected a number"),
        ("epoch_s", "500 ms", "got '500 ms', expected a number in s"),
        ("epoch_s", "[N/A]", r"got '\[N/A\]', expected a number > 0"),
    ],
)
def test_a_cell_that_is_no_run_is_named(small_model: Any, rows: Any, tmp_path: Path, column: str, cell: str, message: str) -> None:
    path = tmp_path / "runs.csv"
    rows.astype(str).assign(**{column: [*rows[column].astype(str)[:-1], cell]}).to_csv(path, index=False)
    with pytest.raises(DataError, match=message) as caught:
        compare_system(small_model, "sprint", path, "cpu-cluster")
    assert caught.value.place == f"{path}, line {len(rows) + 1}, column {column}"
