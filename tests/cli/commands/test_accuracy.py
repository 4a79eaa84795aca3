"""``mlperf accuracy``: the file is whole, the record says what was read, wrong words and absent data are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mlperf.cli.main import main


class Ran(NamedTuple):
    """Exit code and streams of a run."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(*words: object) -> Ran:
        with pytest.raises(SystemExit) as left:
            main(["accuracy", *map(str, words)])
        captured = capsys.readouterr()
        return Ran(int(left.value.code or 0), captured.out, captured.err)

    return call


def test_absent_data_name_the_variable(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLPERF_SHARED_DATA", raising=False)
    found = run("--rung", "B2")
    assert found.code == 3
    assert "MLPERF_SHARED_DATA" in found.err
    assert found.out == ""


def test_a_wrong_folder_names_the_missing_table(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLPERF_SHARED_DATA", str(tmp_path))
    found = run("--rung", "B2")
    assert found.code == 3
    assert "throughput_vs_batch" in found.err


def test_wrong_words_are_told_before_anything_runs(run: Callable[..., Ran], tmp_path: Path) -> None:
    unknown = run("--rung", "Z9")
    assert (unknown.code, unknown.out) == (2, "")
    assert "A1" in unknown.err
    ending = run("-o", tmp_path / "table.txt")
    assert ending.code == 2
    assert ".md" in ending.err
    assert list(tmp_path.iterdir()) == []


def test_file_and_record(run: Callable[..., Ran], shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLPERF_SHARED_DATA", str(shared_data))
    page = tmp_path / "accuracy.md"
    found = run("--rung", "b2", "-o", page, "--json")
    assert found.code == 0
    document = json.loads(found.out)
    assert document["command"] == "accuracy"
    assert list(document["provenance"]["data_sha256"]) == ["mxnet_perf/throughput_vs_batch.csv"]
    assert [goal["met"] for goal in document["result"]["goals"]] == [True, True]
    assert "2 of 2 goals met." in page.read_text(encoding="utf-8")
    assert "written to" in found.err
