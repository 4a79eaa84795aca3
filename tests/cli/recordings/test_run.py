"""``mlperf record -- COMMAND`` and the commands that follow it, as a user types them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mlperf.cli.main import main

pytestmark = pytest.mark.slow

PROGRAM = """
import sys, time
from mlperf.traces.recording import region
for _ in range(12):
    with region("step"):
        with region("load"):
            time.sleep(0.03)
        with region("forward"):
            time.sleep(0.02)
print("trained")
sys.exit(5)
"""
SOURCES = "marks,python,tree"


def run(*arguments: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["record", *map(str, arguments)])
    return int(left.value.code or 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_recorded_split_and_advised(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("-o", "run", "--sources", SOURCES, "--", sys.executable, "train.py") == 5
    told = capfd.readouterr()
    assert told.out.startswith("trained\n")
    assert "(exit code 5)" in told.out
    assert "mlperf record advise run" in told.err
    assert run("steps", "run") == 0
    first = capfd.readouterr().out.splitlines()[0]
    assert first.startswith("run: 12 steps by marks of the program")
    assert run("advise", "run", "--json") == 0
    found = json.loads(capfd.readouterr().out)["result"]
    assert found["n_steps"] == 11
    names = found["hints"]["columns"]
    assert found["hints"]["rows"][0][names.index("cause")] == "input"
    assert run("table", "run", "-o", "table.csv") == 0
    assert "load_s" in Path("table.csv").read_text()


@pytest.mark.usefixtures("folder")
def test_json_keeps_the_programs_words_out(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("--sources", "marks", "--json", "--", sys.executable, "train.py") == 5
    told = capfd.readouterr()
    document = json.loads(told.out)
    assert document["command"] == "record"
    assert document["result"]["command_exit_code"] == 5
    assert document["result"]["folder"] == "recording-1"
    assert "trained" in told.err


@pytest.mark.usefixtures("folder")
def test_a_probe_needs_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--probe") == 0
    told = capsys.readouterr().out
    assert "sources can be recorded here" in told
    assert "regions that the program marks" in told


@pytest.mark.usefixtures("folder")
def test_wrong_use_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 2
    assert "no command" in capsys.readouterr().err
    assert run("--sources", "mark", "--", "true") == 2
    assert "marks" in capsys.readouterr().err
    assert run("steps", "nothing") == 3
    assert run("-o", "x", "--", "no-such-program") == 2
    Path("x").mkdir()
    Path("x/recording.json").write_text("{}")
    capsys.readouterr()
    assert run("-o", "x", "--", "true") == 2
    assert "holds a recording" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_rank_under_a_launcher_has_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PMI_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("PMI_RANK", rank)
        assert run("-o", "all", "--sources", "marks", "--", sys.executable, "train.py") == 5
    monkeypatch.delenv("PMI_RANK")
    capfd.readouterr()
    assert run("steps", "all", "--json") == 0
    found = json.loads(capfd.readouterr().out)["result"]["summary"]
    assert [row[found["columns"].index("rank")] for row in found["rows"]] == [0, 1]


@pytest.mark.usefixtures("folder")
def test_ranks_without_a_folder_are_asked_for_one(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    assert run("--sources", "marks", "--", sys.executable, "train.py") == 2
    assert "several ranks need one folder" in capfd.readouterr().err
    assert not list(Path().glob("recording-*"))


@pytest.mark.usefixtures("folder")
def test_a_rank_that_somebody_exported_moves_no_folder(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RANK", "3")
    assert run("-o", "run", "--sources", "marks", "--", "true") == 0
    assert Path("run/recording.json").is_file()
    assert "mlperf record advise run " in capfd.readouterr().err
