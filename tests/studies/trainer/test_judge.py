"""The whole judgement of SIMULATED campaigns, as tables, as a record and on the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from mlperf.cli.main import main
from mlperf.core.errors import DataError, UsageError
from mlperf.report.pages.trainer_accuracy import trainer_figure
from mlperf.report.text.results import command_schema
from mlperf.report.text.views import result_figure, result_text
from mlperf.studies.trainer import TrainerAccuracy, TrainerLimits, judge_trainer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def judged(simulated_fewest: tuple[Path, Path], trainer_limits: TrainerLimits) -> TrainerAccuracy:
    return judge_trainer(simulated_fewest, forms=("convolution",), limits=trainer_limits)


def test_every_protocol_is_scored(judged: TrainerAccuracy) -> None:
    assert set(judged.scores["protocol"]) == {"network left out", "more nodes", "one network"}
    assert judged.rows.groupby("protocol")["trained_on"].nunique().to_dict() == {
        "network left out": 3,
        "more nodes": 3,
        "one network": 3,
    }
    assert set(judged.equations["form"]) == {"paper", "phases", "convolution"}


def test_what_is_missed_is_said(judged: TrainerAccuracy) -> None:
    text = result_text(judged)
    assert judged.missed
    for name in judged.missed:
        assert f"missed: {name}" in text
    for heading in ("Gates", "trivial answers", "Choices inside windows", "The equations alone", "Mini-batch size and staleness"):
        assert heading in text


def test_the_figure_has_a_panel_for_each_example(judged: TrainerAccuracy) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    assert len(trainer_figure(judged).axes) == len(judged.examples) > 0


def test_without_networks_left_out_there_is_no_figure_and_it_is_said_why(judged: TrainerAccuracy) -> None:
    with pytest.raises(UsageError, match="networks that were left out") as refused:
        result_figure(replace(judged, examples=()))
    assert "two networks" in str(refused.value.hint)


def test_runs_with_real_work_judge_nothing(simulated_campaign: Path, tmp_path: Path) -> None:
    folder = tmp_path / "real"
    (folder / "asgd").mkdir(parents=True)
    (folder / "cnns").mkdir()
    for file in simulated_campaign.rglob("*.*"):
        text = file.read_text(encoding="utf-8").replace("emulated gradient+memory+network x5", "real")
        (folder / file.relative_to(simulated_campaign)).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="real"):
        judge_trainer([folder])


def test_a_network_that_was_not_run_cannot_be_trained_on(simulated_campaign: Path) -> None:
    with pytest.raises(DataError, match="expected one of one"):
        judge_trainer([simulated_campaign], trained_on="nine")


@pytest.mark.parametrize("limit", [None, 0.0, 1.0])
def test_the_command_writes_a_record_and_says_with_its_code_whether_limits_are_met(
    simulated_fewest: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: float | None
) -> None:
    words = ["--trainer", str(simulated_fewest[0]), "--form", "paper", "--json"]
    if limit is not None:
        limits = tmp_path / "limits.toml"
        limits.write_text(f"[more_nodes]\nepoch_s = {limit}\n", encoding="utf-8")
        words += ["--limits", str(limits)]
    with pytest.raises(SystemExit) as left:
        main(["accuracy", *words])
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(command_schema("accuracy")).validate(document)
    gates = document["result"]["gates"]
    table = [dict(zip(gates["columns"], row, strict=True)) for row in gates["rows"]]
    of_limits = [gate["met"] for gate in table if "more nodes" in gate["gate"]]
    assert of_limits == ([] if limit is None else [limit > 0.0])
    assert left.value.code == (0 if all(gate["met"] for gate in table) else 1)


@pytest.mark.parametrize("words", [["--trained-on", "one"], ["--trainer", "x", "--task", "A1"]])
def test_words_of_the_other_half_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["accuracy", *words])
    assert left.value.code == 2
    assert "--trainer" in capsys.readouterr().err
