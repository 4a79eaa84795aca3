"""``mlperf report`` of campaigns and of recorded runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

pytest.importorskip("matplotlib")

from mlperf.cli.main import cli
from mlperf.collect.trainer.job import Job, write_job
from mlperf.collect.trainer.ledger import GPU_TIMES, UPDATE_TIMES
from mlperf.core.errors import MlperfError
from mlperf.datasets.campaigns.write import write_csv
from mlperf.report.text.results import command_schema

pytestmark = pytest.mark.slow


def invoke(*words: str) -> Result:
    done = CliRunner().invoke(cli, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def printed(*words: str) -> Any:
    document = json.loads(invoke(*words, "--json").stdout)
    Draft202012Validator(command_schema("report")).validate(document)
    return document["result"]


def test_figures_are_listed_and_skips_have_reasons(small_campaign: Path, tmp_path: Path) -> None:
    words = ["report", str(small_campaign), "--figures", str(tmp_path / "figures"), "--only"]
    result = printed(*words, "4,9", "--format", "svg", "--format", "csv")
    assert [item["number"] for item in result["drawn"]] == [4]
    assert [item["number"] for item in result["skipped"]] == [9]
    assert "runs.csv" in result["skipped"][0]["reason"]
    assert all(Path(name).stat().st_size > 0 for item in result["drawn"] for name in item["files"])
    assert "runs.csv" in invoke(*words, "9").stdout


def test_a_model_that_ships_gives_its_predictions_to_figures(small_campaign: Path, tmp_path: Path) -> None:
    words = ["report", str(small_campaign), "--figures", str(tmp_path), "--only", "7", "--model", "cpu-epyc", "--format", "csv"]
    result = printed(*words)
    assert [item["number"] for item in result["drawn"]] == [7]
    # A part of what it was trained on is other data, of the same networks.
    assert "was trained on other data with networks of these names, and may have seen them" in result["drawn"][0]["caption"]
    with pytest.raises(SystemExit):
        raise invoke("report", "cpu-epyc", "--figures", str(tmp_path), "--model", "nowhere").exception or AssertionError


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """One node, one worker, two iterations of a tenth of a second a part."""
    folder = tmp_path / "asgd" / "run-0001"
    folder.mkdir(parents=True)
    gpu = pd.DataFrame({name: [0.1, 0.1] for name in GPU_TIMES} | {"start_s": [0.0, 0.9], "node": 0, "gpu": 0, "iteration": [0, 1]})
    updates = pd.DataFrame({name: [0.1, 0.1] for name in UPDATE_TIMES} | {"start_s": [0.0, 1.0], "node": 0, "update": [0, 1]})
    write_csv(gpu.assign(version=0, update=-1), folder / "gpu.csv.gz")
    write_csv(updates.assign(iteration_s=1.0), folder / "updates.csv.gz")
    (folder / "end.json").write_text("[]", encoding="utf-8")
    write_job(Job({}, 1, 1, 4, 0, 0.1, 0.9, 2, 0, 100, 0.0, 0.0, False, {}, "", 10.0), folder)
    return folder


def test_a_recorded_run_becomes_a_picture_and_a_trace(run_folder: Path, tmp_path: Path) -> None:
    result = printed("report", str(run_folder), "--timeline", str(tmp_path / "threads.json"))
    assert result["mode"] == "real"
    assert result["n_intervals"] == 2 * len(GPU_TIMES) + 2 * len(UPDATE_TIMES)
    events = json.loads((tmp_path / "threads.json").read_text(encoding="utf-8"))["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == result["n_intervals"]
    invoke("report", str(run_folder), "--timeline", str(tmp_path / "threads.svg"), "--window", "0.2:1.5")
    assert (tmp_path / "threads.svg").is_file()


def test_the_parts_of_a_model_are_listed_once_where_none_is_called_so() -> None:
    with pytest.raises(MlperfError, match="expected one of activation_backward, ") as refused:
        invoke("report", "gpu-h100-layers", "--component", "WRONG")
    assert str(refused.value).count("softmax") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.json",), "expected a model's file"),
        (("cpu-epyc", "--figures", "a", "--timeline", "b.svg"), "one of them"),
        (("nowhere", "--figures", "a"), "expected"),
    ],
)
def test_what_cannot_be_reported_is_said(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(MlperfError, match=message):
        invoke("report", *words)


def test_statsmodels_summaries_of_a_stored_model_are_printed(tmp_path: Path) -> None:
    file, times = tmp_path / "model.json", [1.1, 2.0, 3.2, 3.9, 5.1, 6.0, 7.2, 7.9]
    pd.DataFrame({"size": range(1, 9), "device": list("aabbccdd"), "time_s": times}).to_csv(tmp_path / "times.csv", index=False)
    invoke("train", str(tmp_path / "times.csv"), "--target", "time_s", "--groups", "device", "-o", str(file))
    said = invoke("report", str(file), "--statsmodels").stdout
    assert "WLS Regression Results" in said
    assert "Dep. Variable:" in said
    assert "p (groups)" in invoke("report", str(file)).stdout
    assert list(printed("report", str(file), "--statsmodels")["summaries"]) == ["time_s"]
    document = json.loads(file.read_text(encoding="utf-8"))
    for name in ("statsmodels_summary", "clustered", "lack_of_fit"):
        (document["fit"]["explained"] or document["fit"]["chosen"])["model"]["report"].pop(name, None)
    file.write_text(json.dumps(document), encoding="utf-8")
    assert "train again" in invoke("report", str(file), "--statsmodels").stdout


def test_a_model_that_ships_is_reported_by_its_name() -> None:
    shown = invoke("report", "gpu-h100-layers", "--component", "conv_forward").stdout
    assert "conv_forward" in shown
    assert printed("report", "gpu-h100-layers")["launches"]["launch_s"] > 0.0
    with pytest.raises(MlperfError, match="or one that ships: cpu-epyc, cpu-xeon-layers, gpu-h100-layers"):
        invoke("report", "cpu-xeon")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gpu-h100-layers", "--window", "1:2"), "got --window, which counts for nothing here: what a model rests on is asked"),
        (("gpu-h100-layers", "--only", "7"), "got --only, which counts for nothing here"),
        (("cpu-epyc", "--figures", "a", "--statsmodels"), "got --statsmodels, which counts for nothing here: --figures draws"),
        (("run-0001", "--timeline", "a.svg", "--html", "a.html"), "got --html, which counts for nothing here: --timeline draws"),
    ],
)
def test_a_flag_that_has_no_part_in_the_answer_is_refused(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(MlperfError, match=message):
        invoke("report", *words)


def test_a_model_of_steps_has_no_summaries_of_statsmodels(tmp_path: Path) -> None:
    rows = [(gpus, size, 8, 30 + 2.0 * size + 40 * (gpus > 8)) for gpus in (1, 2, 4, 8, 16, 32) for size in (16, 32, 64)]
    steps, file = tmp_path / "steps.csv", tmp_path / "model.json"
    pd.DataFrame(rows, columns=["n_gpus", "subbatch_size", "n_gpus_per_node", "step_ms"]).to_csv(steps, index=False)
    invoke("train", str(steps), "--system", "data-parallel", "-o", str(file))
    assert "What each term costs" in invoke("report", str(file)).stdout
    for words in (("--statsmodels",), ("--component", "compute")):
        with pytest.raises(MlperfError, match=f"got {words[0]}, which counts for nothing here: .*model.json holds the costs"):
            invoke("report", str(file), *words)
