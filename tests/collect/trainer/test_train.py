"""What a run leaves behind: tables of the data dictionary, and the records they are the means of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.protocol.host import cache_bytes
from mlperf.collect.protocol.network import check_same_network
from mlperf.collect.trainer import AsgdRequest, digits_cnn, train_asynchronously
from mlperf.collect.trainer.network import Network
from mlperf.collect.trainer.records import warm_up
from mlperf.collect.trainer.request import check_request
from mlperf.collect.trainer.train import Study, machine_record
from mlperf.core.errors import UsageError
from mlperf.datasets import read_campaign
from mlperf.datasets.dictionary.schema import COMPONENT_NAMES
from mlperf.specs import CnnSpec

pytestmark = pytest.mark.slow

NET = CnnSpec.from_sprint("tiny", 14, (1, 4, 5, 6, 7), (2,), 3)

both = pytest.mark.parametrize("name", ["real", "emulated"])


def of(name: str, request: pytest.FixtureRequest) -> Any:
    run: Any = request.getfixturevalue(name)
    return run


@both
def test_the_campaign_reads_back_and_every_row_says_its_mode(name: str, request: pytest.FixtureRequest) -> None:
    run = of(name, request)
    campaign = read_campaign(run.request.out)
    assert campaign.components is not None
    assert campaign.runs is not None
    mode = {"real": "real", "emulated": "emulated gradient+memory+network"}[name]
    for table in (campaign.components, campaign.runs):
        assert table["mode"].tolist() == [mode]
        assert table["n_params"].tolist() == [campaign.cnns[run.job.network.name].n_params]
    for beside in ("details", "histograms"):
        assert set(pd.read_csv(run.request.out / "asgd" / f"{beside}.csv")["mode"]) == {mode}


@both
def test_the_sixteen_components_fill_both_iterations(name: str, request: pytest.FixtureRequest) -> None:
    """Per iteration: fetches count with q, sums with the buffers added; what is left is the loop itself."""
    run = of(name, request)
    row = read_campaign(run.request.out).components.iloc[0]
    outputs = read_campaign(run.request.out).runs.iloc[0]
    gpu = [f"{part}_s" for part in COMPONENT_NAMES[:8] if part != "fetch_weights"]
    spent = row[gpu].sum() + row["fetch_weights_s"] * row["fetch_probability"]
    assert 0.7 * outputs["gpu_iteration_s"] < spent <= 1.01 * outputs["gpu_iteration_s"]
    update = [f"{part}_s" for part in COMPONENT_NAMES[8:] if part != "sum_gradient"]
    spent = row[update].sum() + row["sum_gradient_s"] * row["ready_probability"] * run.job.n_gpus_per_node
    assert 0.7 * outputs["update_iteration_s"] < spent <= 1.01 * outputs["update_iteration_s"]


@both
def test_histograms_have_the_means_of_the_runs_table(name: str, request: pytest.FixtureRequest) -> None:
    run = of(name, request)
    histograms = pd.read_csv(run.request.out / "asgd" / "histograms.csv")
    outputs = read_campaign(run.request.out).runs.iloc[0]
    for quantity, column in (("minibatch_size", "mean_minibatch_size"), ("staleness", "staleness")):
        part = histograms[histograms["quantity"] == quantity]
        assert np.average(part["value"], weights=part["count"]) == pytest.approx(outputs[column], rel=1e-4)
    samples_per_s = outputs["mean_minibatch_size"] / outputs["update_iteration_s"]
    assert outputs["epoch_s"] == pytest.approx(run.job.dataset_size / samples_per_s, rel=1e-3)


def test_first_iterations_are_stored_but_not_counted(real: Any) -> None:
    updates = real.records.updates[real.records.updates["node"] == 0]
    counted = updates.loc[updates["counted"] == 1, "update"]
    assert counted.min() == warm_up(len(updates)) >= 5
    assert counted.max() == len(updates) - 2
    assert updates["update"].min() == 0
    gpu = real.records.gpu
    assert 0 < gpu["counted"].sum() < len(gpu)
    assert real.trained.rule.startswith("the first tenth")


def test_epochs_carry_loss_accuracy_minibatch_and_staleness(real: Any) -> None:
    epochs = pd.read_csv(real.request.out / "asgd" / "epochs.csv")
    assert len(epochs) >= 4
    assert epochs["loss"].iloc[-1] < epochs["loss"].iloc[0]
    assert epochs["test_accuracy"].between(0, 1).all()
    assert (epochs["mean_minibatch_size"] > 0).all()
    assert epochs["epoch"].iloc[-1] >= 4


def test_nodes_have_disjoint_samples_that_are_the_whole_set(real: Any) -> None:
    folder = real.folder / real.job.shards
    parts = [np.load(folder / f"node-{node}.npy")[0] for node in range(2)]
    assert not set(parts[0]) & set(parts[1])
    assert sorted(np.concatenate(parts)) == list(range(real.job.dataset_size))


def test_the_same_command_runs_only_what_is_missing(emulated: Any) -> None:
    again = train_asynchronously(emulated.request)
    assert again.runs == ()
    assert again.n_done_before == 1


@both
def test_runs_that_were_asked_for_otherwise_do_not_count_as_made(name: str, request: pytest.FixtureRequest) -> None:
    asked = of(name, request).request
    with pytest.raises(UsageError, match=rf"--updates {asked.max_updates + 1}, expected {asked.max_updates} as in the runs of "):
        train_asynchronously(replace(asked, max_updates=asked.max_updates + 1))


def test_host_json_says_mode_and_rule(emulated: Any) -> None:
    said = json.loads((emulated.request.out / "host.json").read_text())["protocol"]["asgd"]
    assert said["mode"] == "emulated gradient+memory+network"
    assert said["network"] == {"latency_s": 5e-6, "bytes_per_s": 3e9, "exchange": emulated.job.exchange}
    assert "compute_gradient" in said["waits"]["gradient"]


def test_waited_memory_operations_have_the_caches_they_were_measured_with(tmp_path: Path) -> None:
    """cpu-epyc says 1 MiB of L2 a core; terms of vector operations begin where a cache ends."""
    waits = ("gradient", "memory", "network")
    study = Study(AsgdRequest(tmp_path, waits=waits), NET, None, read_campaign("cpu-epyc"), [])
    assert machine_record(study)["host"]["cache_bytes"] == {"L1d": 49152, "L2": 1048576, "L3": 33554432}
    real = Study(AsgdRequest(tmp_path), NET, None, None, [])
    assert machine_record(real)["host"]["cache_bytes"] == cache_bytes()


def test_real_runs_leave_the_network_that_earlier_ones_waited_for(tmp_path: Path) -> None:
    said = {"waits": {"network": ["allreduce"]}, "network": {"latency_s": 5e-6, "bytes_per_s": 3e9}}
    (tmp_path / "host.json").write_text(json.dumps({"protocol": {"asgd": said}}), encoding="utf-8")
    real = machine_record(Study(AsgdRequest(tmp_path), NET, None, None, []))
    (tmp_path / "host.json").write_text(json.dumps(real), encoding="utf-8")
    with pytest.raises(UsageError, match=r"exchange='tree'.*exchange='halving-doubling'"):
        check_same_network(tmp_path, "asgd", Network(exchange="tree"))


@pytest.mark.parametrize("changed", [{"learning_rate": np.nan}, {"shift": np.inf}, {"time_scale": np.nan}, {"limit_s": np.inf}])
def test_numbers_that_are_none_are_refused_before_a_rank_starts(tmp_path: Path, changed: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="finite"):
        check_request(AsgdRequest(tmp_path, NET, **changed))


def test_waits_of_the_gradient_alone_leave_memory_and_network_real(tmp_path, measured) -> None:
    settings = {"n_nodes": (1,), "n_gpus_per_node": (2,), "subbatch_sizes": (4,), "dataset_size": 80}
    ends = {"repeats": 1, "epochs": 1, "max_updates": 1_000_000}
    request = AsgdRequest(tmp_path, NET, waits=("gradient",), rounds_from=measured, **settings, **ends)
    done = train_asynchronously(request).runs[0]
    assert done.mode == "emulated gradient"
    assert np.isnan(done.test_accuracy)


def test_any_numpy_file_can_be_trained_on(tmp_path: Path) -> None:
    """The row that is bright is the class."""
    labels = np.arange(600) % 8
    images = np.zeros((600, 8, 8), np.float32)
    images[np.arange(600), labels] = 1.0
    np.savez(tmp_path / "rows.npz", images=images, labels=labels)
    one = {"n_nodes": (1,), "n_gpus_per_node": (1,), "repeats": 1}
    train_asynchronously(AsgdRequest(tmp_path / "out", digits_cnn(), tmp_path / "rows.npz", epochs=8, learning_rate=0.003, **one))
    epochs = pd.read_csv(tmp_path / "out" / "asgd" / "epochs.csv")
    assert epochs["loss"].iloc[-1] < 0.8 * epochs["loss"].iloc[0]
    said = json.loads((tmp_path / "out" / "host.json").read_text())["protocol"]["asgd"]
    assert said["data"] == "rows"
