"""``mlperf compare-runs`` as a user types it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from mlperf.cli.main import main
from mlperf.cli.recordings.compare_runs import COMMAND, FILE, FOLDER, kind_of


def run(*arguments: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["compare-runs", *map(str, arguments)])
    return int(left.value.code or 0)


def test_files_of_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, first in (("a.txt", 100), ("b.txt", 80)):
        (tmp_path / name).write_text("\n".join(str(first + number % 5) for number in range(60)))
    assert run(tmp_path / "a.txt", tmp_path / "b.txt", "--json") == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["verdict"] == "faster"
    assert run(tmp_path / "a.txt", tmp_path / "a.txt", "--margin", "0") == 1
    assert "inconclusive" in capsys.readouterr().out


def test_a_number_of_the_output_decides(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (shlex.join([sys.executable, "-c", f"print('{rate} samples/s')"]) for rate in (100, 150))
    words = ("--metric", r"([\d.]+) samples/s", "--higher-is-better", "--blocks", "2", "--warm-up", "0")
    assert run(one, other, *words) == 0
    assert "B is better" in capsys.readouterr().out


def test_two_kinds_are_no_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("1\n2\n3\n")
    assert run(tmp_path / "a.csv", tmp_path) == 2
    assert "two of one kind" in capsys.readouterr().err
    assert run("true", "true", "--higher-is-better") == 2


def test_what_a_word_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    assert kind_of(str(tmp_path)) == FOLDER
    assert kind_of(str(tmp_path / "a.csv")) == FILE
    assert kind_of("python x.py") == COMMAND
    assert kind_of(sys.executable) == COMMAND
