"""``mlperf collect counters -- COMMAND``: exit codes, streams, tables and interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from mlperf.cli.main import cli, main
from mlperf.report.text.results import command_schema

pytestmark = pytest.mark.slow

MLPERF = (sys.executable, "-c", "from mlperf.cli.main import main; main()", "collect", "counters")
LIGHT = ("--sources", "proc,rusage")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MLPERF, *words], capture_output=True, text=True, check=False, timeout=120)


def test_the_commands_exit_code_is_ours_and_its_output_does_not_spoil_the_json() -> None:
    done = run(*LIGHT, "--json", "--", "sh", "-c", "echo on stdout; echo on stderr >&2; exit 5")
    assert done.returncode == 5
    document = json.loads(done.stdout)
    Draft202012Validator(command_schema("collect")).validate(document)
    assert document["result"]["command_exit_code"] == 5
    assert "on stdout" in done.stderr
    assert "on stderr" in done.stderr


def test_for_people_the_output_passes_between_the_probe_and_the_counters() -> None:
    done = run(*LIGHT, "--", "echo", "hello", "--json")
    assert done.returncode == 0
    said = done.stdout
    assert said.index("Sources of counters") < said.index("hello --json") < said.index("ru_minor_faults")
    assert "page faults" not in done.stderr
    assert "hello --json: 1 run, exit code 0" in said


def test_the_probe_alone_runs_nothing() -> None:
    done = CliRunner().invoke(cli, ["collect", "counters", "--probe", "--sources", "proc,machine", "--json"])
    document = json.loads(done.stdout)
    Draft202012Validator(command_schema("collect")).validate(document)
    assert [source["source"] for source in document["result"]["sources"]] == ["proc", "machine"]


def test_rows_are_labelled_and_added(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for name in ("a", "b"):
        words = ["collect", "counters", *LIGHT, "-o", str(path), "--append", "--key", f"kernel={name}", "--repeats", "2", "true"]
        done = CliRunner().invoke(cli, words)
        assert done.exception is None
    assert list(pd.read_csv(path)["kernel"]) == ["a", "a", "b", "b"]
    out = tmp_path / "f.csv"
    done = CliRunner().invoke(cli, ["features", "dwc-b", str(path), "-o", str(out)])
    assert done.exception is None
    assert list(pd.read_csv(out)["kernel"]) == ["a", "b"]


def test_rows_of_another_key_are_told_of(tmp_path: Path) -> None:
    """Not refused, as columns may differ; but what names the rows is empty in some, and features average what it tells apart."""
    path = tmp_path / "t.csv"
    words = ["collect", "counters", *LIGHT, "-o", str(path), "--append", "--key", "kernel=a"]
    for size in ("10", "20"):
        done = CliRunner().invoke(cli, [*words, "--key", f"size={size}", "true"])
        assert "labels are empty" not in done.stderr
    done = CliRunner().invoke(cli, [*words, "--key", "other=1", "true"])
    assert "labels are empty where rows of other keys were added: size (1 of 3 rows), other (2 of 3 rows)" in done.stderr
    done = CliRunner().invoke(cli, ["features", "dwc-b", str(path), "-o", str(tmp_path / "f.csv")])
    assert "rows that differ in size, other were averaged: --key kernel:size:other keeps them apart" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 2, "COMMAND"),
        (("--", "no-such-program-here"), 2, "no program on the PATH"),
        (("--sources", "cachegrnd", "--", "true"), 2, "cachegrind"),
        (("--append", "--", "true"), 2, "-o"),
        (("--key", "kernel", "--", "true"), 2, "NAME=VALUE"),
        (("--key", "cg_Ir=1", "--", "true"), 2, "NAME=VALUE"),
        (("--key", "a=1", "--key", "a=2", "--", "true"), 2, "got --key a=1 --key a=2, expected every name once"),
        (("--cache-l1", "1000", "--", "true"), 2, "SIZE,WAYS,LINE"),
    ],
)
def test_wrong_use_is_answered_without_a_traceback(
    words: tuple[str, ...], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["collect", "counters", *words])
    heard = capsys.readouterr().err
    assert (ended.value.code, "Traceback" in heard) == (code, False)
    assert says in heard


@pytest.mark.parametrize(("source", "package"), [("cachegrind", "valgrind"), ("valgrind", "valgrind"), ("perf", "linux-perf")])
def test_a_source_asked_for_by_name_and_absent_is_exit_code_6(
    source: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "true").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["collect", "counters", "--sources", source, "--", "true"])
    assert ended.value.code == 6
    assert package in capsys.readouterr().err


def test_ctrl_c_is_130_and_leaves_nothing_behind(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    running = subprocess.Popen([*MLPERF, *LIGHT, "--", "sh", "-c", f"echo $$ > {mark}; exec sleep 60"], stderr=subprocess.PIPE)
    while not (mark.exists() and mark.read_text(encoding="ascii").strip()):
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, heard = running.communicate(timeout=30)
    assert running.returncode == 130
    assert b"Traceback" not in heard
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text(encoding="ascii")), 0)


def test_its_help_is_its_own_and_shows_an_example() -> None:
    done = CliRunner().invoke(cli, ["collect", "counters", "--help"])
    assert done.exit_code == 0
    assert "mlperf collect counters --probe" in done.stdout
    assert "--cache-ll" in done.stdout
