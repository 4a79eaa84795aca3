"""``mlperf calibrate`` and the options of ``predict`` that belong to whole runs and measured steps."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from invoked import invoke
from jsonschema import Draft202012Validator

from mlperf.core.errors import MlperfError, UsageError
from mlperf.report.text.results import command_schema

pytestmark = pytest.mark.slow


def result_of(command: str, *words: str) -> Any:
    document = json.loads(invoke(command, *words, "--json").stdout)
    Draft202012Validator(command_schema(command)).validate(document)
    return document["result"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    keys = pd.DataFrame({"net": list("aabbcc") * 3, "nodes": np.repeat([1, 2, 4], 6), "run": np.arange(18)})
    time_s = rng.uniform(1.0, 3.0, 18)
    keys.assign(step_s=time_s).to_csv(tmp_path / "predicted.csv", index=False)
    keys.assign(step_s=time_s * 1.2 * np.exp(0.02 * rng.standard_normal(18))).to_csv(tmp_path / "measured.csv", index=False)
    return tmp_path


def test_a_predictor_is_calibrated_stored_and_applied(folder: Path) -> None:
    tables = (str(folder / "predicted.csv"), str(folder / "measured.csv"))
    text = invoke("calibrate", *tables, "--by", "net", "-o", str(folder / "calibration.json")).stdout
    assert re.match(r"step_s, 18 measured rows: errs by 1\d\.\d % on average, by [12]\.\d+ % calibrated", text)
    assert "Factors on the predictions" in text
    result = result_of("calibrate", *tables)
    assert result["fit"]["factors"]["common"] == pytest.approx(np.log(1.2), abs=0.03)
    applied = ("--apply", str(folder / "calibration.json"), tables[0])
    told = result_of("calibrate", *applied)["rows"]
    assert "calibrated_step_s" in told["columns"]
    assert "18 rows: step_s calibrated" in invoke("calibrate", *applied, "-o", str(folder / "new.csv")).stdout
    assert pd.read_csv(folder / "new.csv")["in_domain"].all()
    invoke("calibrate", *tables, "--by", "net", "-o", str(folder / "at-once.csv"))
    assert (folder / "at-once.csv").read_bytes() == (folder / "new.csv").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("predicted.csv",), "expected two tables"),
        (("predicted.csv", "measured.csv", "--on", "nodes"), "a second time"),
        (("predicted.csv", "measured.csv", "--by", "nett"), "Did you mean 'net'"),
        (("predicted.csv", "--apply", "predicted.csv"), "predicted.csv"),
    ],
)
def test_what_does_not_fit_is_told(words: tuple[str, ...], message: str, folder: Path) -> None:
    placed = [str(folder / word) if word.endswith(".csv") else word for word in words]
    with pytest.raises(MlperfError, match=message):
        invoke("calibrate", *placed)


RUN = ("--cnn", "alexnet", "--machine", "cpu-cluster", "--dataset-size", "60000", "--nodes", "2", "--subbatch", "2")


@pytest.fixture(scope="module")
def model_path(small_model_file: Path) -> str:
    return str(small_model_file)


def test_a_deadline_a_price_and_a_time_limit(model_path: str, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text('currency = "EUR"\n[machines.cpu-cluster]\nper_node_hour = 3\n', encoding="utf-8")
    words = (model_path, *RUN, "--startup", "10min", "--checkpoint", "20s", "--checkpoint-every", "optimal", "--mtbf", "2d")
    result = result_of("predict", *words, "--deadline", "100d", "--price", str(tmp_path / "prices.toml"))
    assert result["on_time_probability"] == [1.0]
    assert result["cost"]["median"][0] == pytest.approx(2 * 3 * result["total"]["median"][0] / 3600.0)
    assert result["parts_s"]["startup"] == [600.0]
    assert sum(part[0] for part in result["parts_s"].values()) == pytest.approx(result["mean_s"][0])
    middle = f"{result['total']['median'][0] * 1.02:.0f}s"
    shown = [result_of("predict", *words, "--deadline", middle, "--level", level) for level in ("0.5", "0.95", "0.99")]
    assert 0.5 < shown[0]["on_time_probability"][0] < 1.0
    assert len({tuple(each["on_time_probability"]) for each in shown}) == 1
    assert shown[0]["total"]["interval"]["lower"] > shown[1]["total"]["interval"]["lower"]
    text = invoke("predict", *words, "--deadline", "1min", "--slurm").stdout
    assert "P(<= 1.00 min) = 0.00" in text.splitlines()[0]
    assert re.search(r"^#SBATCH --time=(\d+-)?\d\d:\d\d:00$", text, re.MULTILINE)
    lines = [invoke("predict", *words, "--slurm", "-q", "--probability", chance).stdout for chance in ("0.5", "0.99")]
    assert all(re.fullmatch(r"#SBATCH --time=(\d+-)?\d\d:\d\d:00\n", line) for line in lines)
    assert lines[0] != lines[1]


def test_the_run_of_the_job_and_of_a_file(model_path: str, tmp_path: Path) -> None:
    job = "dataset_size = 60000\nepochs = 3\n[run]\nstartup_s = 100\nvalidation_fraction = 0.5\n"
    (tmp_path / "job.toml").write_text(job, encoding="utf-8")
    (tmp_path / "run.toml").write_text('startup_s = "5min"\n', encoding="utf-8")
    words = (model_path, *RUN[:4], "--job", str(tmp_path / "job.toml"), "--nodes", "2", "--subbatch", "2")
    found = result_of("predict", *words, "--deadline", "1d")["parts_s"]
    assert found["startup"] == [100.0]
    assert found["validation"][0] == pytest.approx(found["epochs"][0] * 0.5 / 3)
    other = result_of("predict", *words, "--run", str(tmp_path / "run.toml"), "--validation", "0.1")["parts_s"]
    assert other["startup"] == [300.0]
    assert other["validation"][0] == pytest.approx(other["epochs"][0] * 0.1 / 3)
    # Without a word about the whole run the prediction is the one it was.
    assert "epoch_s" in result_of("predict", *words)


def test_measured_steps_calibrate_the_prediction(model_path: str, tmp_path: Path) -> None:
    plain = result_of("predict", model_path, *RUN)
    step_s = 1.3 * plain["gpu_iteration_s"][0]
    (tmp_path / "steps.csv").write_text("step_s\n" + f"{step_s}\n{1.01 * step_s}\n{0.99 * step_s}\n", encoding="utf-8")
    words = (model_path, *RUN, "--observed", str(tmp_path / "steps.csv"))
    # The rows name no sizes: they are those asked about.
    found = result_of("predict", *words)
    assert 1.1 < found["epoch_s"][0] / plain["epoch_s"][0] < 1.35
    text = invoke("predict", *words).stdout
    assert "calibrated on measured steps" in text.splitlines()[0]
    assert "Factors of the measured steps" in text
    # Threads of a product may add in another order the second time.
    assert result_of("predict", *words, "--deadline", "1d")["epoch_s"] == pytest.approx(found["epoch_s"], rel=1e-9)


def test_other_systems_have_whole_runs_and_measured_steps(model_path: str, tmp_path: Path) -> None:
    words = (model_path, *RUN, "--system", "data-parallel")
    plain = result_of("predict", *words)
    (tmp_path / "steps.csv").write_text(f"step_s\n{1.2 * plain['outputs']['step_s'][0]}\n", encoding="utf-8")
    observed = ("--observed", str(tmp_path / "steps.csv"))
    found = result_of("predict", *words, *observed)
    assert found["outputs"]["epoch_s"][0] > 1.05 * plain["outputs"]["epoch_s"][0]
    assert result_of("predict", *words, *observed, "--deadline", "1d")["epoch_s"] == found["outputs"]["epoch_s"]
    assert "Factors of the measured steps" in invoke("predict", *words, *observed).stdout


def test_options_that_do_not_go_together(model_path: str, folder: Path) -> None:
    with pytest.raises(UsageError, match="--slurm with 2 configurations"):
        invoke("predict", model_path, *RUN[:6], "--nodes", "1,2", "--slurm")
    with pytest.raises(UsageError, match="with --rows"):
        invoke("predict", model_path, "--rows", str(folder / "predicted.csv"), "--deadline", "1h")
