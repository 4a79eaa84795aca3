"""``mlperf record swarms`` on a profiler's trace of a made job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from profiles import training_job

from mlperf.cli.main import main


def run(*arguments: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["record", *map(str, arguments)])
    return int(left.value.code or 0)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return sorted(training_job(tmp_path / "job", [[40.0, 90.0]] * 8)[0].iterdir())[0]


def test_swarms_of_a_trace(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("swarms", trace, "--json", "--plot", trace.parent / "a.svg") == 0
    found = json.loads(capsys.readouterr().out)["result"]["swarms"]
    place = found["columns"].index("place")
    assert {row[place] for row in found["rows"]} == {"device"}
    assert "<svg" in (trace.parent / "a.svg").read_text()


def test_own_keywords(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[[swarm]]\nname = "everything there is"\nwords = ["."]\n')
    assert run("swarms", trace, "--keywords", path) == 0
    assert "everything there is 100.0 %" in capsys.readouterr().out


def test_what_is_wrong_is_told(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.toml"
    path.write_text("[[swarm]]\n")
    assert run("swarms", trace, "--keywords", path) == 3
    assert "swarm 1: has no name" in capsys.readouterr().err
    assert run("swarms", trace, "--marker", "nothing like that") == 3
