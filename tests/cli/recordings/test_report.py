"""``mlperf record report`` on a trace, which is read as a recording without series."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from page_recordings import everything

from mlperf.cli.main import main
from mlperf.traces.writers.chrome import write_chrome


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    write_chrome(everything().events, tmp_path / "run.json.gz")
    return tmp_path / "run.json.gz"


def run(*arguments: object) -> object:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["record", *map(str, arguments)])
    return left.value.code


def test_page_and_files_are_written(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["-o", tmp_path / "run.html", "--tables", tmp_path / "tables", "--flames", tmp_path / "stacks"]
    assert run("report", trace, *places, "--json") == 0
    told = json.loads(capsys.readouterr().out)["result"]
    assert told["n_events"] == len(everything().events)
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "tables" / "steps.csv").is_file()
    assert list((tmp_path / "stacks").glob("*.cpu.folded"))


def test_without_a_place_the_page_stands_here(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("report", trace) == 0
    assert (tmp_path / "run.json.gz.html").is_file()
    assert "run.json.gz.html written" in capsys.readouterr().out


def test_steps_that_are_not_there_are_bad_data(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("report", trace, "-o", tmp_path / "run.html", "--marker", "epoch") == 3
    assert "no mark fits 'epoch'" in capsys.readouterr().err
    assert not (tmp_path / "run.html").exists()
