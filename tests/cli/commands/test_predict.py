"""``predict`` and ``search`` beyond the means: forms, simulation, elasticities, windows, several machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from invoked import invoke
from jsonschema import Draft202012Validator

from mlperf.core.errors import UsageError
from mlperf.report.text.results import command_schema
from mlperf.systems.sprint.solved import FORMS

pytestmark = pytest.mark.slow

RUN = ("--cnn", "alexnet", "--machine", "cpu-cluster", "--dataset-size", "60000", "--nodes", "2", "--subbatch", "2")


@pytest.fixture(scope="module")
def model_path(small_model_file: Path) -> str:
    return str(small_model_file)


def result_of(command: str, *words: str) -> Any:
    document = json.loads(invoke(command, *words, "--json").stdout)
    Draft202012Validator(command_schema(command)).validate(document)
    return document["result"]


def test_forms_simulation_and_elasticities_are_one_record(model_path: str) -> None:
    words = (model_path, *RUN, "--compare-forms", "--simulate", "--iterations", "200", "--elasticities")
    result = result_of("predict", *words)
    forms = [row[result["forms"]["columns"].index("form")] for row in result["forms"]["rows"]]
    assert forms == list(FORMS)
    assert len(result["elasticities"]["rows"]) == 18
    assert result["simulation"]["n_iterations"] == 200
    assert sum(result["minibatch"][0]["probabilities"]) == pytest.approx(1.0)
    assert sum(result["simulation"]["staleness"][0]["probabilities"]) == pytest.approx(1.0)


def test_people_see_what_they_asked_for(model_path: str, tmp_path: Path) -> None:
    picture = tmp_path / "run.svg"
    text = invoke("predict", model_path, *RUN, "--simulate", "--iterations", "200", "--elasticities", "--plot", str(picture)).stdout
    for words in (
        "Distributions",
        "Simulation beside the equations (phases)",
        "Elasticities",
        "barrier_wait",
        "staleness (updates)",
    ):
        assert words in text
    assert "<svg" in picture.read_text(encoding="utf-8")


def test_a_refined_prediction_says_so(model_path: str) -> None:
    result = result_of("predict", model_path, *RUN, "--refine", "recursion")
    assert result["refine"] == "recursion"
    assert "refined by recursion" in invoke("predict", model_path, *RUN, "--refine", "recursion").stdout
    of_paper = result_of("predict", model_path, *RUN, "--refine", "recursion", "--closed", "paper")
    assert (of_paper["closed"], of_paper["refine"]) == ("paper", "recursion")


def test_a_wait_can_be_scaled_but_not_in_a_simulation(model_path: str) -> None:
    plain, none = (result_of("predict", model_path, *RUN, *words) for words in ((), ("--what-if", "barrier_wait=0")))
    assert none["update_iteration_s"][0] < plain["update_iteration_s"][0]
    with pytest.raises(UsageError, match="a simulation cannot obey"):
        invoke("predict", model_path, *RUN, "--simulate", "--what-if", "barrier_wait=0")


def test_several_machines_are_ranked_together(model_path: str, tmp_path: Path) -> None:
    words = ("--cnn", "alexnet", "--dataset-size", "60000", "--nodes", "1:4", "--subbatch", "1,2", "--top", "3")
    other = tmp_path / "other.toml"
    other.write_text(
        'name = "other"\nmax_nodes = 4\nn_gpus_per_node = 1\nlatency_s = 1e-6\nbandwidth_bytes_per_s = 1e10\n', encoding="utf-8"
    )
    machines = ("--machine", "cpu-cluster", "--machine", str(other))
    result = result_of("search", model_path, model_path, *words, *machines)
    assert {one["machine"] for one in result["searches"]} == {"cpu-cluster", "other"}
    assert len(result["best"]["rows"]) == 3
    picture = tmp_path / "maps.svg"
    assert "cpu-cluster, other" in invoke("search", model_path, *words, *machines, "--plot", str(picture)).stdout
    assert "<svg" in picture.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="2 models and 1 machines"):
        invoke("search", model_path, model_path, *words, "--machine", "cpu-cluster")


def test_windows_of_quantile_and_staleness_answer_scripts(model_path: str) -> None:
    words = (model_path, *RUN[:6], "--nodes", "1:6", "--subbatch", "1:3")
    result = result_of("search", *words, "--minibatch", ":40", "--window-quantile", "0.9", "--max-staleness", "50")
    assert "minibatch_q90" in result["best"]["columns"]
    assert result["stability"]["n_draws"] == 200
    several = result_of("search", *words, "--gpus-per-node", "1:2")
    assert several["n_configs"] == 2 * result["n_configs"]
    assert invoke("search", *words, "--max-staleness", "0").return_value == 1
