"""``mlperf record diff`` on profilers' traces of made jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from profiles import training_job

from mlperf.cli.main import main


def trace(folder: Path, host_us: float) -> Path:
    """Rank 0's trace of a job whose host works for so long in each step."""
    return sorted(training_job(folder, [[host_us, 90.0]] * 8)[0].iterdir())[0]


def run(*arguments: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["record", *map(str, arguments)])
    return int(left.value.code or 0)


def test_speeds_and_swarms_of_two_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = trace(tmp_path / "a", 40.0), trace(tmp_path / "b", 40.0)
    assert run("diff", one, other, "--json", "--plot", tmp_path / "a.png") == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["speed_ratio"] == pytest.approx(1.0)
    assert found["verdict"] == "inconclusive"
    difference = found["swarms"]["columns"].index("difference")
    assert {row[difference] for row in found["swarms"]["rows"]} == {"as before"}
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert run("diff", one, other) == 0
    assert "1.00 times the steps a second" in capsys.readouterr().out


def test_a_marker_that_is_not_there(tmp_path: Path) -> None:
    one = trace(tmp_path / "a", 40.0)
    assert run("diff", one, one, "--marker", "nothing like that") == 3
