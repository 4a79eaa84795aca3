"""The whole judgement of SIMULATED campaigns, as tables, as a record and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from mlperf.cli.main import main
from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.trainer_runs import read_runs
from mlperf.report.pages.trainer_accuracy import distribution_figure
from mlperf.report.text.results import command_schema
from mlperf.report.text.views import result_text
from mlperf.studies.trainer import TrainerAccuracy, TrainerLimits, judge_trainer
from mlperf.studies.trainer.judge import can_split, has_others

pytestmark = pytest.mark.slow

CLOSED = ("paper", "convolution")


@pytest.fixture(scope="module")
def judged(simulated_campaign: Path, trainer_limits: TrainerLimits) -> TrainerAccuracy:
    return judge_trainer([simulated_campaign], forms=CLOSED, limits=trainer_limits)


def test_everything_that_the_campaign_can_answer_is_asked(judged: TrainerAccuracy) -> None:
    assert judged.trained_on == "one"
    asked = " ".join(judged.gates["gate"])
    for part in ("held-out nodes", "regret", "barrier_wait_s"):
        assert part in asked
    assert "other networks" not in asked
    assert len(judged.headline) == 0


def test_every_part_is_shown(judged: TrainerAccuracy) -> None:
    text = result_text(judged)
    for heading in ("Gates", "Lock waits and barrier", "window", "laws", "Mini-batch size and staleness"):
        assert heading in text


def test_the_figure_has_a_panel_for_each_example(judged: TrainerAccuracy) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    assert len(distribution_figure(judged).axes) == len(judged.examples)


def test_parts_that_were_not_measured_have_no_rows(simulated_campaign: Path, simulated_others: Path) -> None:
    alone, others = (read_runs([each]).table for each in (simulated_campaign, simulated_others))
    assert can_split(alone, "one")
    assert not can_split(alone[alone["n_nodes"] < 4], "one")
    assert not has_others(alone, "one")
    assert has_others(others, "two")


def test_runs_with_real_work_judge_nothing(simulated_campaign: Path, tmp_path: Path) -> None:
    folder = tmp_path / "real"
    (folder / "asgd").mkdir(parents=True)
    (folder / "cnns").mkdir()
    for file in simulated_campaign.rglob("*.*"):
        text = file.read_text(encoding="utf-8").replace("emulated gradient+memory+network x5", "real")
        (folder / file.relative_to(simulated_campaign)).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="real"):
        judge_trainer([folder])


@pytest.mark.parametrize("limit", [None, 0.0, 1.0])
def test_the_command_writes_a_record_and_says_with_its_code_whether_limits_are_met(
    simulated_campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: float | None
) -> None:
    words = ["--trainer", str(simulated_campaign), "--form", "paper", "--form", "convolution", "--json"]
    if limit is not None:
        limits = tmp_path / "limits.toml"
        limits.write_text(f"[held_out_nodes]\nepoch_s = {limit}\n", encoding="utf-8")
        words += ["--limits", str(limits)]
    with pytest.raises(SystemExit) as left:
        main(["accuracy", *words])
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(command_schema("accuracy")).validate(document)
    result = document["result"]
    columns = result["gates"]["columns"]
    gates = [dict(zip(columns, row, strict=True)) for row in result["gates"]["rows"]]
    of_limits = [gate["met"] for gate in gates if "held-out nodes" in gate["gate"]]
    assert of_limits == ([] if limit is None else [limit > 0.0] * 2)
    assert left.value.code == (0 if all(gate["met"] for gate in gates) else 1)
    assert result["trained_on"] == "one"


@pytest.mark.parametrize("words", [["--trained-on", "one"], ["--trainer", "x", "--task", "A1"]])
def test_words_of_the_other_half_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["accuracy", *words])
    assert left.value.code == 2
    assert "--trainer" in capsys.readouterr().err
