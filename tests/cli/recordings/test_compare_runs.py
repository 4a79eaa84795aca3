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


def test_a_metric_that_finds_nothing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("echo 5 it/s", "echo 6 it/s", "--metric", r"([\d.]+) samples/s", "--blocks", "2", "--warm-up", "0") == 3
    told = capsys.readouterr().err
    assert r"printed no number > 0 that --metric '([\\d.]+) samples/s' finds in its first run; it said: 5 it/s" in told
    assert "Its first group holds the number" in told


def test_what_a_word_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    assert kind_of(str(tmp_path)) == FOLDER
    assert kind_of(str(tmp_path / "a.csv")) == FILE
    assert kind_of("python x.py") == COMMAND
    assert kind_of(sys.executable) == COMMAND


def test_options_that_have_no_part_in_a_comparison_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    for a, words in (
        (tmp_path, ("--metric", "nothing")),
        (tmp_path, ("--metric", "([")),
        (tmp_path, ("--higher-is-better",)),
        (tmp_path, ("--column", "step_s")),
        (tmp_path / "a.txt", ("--metric", r"([\d.]+)")),
        (tmp_path / "a.txt", ("--blocks", "3")),
        ("true", ("--marker", "step")),
    ):
        assert run(a, a, *words) == 2
        assert f"got {words[0]}, which counts for nothing here: A and B are" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_no_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, tmp_path / "nosuch") == 2
    assert f"There is no file or folder {tmp_path / 'nosuch'}" in capsys.readouterr().err
