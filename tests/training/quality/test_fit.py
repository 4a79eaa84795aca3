"""From the tables of a campaign to a model file, on made-up learning curves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from mlperf import load_model
from mlperf.cli.main import main
from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import TABLES, write_table
from mlperf.datasets.campaigns.write import write_csv
from mlperf.datasets.dictionary.trainer_schema import EPOCHS
from mlperf.report.text.results import command_schema
from mlperf.specs import CnnSpec, write_cnn
from mlperf.training.quality import fit_quality

pytestmark = pytest.mark.slow

NETWORK = CnnSpec.from_sprint("net", 8, (1, 4, 10), pools_after=(), n_conv=1)
SETTINGS = [(nodes, gpus, subbatch) for nodes in (1, 2) for gpus in (1, 2, 4) for subbatch in (4, 8)]
N_EPOCHS = 60
LEARNED = {"n_updates": 1, "n_samples": 1, "elapsed_s": 1.0, "loss": 0.5, "mean_minibatch_size": 1.0, "staleness": 1.0}
REST = {column.name: 0 if column.zero_when else 1 for column in TABLES["details"].columns if column.is_numeric}


def epochs_needed(minibatch: float) -> float:
    """The law of these curves: the square root of the mini-batch."""
    return 2.0 * minibatch**0.5


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """12 settings; accuracy rises linearly to 0.9 at the epochs needed and goes on as slowly."""
    folder = tmp_path / "digits"
    (folder / "cnns").mkdir(parents=True)
    write_cnn(NETWORK, folder / "cnns" / "net.toml")
    runs, epochs, details = [], [], []
    for number, (nodes, gpus, subbatch) in enumerate(SETTINGS, start=1):
        minibatch = 0.8 * nodes * gpus * subbatch
        key = {"run": number, "mode": "real", "cnn": "net", "n_nodes": nodes, "n_gpus_per_node": gpus, "subbatch_size": subbatch}
        times = {"gpu_iteration_s": 0.01, "update_iteration_s": 0.008, "mean_minibatch_size": minibatch, "epoch_s": 3.0}
        runs.append(key | times | {"n_params": NETWORK.n_params, "staleness": 1.0 + 0.2 * gpus + 0.1 * (subbatch == 8)})
        for epoch in range(1, N_EPOCHS + 1):
            accuracy = min(0.9 * epoch / epochs_needed(minibatch), 0.99)
            epochs.append({"run": number, "mode": "real", "epoch": float(epoch), "test_accuracy": accuracy} | LEARNED)
        details.append(REST | {"run": number, "mode": "real", "learning_rate": 0.001, "momentum": 0.9})
    write_table(pd.DataFrame(runs), folder / "runs.csv", "runs")
    write_table(pd.DataFrame(epochs), folder / "asgd" / "epochs.csv", EPOCHS)
    write_table(pd.DataFrame(details), folder / "asgd" / "details.csv", "details")
    return folder


def test_the_law_of_the_curves_is_found(campaign: Path) -> None:
    found = fit_quality([campaign], 0.9)
    assert (found.n_settings, found.n_censored) == (12, 0)
    sizes = np.array([5.0, 40.0])
    assert found.epochs(sizes, np.array([1.4, 1.4]), np.array([4, 8])) == pytest.approx(2.0 * np.sqrt(sizes), rel=0.02)


def test_a_sub_batch_that_is_not_given_is_asked_for(campaign: Path) -> None:
    with pytest.raises(UsageError, match="sub-batch"):
        fit_quality([campaign], 0.9).epochs(5.0, 1.4)


def test_runs_on_several_data_sets_are_told_apart(campaign: Path, tmp_path: Path) -> None:
    """The second data set needs three times the epochs; a campaign without host.json says nothing of its data."""
    other = shutil.copytree(campaign, tmp_path / "other")
    (other / "host.json").write_text('{"protocol": {"asgd": {"data": "gratings"}}}', encoding="utf-8")
    epochs = pd.read_csv(other / "asgd" / "epochs.csv")
    write_csv(epochs.assign(epoch=3.0 * epochs["epoch"]), other / "asgd" / "epochs.csv")
    with pytest.raises(DataError, match="got runs on gratings, unknown, expected one data set"):
        fit_quality([campaign, other], 0.9)
    slow, fast = (fit_quality([campaign, other], 0.9, data=name).epochs(5.0, 1.4, 4) for name in ("gratings", "unknown"))
    assert slow == pytest.approx(3.0 * fast, rel=0.01)
    with pytest.raises(DataError, match="expected one of gratings, unknown"):
        fit_quality([campaign, other], 0.9, data="digits")


def test_node_counts_are_left_out_one_at_a_time(campaign: Path) -> None:
    """The law does not know nodes, so that each count is told by the other."""
    found = fit_quality([campaign], 0.9)
    assert found.judgement is not None
    assert found.judgement.by_nodes["n_nodes"].tolist() == [1, 2]
    assert found.judgement.factor < 1.05
    assert found.experimental is None


def test_a_law_that_knows_nodes_is_experimental(campaign: Path) -> None:
    """On two nodes each run takes three times the epochs: no column says why, and a left-out count is off by 3."""
    epochs, runs = pd.read_csv(campaign / "asgd" / "epochs.csv"), pd.read_csv(campaign / "runs.csv")
    two = epochs["run"].isin(runs.loc[runs["n_nodes"] == 2, "run"])
    epochs.loc[two, "epoch"] *= 3.0
    write_csv(epochs, campaign / "asgd" / "epochs.csv")
    found = fit_quality([campaign], 0.9)
    assert found.judgement is not None
    assert found.judgement.factor == pytest.approx(3.0, rel=0.2)
    assert found.experimental is not None
    assert f"{found.judgement.factor:.3g}" in found.experimental


def test_a_higher_target_takes_longer(campaign: Path) -> None:
    """0.95 needs 0.95/0.9 of the epochs, to within the epoch in which the curve is cut off at 0.99."""
    assert fit_quality([campaign], 0.95).rows["epochs_to_target"].max() == pytest.approx(
        2.0 * np.sqrt(0.8 * 64) * 0.95 / 0.9, rel=0.01
    )


def test_two_learning_rates_are_not_mixed(campaign: Path) -> None:
    details = pd.read_csv(campaign / "asgd" / "details.csv")
    details.loc[0, "learning_rate"] = 0.01
    write_csv(details, campaign / "asgd" / "details.csv")
    with pytest.raises(DataError, match="learning_rate"):
        fit_quality([campaign], 0.9)


def test_waited_gradients_learn_nothing(campaign: Path) -> None:
    (campaign / "asgd" / "epochs.csv").unlink()
    with pytest.raises(DataError, match="epochs"):
        fit_quality([campaign], 0.9)


def test_the_command_writes_the_model(campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "quality.json"
    with pytest.raises(SystemExit) as left:
        main(["train", str(campaign), "--target-accuracy", "0.9", "-o", str(path), "--json"])
    assert left.value.code == 0
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(command_schema("train")).validate(document)
    assert document["result"]["n_settings"] == 12
    assert document["result"]["experimental"] is None
    assert len(load_model(path).judgement.by_nodes) == 2
    assert load_model(path).target_accuracy == 0.9


def test_the_command_says_that_a_single_node_count_is_experimental(
    campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No node count can be left out: no factor, no test of the terms, in words and as JSON."""
    runs = pd.read_csv(campaign / "runs.csv")
    write_csv(runs.assign(n_nodes=1, n_gpus_per_node=runs["run"]), campaign / "runs.csv")
    line = ["train", str(campaign), "--target-accuracy", "0.9", "-o", str(tmp_path / "q.json")]
    for option in ([], ["--json"]):
        with pytest.raises(SystemExit) as left:
            main([*line, *option])
        assert left.value.code == 0
        said = capsys.readouterr().out
        assert "never judged on a number of nodes" in " ".join(said.split())
        assert "p value" not in said
        assert "p_value" not in said


def test_a_data_set_belongs_to_a_target_accuracy(campaign: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as left:
        main(["train", str(campaign), "--data-set", "digits", "-o", str(tmp_path / "q.json")])
    assert left.value.code == 2


def test_a_target_column_and_a_target_accuracy_exclude_each_other(campaign: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as left:
        main(["train", str(campaign), "--target-accuracy", "0.9", "--target", "time_s", "-o", str(tmp_path / "q.json")])
    assert left.value.code == 2
