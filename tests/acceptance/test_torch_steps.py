"""Known networks on a processor as their protocol judges them, by the model that ships: what was asked is met."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import mlperf
from mlperf.cli.main import cli
from mlperf.studies.judgement.steps import StepsJudgement, judge_steps, read_steps_protocol

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
TODAY = ["--machine", "cpu-cluster", "--dataset-size", "1281167", "--nodes", "2", "--subbatch", "2"]


@pytest.fixture(scope="module")
def judged() -> StepsJudgement:
    """By the shipped model, which is what `mlperf train` makes of the campaign (`tests/studies/test_model_files.py`)."""
    return judge_steps(read_steps_protocol(HERE / "torch_steps.toml"), mlperf.load_model("cpu-xeon-layers"))


def test_every_limit_is_met_and_every_network_predicted(judged: StepsJudgement) -> None:
    assert judged.missed == []
    assert judged.unpredictable == {}
    summary = judged.summary().set_index("set")
    assert summary["n"].to_dict() == {"usual_networks": 17, "todays_networks": 20}
    for rule in ("constant_rate", "flops_and_layers"):
        assert (summary["mape"] < 0.6 * summary[rule]).all()


def test_the_command_says_the_same(judged: StepsJudgement) -> None:
    answer = CliRunner().invoke(cli, ["compare", "cpu-xeon-layers", "cpu-xeon-zoo", "--json"])
    assert answer.exit_code == 0
    table = json.loads(answer.stdout)["result"]["table"]
    told = pd.DataFrame(table["rows"], columns=table["columns"]).sort_values(["cnn", "subbatch_size"])
    own = judged.rows.sort_values(["cnn", "subbatch_size"])
    assert told["predicted"].tolist() == pytest.approx(own["predicted"].tolist(), rel=1e-9)


@pytest.mark.parametrize("cnn", ["vit_b_16", "efficientnet_b0"])
def test_without_a_model_the_one_that_knows_the_layers_answers(cnn: str) -> None:
    shown = CliRunner().invoke(cli, ["predict", "--cnn", cnn, *TODAY])
    assert shown.exit_code == 0
    assert "times: model of cpu-xeon-layers (measured on Intel(R) Xeon(R) Processor)" in shown.stdout


def test_what_lies_between_calls_is_reported() -> None:
    shown = CliRunner().invoke(cli, ["report", "cpu-xeon-layers"]).stdout
    assert "for each call of a layer beside the time of that call by itself" in shown
