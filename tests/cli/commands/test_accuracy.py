"""``mlperf accuracy``: the file is whole, the record says what was read, wrong words and absent data are reported."""

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
    found = run("--task", "B2")
    assert found.code == 3
    assert "MLPERF_SHARED_DATA" in found.err
    assert found.out == ""


def test_a_wrong_folder_names_the_missing_table(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLPERF_SHARED_DATA", str(tmp_path))
    found = run("--task", "B2")
    assert found.code == 3
    assert "throughput_vs_batch" in found.err


def test_wrong_words_are_refused_before_anything_runs(run: Callable[..., Ran], tmp_path: Path) -> None:
    unknown = run("--task", "Z9")
    assert (unknown.code, unknown.out) == (2, "")
    assert "A1" in unknown.err
    ending = run("-o", tmp_path / "table.txt")
    assert ending.code == 2
    assert ".md" in ending.err
    assert list(tmp_path.iterdir()) == []


def test_the_older_word_for_a_task_is_still_taken(run: Callable[..., Ran]) -> None:
    unknown = run("--rung", "z9")
    assert (unknown.code, unknown.out) == (2, "")
    assert "'Z9'" in unknown.err
    assert "--rung" not in run("--help").out


def test_wrong_limits_name_the_file_before_anything_runs(run: Callable[..., Ran], tmp_path: Path) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text("[B2.MAPE]\nat_mots = { training = 0.1 }\n", encoding="utf-8")
    found = run("--task", "B2", "--limits", limits)
    assert (found.code, found.out) == (3, "")
    assert "limits.toml, B2, MAPE" in found.err
    assert run("--limits", tmp_path / "none.toml").code == 2


def test_file_record_and_limits(
    run: Callable[..., Ran], shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLPERF_SHARED_DATA", str(shared_data))
    page, limits = tmp_path / "accuracy.md", tmp_path / "limits.toml"
    found = run("--task", "b2", "-o", page, "--json")
    assert found.code == 0
    document = json.loads(found.out)
    assert document["command"] == "accuracy"
    assert list(document["provenance"]["data_sha256"]) == ["mxnet_perf/throughput_vs_batch.csv"]
    assert document["result"]["goals"] == []
    assert len(document["result"]["findings"]) == 4
    assert "| training | factor 32: MAPE | 7.0 % |" in page.read_text(encoding="utf-8")
    assert "written to" in found.err
    limits.write_text('[B2."factor 32: MAPE"]\nat_most = { training = 0.08, inference = 0.01 }\n', encoding="utf-8")
    found = run("--task", "b2", "-o", page, "--json", "--limits", limits)
    assert found.code == 1
    assert [goal["met"] for goal in json.loads(found.out)["result"]["goals"]] == [True, False]
    assert "1 of 2 goals met." in page.read_text(encoding="utf-8")


def test_some_devices_alone_are_scored_and_judged(
    run: Callable[..., Ran], shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLPERF_SHARED_DATA", str(shared_data))
    limits = tmp_path / "limits.toml"
    limits.write_text('[B2."factor 32: MAPE"]\nat_most = { training = 1.0, inference = 0.0 }\n', encoding="utf-8")
    found = run("--task", "B2", "--task", "A1", "--device", "training", "--limits", limits, "--json")
    told = json.loads(found.out)["result"]
    assert {(score["task"], score["device"]) for score in told["scores"]} == {("B2", "training")}
    assert {goal["device"] for goal in told["goals"]} == {"training"}
    wrong = run("--task", "B2", "--device", "trainign")
    assert (wrong.code, wrong.out) == (2, "")
    assert "Did you mean 'training'?" in wrong.err
    assert run("--trainer", "asgd-networks", "--device", "training").code == 2
