"""``mlperf record scaling`` on traces of one and two ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_recordings import MS, Made

from mlperf.cli.main import main
from mlperf.traces.writers.chrome import write_chrome


def run(*arguments: object) -> object:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["record", *map(str, arguments)])
    return left.value.code


def trace(folder: Path, n_ranks: int, step_ms: int) -> Path:
    maker = Made()
    for rank in range(n_ranks):
        for number in range(8):
            maker.marks(number * 100 * MS, {"forward": step_ms * MS}, rank=rank)
    write_chrome(maker.recording().events, folder / f"run-{n_ranks}.json")
    return folder / f"run-{n_ranks}.json"


def test_two_runs_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [trace(tmp_path, 1, 20), trace(tmp_path, 2, 25)]
    assert run("scaling", *runs, "--plot", tmp_path / "scaling.svg", "--json") == 0
    table = json.loads(capsys.readouterr().out)["result"]["runs"]
    speed_up = [dict(zip(table["columns"], row, strict=True))["speed_up"] for row in table["rows"]]
    assert speed_up == [1.0, pytest.approx(1.6)]
    assert (tmp_path / "scaling.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_one_run_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("scaling", trace(tmp_path, 1, 20)) == 2
    assert "expected at least two" in capsys.readouterr().err
