"""The main path on the command line: each command prints what its Python function returns, and ends as it should."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

import mlperf
from mlperf.cli.main import cli
from mlperf.datasets import read_campaign, write_table
from mlperf.report.text.results import command_schema
from mlperf.report.text.schema import record_text
from mlperf.specs import load_machine, read_cnn

pytestmark = pytest.mark.slow

DATASET_SIZE = 60_000
FEW, LEFT_OUT = tuple(f"cnn{number:02}" for number in range(6)), "cnn05"
ROUNDS = (1, 2, 3, 4)


def invoke(*words: str) -> Result:
    done = CliRunner().invoke(cli, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def printed(command: str, *words: str) -> Any:
    """The result of a record, after a look at the record itself."""
    done = invoke(*command.split(), *words, "--json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    Draft202012Validator(command_schema(command)).validate(document)
    assert document["command"] == command
    assert document["provenance"]["data_sha256"]
    return document["result"]


def returned(result: Any) -> Any:
    """A function's result after a trip through JSON."""
    return json.loads(record_text(result.to_dict()))


def without_provenance(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "provenance"}


@pytest.fixture(scope="module")
def few_networks(small_campaign: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few rounds of the small campaign, of six of its networks: trained twice."""
    whole, folder = read_campaign(small_campaign), tmp_path_factory.mktemp("campaigns") / "few"
    shutil.copytree(small_campaign, folder, ignore=shutil.ignore_patterns("*.csv*"))
    for file in (folder / "cnns").glob("*.toml"):
        if file.stem not in FEW:
            file.unlink()
    for table in ("kernels", "steps", "updates", "sgemm"):
        rows = whole.table(table)
        for column, kept in (("cnn", FEW), ("round", ROUNDS)):
            rows = rows[rows[column].isin(kept)] if column in rows else rows
        write_table(rows.reset_index(drop=True), folder / f"{table}.csv", table)
    return folder


@pytest.fixture(scope="module")
def trained(few_networks: Path) -> Any:
    return mlperf.train(few_networks, leave_out=[LEFT_OUT], n_folds=2, seed=1)


@pytest.fixture(scope="module")
def model_path(trained: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "model.json"
    mlperf.save_model(trained, path)
    return str(path)


@pytest.fixture(scope="module")
def asked(few_networks: Path) -> str:
    """The network that nothing was fitted on."""
    return str(few_networks / "cnns" / f"{LEFT_OUT}.toml")


def test_train_prints_and_stores_what_train_returns(few_networks: Path, trained: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    words = [str(few_networks), "-o", str(path), "--folds", "2", "--seed", "1", "--leave-out", LEFT_OUT]
    result = printed("train", *words)
    assert without_provenance(result) == without_provenance(returned(trained))
    assert without_provenance(returned(mlperf.load_model(path))) == without_provenance(result)
    assert trained.cnns == tuple(name for name in FEW if name != LEFT_OUT)


def test_predict_prints_what_predict_epoch_returns(trained: Any, model_path: str, asked: str) -> None:
    words = [
        "--cnn",
        asked,
        "--machine",
        "cpu-cluster",
        "--nodes",
        "1,4",
        "--subbatch",
        "2",
        "--dataset-size",
        str(DATASET_SIZE),
    ]
    result = printed("predict", model_path, *words)
    job = mlperf.JobSpec(dataset_size=DATASET_SIZE)
    again = mlperf.predict_epoch(trained, read_cnn(asked), load_machine("cpu-cluster"), job, n_nodes=(1, 4), subbatch_size=(2,))
    assert result == returned(again)


def test_compare_prints_and_draws_what_compare_runs_returns_and_answers_scripts(
    few_networks: Path, trained: Any, model_path: str, tmp_path: Path
) -> None:
    words, file = [model_path, str(few_networks)], tmp_path / "compare.svg"
    assert printed("compare", *words, "--max-error", "1000") == returned(mlperf.compare_runs(trained, few_networks))
    strict = CliRunner().invoke(cli, ["compare", *words, "--max-error", "0", "--plot", str(file)], standalone_mode=False)
    assert strict.return_value == 1
    assert "<svg" in file.read_text(encoding="utf-8")


def test_search_prints_what_search_runs_returns_and_answers_scripts(trained: Any, model_path: str, asked: str) -> None:
    words = [model_path, "--cnn", asked, "--machine", "cpu-cluster", "--dataset-size", str(DATASET_SIZE), "--nodes", "1:8"]
    words += ["--subbatch", "1:4"]
    result = printed("search", *words, "--minibatch", "8:64")
    job = mlperf.JobSpec(dataset_size=DATASET_SIZE)
    again = mlperf.search_runs(
        trained,
        read_cnn(asked),
        load_machine("cpu-cluster"),
        job,
        n_nodes=tuple(range(1, 9)),
        subbatch_size=tuple(range(1, 5)),
        minibatch=(8.0, 64.0),
    )
    assert result == returned(again)
    nothing = CliRunner().invoke(cli, ["search", *words, "--minibatch", "1e7:1e8"], standalone_mode=False)
    assert nothing.return_value == 1
    assert "nothing found" in nothing.stdout


def test_report_prints_what_model_report_returns(trained: Any, model_path: str) -> None:
    from mlperf.training.reported_model import model_report

    assert printed("report", model_path) == returned(model_report(trained))


def test_people_see_tables_in_plain_words(model_path: str, asked: str) -> None:
    words = ["--cnn", asked, "--machine", "cpu-cluster", "--nodes", "4", "--dataset-size", str(DATASET_SIZE)]
    text = invoke("predict", model_path, *words).stdout
    assert f"{LEFT_OUT} on 4 nodes" in text
    assert "GPU thread, one iteration" in text
    assert "{" not in text


def test_a_table_model_predicts_rows(tmp_path: Path) -> None:
    table, rows, model = tmp_path / "times.csv", tmp_path / "new.csv", tmp_path / "model.json"
    lines = [f"{m},{n},{2.0 * m * n + 5.0 + 0.01 * ((7 * m + 3 * n) % 5)}" for m in range(1, 8) for n in range(1, 8)]
    table.write_text("m,n,time_ms\n" + "\n".join(lines) + "\n", encoding="utf-8")
    rows.write_text("m,n\n3,4\n6,6\n", encoding="utf-8")
    invoke("train", str(table), "--target", "time_ms", "--terms", "m*n, m, log2(n)", "--folds", "3", "-o", str(model))
    result = printed("predict", str(model), "--rows", str(rows))
    assert result["predicted"] == pytest.approx([29.0, 77.0], rel=5e-3)
    assert result["in_domain"] == [True, True]


def test_a_missing_specification_is_wrong_use(model_path: str) -> None:
    from mlperf.core.errors import UsageError

    for words in (
        ["--machine", "kfc", "--dataset-size", "9"],
        ["--cnn", "vgg11", "--dataset-size", "9"],
        ["--cnn", "vgg11", "--machine", "kfc"],
    ):
        with pytest.raises(UsageError):
            invoke("predict", model_path, *words)
