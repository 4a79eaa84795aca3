"""``mlperf collect asgd -- ...``: its line is parsed by its own command, and what it prints fits the documented schema."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from mlperf.cli.main import cli, main
from mlperf.report.text.results import command_schema

pytestmark = pytest.mark.slow

SHORT = ("--nodes", "1", "--gpus-per-node", "1", "--repeats", "1", "--epochs", "1")


def test_a_run_prints_one_document_and_fills_the_tables(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["collect", "asgd", "--", "-o", str(tmp_path), *SHORT, "--json"])
    assert done.exception is None
    document = json.loads(done.stdout)
    Draft202012Validator(command_schema("collect")).validate(document)
    assert document["command"] == "collect"
    assert [run["mode"] for run in document["result"]["runs"]] == ["real"]
    assert (tmp_path / "components.csv").exists()
    assert (tmp_path / "runs.csv").exists()


@pytest.mark.parametrize("words", [["collect", "asgd", "--help"], ["collect", "asgd", "--", "--help"]])
def test_its_help_is_its_own(words: list[str]) -> None:
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0
    assert "--gpus-per-node" in done.stdout
    assert "--wait" in done.stdout


def test_the_other_kinds_still_lead_to_collect() -> None:
    assert "--max-macs" in CliRunner().invoke(cli, ["collect", "--help"]).stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--wait", "gradien", "-o", "x"), 2, "gradient"),
        (("--wait", "memory", "-o", "x"), 2, "waits for network"),
        (("--cnn", "alexnett", "-o", "x"), 2, "alexnet"),
        (("--cnn", "alexnet", "-o", "x"), 3, "expected (224, 224, 3)"),
        (("--cnn", "alexnet", "-o", "x", "--mpiexec", "no-such-mpirun"), 6, "extra 'mpi'"),
        ((), 2, "--out"),
    ],
)
def test_wrong_use_is_answered_without_a_traceback(
    words: tuple[str, ...],
    code: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["collect", "asgd", "--", *words])
    heard = capsys.readouterr().err
    assert (ended.value.code, "Traceback" in heard) == (code, False)
    assert says in heard


def test_missing_mpi_is_exit_code_6(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(SystemExit) as ended:
        main(["collect", "asgd", "--", "-o", str(tmp_path)])
    assert ended.value.code == 6
    assert "extra 'mpi'" in capsys.readouterr().err
