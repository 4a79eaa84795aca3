"""Flags that would have no part in the answer are refused, whether typed or from a configuration; those of every answer are not."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pandas as pd
import pytest
from click.testing import CliRunner
from invoked import invoke

from mlperf.cli.framework.given import refuse_idle
from mlperf.core.errors import UsageError
from mlperf.studies.model_files import save_model
from mlperf.training.systems.train_system import train_system
from mlperf.training.table.train_table import train_table


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("steps")
    rows = pd.DataFrame({"n_gpus": [1, 2, 4, 8] * 15, "subbatch_size": range(1, 61)})
    rows["step_s"] = 0.1 + 0.01 * rows["subbatch_size"]
    rows.to_csv(folder / "steps.csv", index=False)
    save_model(train_system(rows), folder / "model.json")
    return str(folder / "model.json"), str(folder / "steps.csv")


def test_what_was_not_given_or_is_used_passes() -> None:
    @click.command()
    @click.option("-o", "--output", default="x")
    @click.option("--what-if")
    def asked(output: str, what_if: str) -> None:  # noqa: ARG001 - click hands them over
        refuse_idle(("output",), "rows are predicted")

    assert CliRunner().invoke(asked, ["-o", "y"]).exception is None
    done = CliRunner().invoke(asked, ["--what-if", "compute=2"])
    assert str(done.exception) == "got --what-if, which counts for nothing here: rows are predicted\n  hint: Leave it out."
    assert CliRunner().invoke(asked, [], default_map={"what_if": "compute=2"}).exception is not None


@pytest.mark.parametrize(
    "words",
    [
        ("--what-if", "compute=2"),
        ("--by", "n_gpus"),
        ("--deadline", "3h"),
        ("--nodes", "3"),
        ("--set", "accumulation=2"),
        ("--cnn", "vgg16"),
        ("--simulate",),
    ],
)
def test_rows_of_a_fitted_system_refuse_what_they_ignore(steps: tuple[str, str], words: tuple[str, ...]) -> None:
    model, rows = steps
    with pytest.raises(UsageError, match=f"got {words[0]}, which counts for nothing here"):
        invoke("predict", model, "--rows", rows, *words)


def test_sizes_of_a_fitted_system_refuse_what_they_ignore(steps: tuple[str, str]) -> None:
    model, _ = steps
    invoke("predict", model, "--nodes", "1,2", "--gpus-per-node", "1", "--subbatch", "2", "--level", "0.9", "--seed", "1")
    with pytest.raises(UsageError, match="got --dataset-size, which counts for nothing here"):
        invoke("predict", model, "--nodes", "1,2", "--gpus-per-node", "1", "--subbatch", "2", "--dataset-size", "100")
    with pytest.raises(UsageError, match="got --system pipeline, but MODEL is of the system data-parallel"):
        invoke("predict", model, "--nodes", "1,2", "--gpus-per-node", "1", "--subbatch", "2", "--system", "pipeline")


def test_rows_of_a_table_refuse_what_they_ignore(tmp_path: Path) -> None:
    table = pd.DataFrame({"m": range(1, 31), "time_ms": [2.0 * m + 0.1 * (m % 3) for m in range(1, 31)]})
    table.to_csv(tmp_path / "t.csv", index=False)
    save_model(train_table(table, "time_ms", method="ols", report="none"), tmp_path / "m.json")
    words = ("predict", str(tmp_path / "m.json"), "--rows", str(tmp_path / "t.csv"))
    invoke(*words, "--by", "m")
    with pytest.raises(UsageError, match="got --what-if, which counts for nothing here"):
        invoke(*words, "--what-if", "compute=2")


def test_rows_of_a_fitted_system_are_written_whole_and_shown_in_part(steps: tuple[str, str], tmp_path: Path) -> None:
    model, rows = steps
    told = invoke("predict", model, "--rows", rows, "-o", str(tmp_path / "out.csv.gz")).stdout
    assert "20 further rows: -o FILE writes all of them as CSV." in told
    assert len(pd.read_csv(tmp_path / "out.csv.gz")) == 60
    assert (tmp_path / "out.csv.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert len(json.loads(invoke("predict", model, "--rows", rows, "--json").stdout)["result"]["rows"]["rows"]) == 60
    before = Path(rows).read_bytes()
    with pytest.raises(UsageError, match="which is read"):
        invoke("predict", model, "--rows", rows, "-o", rows)
    assert Path(rows).read_bytes() == before
