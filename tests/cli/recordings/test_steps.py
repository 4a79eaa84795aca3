"""``mlperf record steps``, ``swarms``, ``diff`` and ``scaling`` on traces in the place of recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from made_recordings import MS, Made
from profiles import training_job
from record_commands import run_record, trace_with_steps, trace_without_steps

from mlperf.report.text.results import command_schema
from mlperf.traces.writers.chrome import write_chrome


def test_a_trace_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_record("steps", trace_with_steps(tmp_path)) == 0
    assert "9 steps by marks of the program: 100 ms a step without the first: 60" in capsys.readouterr().out


def test_without_steps_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_record("steps", trace_without_steps(tmp_path)) == 3
    assert "region('step')" in capsys.readouterr().err


@pytest.mark.parametrize("level", [(), ("--level", "1")])
def test_a_marker_that_is_no_regular_expression_is_wrong_use(
    level: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_record("steps", trace_with_steps(tmp_path), "--marker", "(", *level) == 2
    assert "expected a regular expression" in capsys.readouterr().err


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return sorted(training_job(tmp_path / "job", [[40.0, 90.0]] * 8)[0].iterdir())[0]


def test_swarms_of_a_trace(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_record("swarms", job, "--json", "--plot", job.parent / "a.svg") == 0
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(command_schema(document["command"])).validate(document)
    found = document["result"]["swarms"]
    place = found["columns"].index("place")
    assert {row[place] for row in found["rows"]} == {"device"}
    assert "<svg" in (job.parent / "a.svg").read_text()


def test_own_keywords(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[[swarm]]\nname = "everything there is"\nwords = ["."]\n')
    assert run_record("swarms", job, "--keywords", path) == 0
    assert "everything there is 100.0 %" in capsys.readouterr().out


def test_what_is_wrong_is_told(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.toml"
    path.write_text("[[swarm]]\n")
    assert run_record("swarms", job, "--keywords", path) == 3
    assert "swarm 1: has no name" in capsys.readouterr().err
    assert run_record("swarms", job, "--marker", "nothing like that") == 3


def job_trace(folder: Path, host_us: float) -> Path:
    """Rank 0's trace of a job whose host works for so long in each step."""
    return sorted(training_job(folder, [[host_us, 90.0]] * 8)[0].iterdir())[0]


def test_speeds_and_swarms_of_two_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = job_trace(tmp_path / "a", 40.0), job_trace(tmp_path / "b", 40.0)
    assert run_record("diff", one, other, "--json", "--plot", tmp_path / "a.png") == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["speed_ratio"] == pytest.approx(1.0)
    assert found["verdict"] == "inconclusive"
    difference = found["swarms"]["columns"].index("difference")
    assert {row[difference] for row in found["swarms"]["rows"]} == {"as before"}
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert run_record("diff", one, other) == 0
    assert "1.00 times the steps a second" in capsys.readouterr().out


def test_a_marker_that_is_not_there(tmp_path: Path) -> None:
    one = job_trace(tmp_path / "a", 40.0)
    assert run_record("diff", one, one, "--marker", "nothing like that") == 3


def ranks_trace(folder: Path, n_ranks: int, step_ms: int) -> Path:
    maker = Made()
    for rank in range(n_ranks):
        for number in range(8):
            maker.marks(number * 100 * MS, {"forward": step_ms * MS}, rank=rank)
    write_chrome(maker.recording().events, folder / f"run-{n_ranks}.json")
    return folder / f"run-{n_ranks}.json"


def test_two_runs_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [ranks_trace(tmp_path, 1, 20), ranks_trace(tmp_path, 2, 25)]
    assert run_record("scaling", *runs, "--plot", tmp_path / "scaling.svg", "--json") == 0
    table = json.loads(capsys.readouterr().out)["result"]["runs"]
    speed_up = [dict(zip(table["columns"], row, strict=True))["speed_up"] for row in table["rows"]]
    assert speed_up == [1.0, pytest.approx(1.6)]
    assert (tmp_path / "scaling.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_one_run_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_record("scaling", ranks_trace(tmp_path, 1, 20)) == 2
    assert "expected at least two" in capsys.readouterr().err
