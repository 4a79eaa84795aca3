"""``mlperf trace job`` on a small table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlperf.cli.main import main

HEADER = "step,rank,dp_rank,stage,operation,sequence,start_s,duration_s\n"
ROWS = "\n".join(f"{step},{rank},{rank},0,forward-compute,0,0.0,{1 + rank}" for step in range(3) for rank in range(2))


def run(*arguments: str) -> object:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["trace", "job", *arguments])
    return left.value.code


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "job.csv"
    path.write_text(HEADER + ROWS + "\n", encoding="utf-8")
    return path


def test_json_holds_the_result_and_what_was_read(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(table), "--json", "--assume", "time(rank=1)=x0.5") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["result"]["culprit"] == "(1, 0)"
    assert told["result"]["assumptions"]["rows"][0][2] == pytest.approx(1.0)
    assert set(told["provenance"]["data_sha256"]) == {"job.csv"}


def test_the_answer_comes_first(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(table)) == 0
    assert capsys.readouterr().out.startswith("job.csv, 3 steps of 2.00 s: worker (1, 0) is the straggler")


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--data-parallel", "3"], 2, "data-parallel degree of 3"),
        (["--assume", "time(stage=7)=0"], 2, "means no operations of the job"),
    ],
)
def test_wrong_use(table: Path, more: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(table), *more) == code
    assert message in capsys.readouterr().err


def test_wrong_data(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table.write_text(HEADER + ROWS.replace("forward-compute", "froward-compute") + "\n", encoding="utf-8")
    assert run(str(table)) == 3
    assert "Did you mean 'forward-compute'" in capsys.readouterr().err
