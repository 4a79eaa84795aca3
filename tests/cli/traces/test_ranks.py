"""``mlperf trace ranks``, ``steps``, ``diff`` and ``table`` as a user types them, and what they hand to ``mlperf train``."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from profiled_ranks import STEADY, write_job

from mlperf.cli.main import main


def run(*arguments: object) -> object:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main([str(each) for each in arguments])
    return left.value.code


def test_the_straggler_is_named_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("trace", "ranks", *write_job(tmp_path), "--assume", "faster-network=2") == 0
    told = capsys.readouterr().out
    assert "3 ranks, 4 steps" in told.splitlines()[0]
    assert "rank 2 comes last" in told.splitlines()[0]
    assert "faster-network=2" in told


def test_steps_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("trace", "steps", tmp_path if write_job(tmp_path) else "", "--json") == 0
    result = json.loads(capsys.readouterr().out)["result"]
    frame = pd.DataFrame(result["steps"]["rows"], columns=result["steps"]["columns"])
    parts = frame[["gpu_kernel_s", "gpu_exposed_collective_s", "gpu_exposed_copy_s", "cpu_s"]].sum(axis=1)
    assert parts.tolist() == pytest.approx(frame["step_s"].tolist())


def test_two_traces_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, factor in zip(folders, (1, 3), strict=True):
        folder.mkdir()
        write_job(folder, [[factor * each for each in work] for work in STEADY])
    assert run("trace", "diff", *(folder / "rank_0.json" for folder in folders)) == 0
    assert "sgemm_128x64" in capsys.readouterr().out


def test_traces_train_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Six runs of growing size: the time of the product follows the size that the keys tell."""
    (tmp_path / "m.toml").write_text('[components.gemm]\nname = "sgemm"\n', encoding="utf-8")
    (tmp_path / "keys.csv").write_text("run,size\n" + "".join(f"r{n},{100 * n}\n" for n in range(1, 9)), encoding="utf-8")
    paths = []
    for number in range(1, 9):
        folder = tmp_path / f"r{number}"
        folder.mkdir()
        write_job(folder, [[number * 100, number * 100] for _ in range(3)])
        paths.append(folder)
    words = ("--mapping", tmp_path / "m.toml", "--keys", tmp_path / "keys.csv", "-o", tmp_path / "times.csv")
    assert run("trace", "table", *paths, *words) == 0
    assert pd.read_csv(tmp_path / "times.csv")["gemm_s"].tolist() == pytest.approx([n * 1e-4 for n in range(1, 9)])
    capsys.readouterr()
    assert run("train", tmp_path / "times.csv", "--target", "gemm_s", "--terms", "size", "-o", tmp_path / "model.json") == 0
    assert (tmp_path / "model.json").is_file()


def test_what_cannot_be_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_job(tmp_path)
    assert run("trace", "ranks", *paths, "--rank", "0") == 2
    assert "got 1 ranks for 3 files" in capsys.readouterr().err
    assert run("trace", "steps", paths[0], "--marker", "nothing") == 3
    assert "has no mark that fits 'nothing'" in capsys.readouterr().err
