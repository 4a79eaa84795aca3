"""``compare``, ``predict --rows`` and ``report`` of a table's model, and the other kind of model at the wrong place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import mlperf
from mlperf.cli.main import cli
from mlperf.core.errors import DomainError, UsageError
from mlperf.report.text.results import command_schema

pytestmark = pytest.mark.slow


def invoke(*words: str, stdin: str | None = None) -> Any:
    done = CliRunner().invoke(cli, list(words), input=stdin, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done


def printed(command: str, *words: str) -> Any:
    document = json.loads(invoke(command, *words, "--json").stdout)
    Draft202012Validator(command_schema(command)).validate(document)
    return document["result"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(31)
    table = pd.DataFrame({"size": rng.uniform(1.0, 50.0, 90), "net": rng.choice(["a", "b"], 90)})
    table["time_s"] = (2.0 + table["size"]) * np.exp(0.05 * rng.standard_normal(90))
    table.to_csv(made / "rows.csv", index=False)
    mlperf.save_model(mlperf.train(table, target="time_s", terms=["size"], method="ols"), made / "model.json")
    return made


def test_rows_are_compared_as_text_and_as_json(folder: Path) -> None:
    result = printed("compare", str(folder / "model.json"), str(folder / "rows.csv"), "--by", "net")
    assert result["errors"]["n"] == 90
    assert [row[0] for row in result["by_group"]["rows"]] in (["a", "b"], ["b", "a"])
    assert invoke("compare", str(folder / "model.json"), str(folder / "rows.csv"), "--max-error", "0.001").return_value == 1


def test_rows_are_written_and_summed(folder: Path, tmp_path: Path) -> None:
    model, rows, out = str(folder / "model.json"), str(folder / "rows.csv"), tmp_path / "out.csv"
    result = printed("predict", model, "--rows", rows, "-o", str(out), "--by", "net")
    assert (result["n_rows"], result["n_in_domain"] <= 90) == (90, True)
    assert len(pd.read_csv(out)) == 90
    assert len(result["sums"]["rows"]) == 2
    piped = invoke(
        "predict", model, "--rows", "-", "-o", str(tmp_path / "piped.csv"), stdin=(folder / "rows.csv").read_text("utf-8")
    )
    assert "90 rows written" in piped.stdout
    assert (tmp_path / "piped.csv").read_bytes() == out.read_bytes()
    assert printed("predict", model, "--rows", rows)["remark"] == [""] * 90
    with pytest.raises(UsageError, match="which is read"):
        invoke("predict", model, "--rows", rows, "-o", rows)


def test_strict_is_exit_5(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "far.csv").write_text("size\n3\n900\n", encoding="utf-8")
    with pytest.raises(DomainError, match="lies outside") as caught:
        invoke("predict", str(folder / "model.json"), "--rows", str(tmp_path / "far.csv"), "--strict")
    assert caught.value.place.endswith("far.csv, line 3, column size")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("predict", "MODEL", "--cnn", "vgg16", "--machine", "kfc", "--dataset-size", "10"), "without --rows"),
        (("predict", "MODEL"), r"without --rows, expected rows to predict\n  hint: Name the table: --rows FILE\."),
        (("predict", "MODEL", "--by", "net"), "got -o or --by without --rows"),
        (("compare", "MODEL", "cpu-epyc"), "expected a table's file"),
        (("compare", "MODEL", "rows.csv", "--only", "vgg11", "--method", "ols"), "got --only, --method"),
        (("search", "MODEL", "--cnn", "vgg16", "--machine", "kfc", "--dataset-size", "10"), "a model of a table"),
        (("report", "cpu-epyc", "--figures", "figures", "--model", "MODEL"), "a model of a table"),
    ],
)
def test_a_table_s_model_at_the_wrong_place_is_refused(folder: Path, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        invoke(*(str(folder / "model.json") if word == "MODEL" else word for word in words))


def test_report_of_a_table_is_a_page_and_a_figure(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page, figure = tmp_path / "page.html", tmp_path / "figure.svg"
    invoke("report", str(folder / "model.json"), "--html", str(page), "--plot", str(figure))
    assert "is typically missed by" in page.read_text(encoding="utf-8")
    assert figure.stat().st_size > 10_000
    table = printed("report", str(folder / "model.json"))["table"]
    assert table["formulas"]["r"] == "lm(time_s ~ size, weights = 1/time_s^2, data = data)"
    assert {"effects", "left_out", "verdict", "trace"} <= set(table)
