"""``mlperf collect canonical`` and ``mlperf collect network``: documents that fit their schema, and wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from mlperf.cli.main import cli
from mlperf.collect.canonical import cases
from mlperf.report.text.results import command_schema


@pytest.mark.parametrize("table", ["canonical", "network"])
@pytest.mark.slow
def test_a_quick_measurement_prints_one_document(table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "cache_bytes", lambda: {"L2": 2**20})
    words = ["collect", table, "--", "-o", str(tmp_path), "--quick", "--rounds", "1", "--json"]
    done = CliRunner().invoke(cli, [*words, *(("--threads", "1") if table == "canonical" else ())])
    assert done.exception is None
    document = json.loads(done.stdout)
    Draft202012Validator(command_schema("collect")).validate(document)
    assert document["result"]["table"] == table
    assert (tmp_path / f"{table}.csv").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("canonical", "-o", "x", "--code", "scala"), "scalar"),
        (("canonical",), "--out"),
        (("canonical", "-o", "x", "--constants", "c.toml"), "got neither --latency and --bandwidth nor x/network.csv"),
        (("canonical", "-o", "x", "--constants", "c.toml", "--latency", "1"), "got one of --latency and --bandwidth"),
        (("canonical", "-o", "x", "--constants", "c.toml", "--latency", "-1", "--bandwidth", "1"), "expected latency >= 0"),
        (("canonical", "-o", "x", "--latency", "1"), "without --constants"),
        (("network", "-o", "x", "--mpiexec", "no-such-mpirun"), "extra 'mpi'"),
    ],
)
def test_wrong_use_is_answered(words: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["collect", words[0], "--", *words[1:]])
    assert done.exit_code != 0
    assert says in done.output + str(done.exception)
    assert not (tmp_path / "x").exists()
