"""``mlperf collect ps -- ...``: one run, and wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from mlperf.cli.main import cli
from mlperf.report.text.results import command_schema

PLAN = "1x1x1/1x1x1/1x1x1"


@pytest.mark.slow
def test_a_run_prints_one_document_and_fills_the_table(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    words = ["-o", str(tmp_path), "--plan", PLAN, "--repeats", "1", "--minibatches", "3", "--epochs", "0", "--json"]
    done = CliRunner().invoke(cli, ["collect", "ps", "--", *words])
    assert done.exception is None
    document = json.loads(done.stdout)
    Draft202012Validator(command_schema("collect")).validate(document)
    assert document["result"]["mode"] == "real"
    assert (tmp_path / "ps_runs.csv").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--plan", "1x1/1"), "expected three counts a layer"),
        (("--plan", "1x1x1"), "got plans of 1 layers, expected 3"),
        (("--plan", PLAN, "--replicas", "2"), "2 replicas without a server"),
        (("--plan", PLAN, "--wait", "network"), "without waits for compute"),
        ((), "got no configuration"),
        (
            ("--cnn", "digit-fc", "--plan", PLAN),
            "no such file exists. Did you mean 'digits-fc'?",
        ),
        (("--cnn", "nosuch", "--plan", PLAN), "Known: digits-fc, digits-conv."),
    ],
)
def test_wrong_use_is_answered(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    done = CliRunner().invoke(cli, ["collect", "ps", "--", "-o", str(tmp_path / "out"), *words])
    assert done.exit_code != 0
    assert says in done.output + str(done.exception)
    assert not (tmp_path / "out").exists()
