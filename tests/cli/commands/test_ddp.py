"""``mlperf collect ddp -- ...``: its line is parsed by its own command, and what it prints fits the documented schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from mlperf.cli.main import cli
from mlperf.core.errors import UsageError
from mlperf.report.text.results import command_schema

pytestmark = pytest.mark.slow

SHORT = ("--processes", "1", "--subbatch", "4", "--seconds", "0.02", "--repeats", "1")


def test_a_run_prints_one_document_and_fills_the_table(tmp_path: Path) -> None:
    out = tmp_path / "runs"
    done = CliRunner().invoke(cli, ["collect", "ddp", "--", "-o", str(out), *SHORT, "--json"])
    assert done.exception is None
    document = json.loads(done.stdout)
    Draft202012Validator(command_schema("collect")).validate(document)
    columns = document["result"]["runs"]["columns"]
    (row,) = document["result"]["runs"]["rows"]
    assert row[columns.index("mode")] == "real"
    assert (out / "runs.csv").exists()
    again = CliRunner().invoke(cli, ["collect", "ddp", "--", "-o", str(out), *SHORT])
    assert "already there: 1 run of these settings" in again.stderr


def test_a_loss_that_is_no_number_is_told(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["collect", "ddp", "--", "-o", str(tmp_path / "runs"), *SHORT, "--learning-rate", "1e300"])
    assert done.exit_code == 0
    assert "1 of 1 run ended with a loss that is no number" in done.stderr


def test_its_help_is_its_own_and_nonsense_is_refused(tmp_path: Path) -> None:
    told = CliRunner().invoke(cli, ["collect", "ddp", "--", "--help"])
    assert told.exit_code == 0
    assert "--exchange-bytes" in told.stdout
    wrong = CliRunner().invoke(cli, ["collect", "ddp", "--", "-o", str(tmp_path / "x"), "--momentum", "1"])
    assert isinstance(wrong.exception, UsageError)
    assert not (tmp_path / "x").exists()
