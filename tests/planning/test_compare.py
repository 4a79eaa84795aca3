"""Comparisons with a campaign: predictions of its steps as a prediction gives them, errors as ratios, unknown methods refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError, UsageError
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.compare import beside, comparison, machine_of_runs
from mlperf.report.pages.answers import comparison_answer
from mlperf.specs import JobSpec, load_machine


@pytest.mark.slow
def test_a_compared_step_is_the_gradient_of_a_predicted_epoch(small_model: Any, small_campaign: Path) -> None:
    found = mlperf.compare_runs(small_model, small_campaign, cnns=["res03"])
    row = found.table.iloc[0]
    cnn = mlperf.read_campaign(small_campaign).cnns["res03"]
    job = JobSpec(dataset_size=60_000, subbatch_size=int(row["subbatch_size"]))
    epoch = mlperf.predict_epoch(small_model, cnn, load_machine("cpu-cluster"), job)
    assert row["predicted"] == pytest.approx(epoch.gpu_breakdown_s["compute_gradient"][0], rel=1e-12)
    assert row["lower"] < row["predicted"] < row["upper"]
    assert not found.table["in_training"].any()
    assert row["relative_error"] == pytest.approx(row["predicted"] / row["measured"] - 1.0)
    assert found.coverage["step_s"] == found.table["inside"].mean()


def test_what_cannot_be_compared_is_refused(small_model: Any, small_campaign: Path) -> None:
    with pytest.raises(UsageError, match="got method 'lerant'"):
        mlperf.compare_runs(small_model, small_campaign, method="lerant")
    with pytest.raises(DataError, match="no measured row of those CNNs"):
        mlperf.compare_runs(small_model, small_campaign, cnns=["vgg19"])


@pytest.mark.slow
def test_asynchronous_runs_are_compared_on_the_machine_that_they_tell_of(simulated_campaign: Path) -> None:
    """Measured is what runs.csv holds, predicted what the same setting is predicted to take; no machine need be named."""
    model, campaign = mlperf.train(simulated_campaign), mlperf.read_campaign(simulated_campaign)
    found = mlperf.compare_runs(model, simulated_campaign)
    runs = campaign.table("runs")
    assert set(found.errors) == {"epoch_s", "gpu_iteration_s", "update_iteration_s", "mean_minibatch_size"}
    for quantity, rows in found.table.groupby("quantity"):
        assert rows.set_index("run")["measured"].to_dict() == runs.set_index("run")[quantity].to_dict()
        assert found.errors[quantity].mape < 0.1
    row = found.table[found.table["quantity"] == "update_iteration_s"].iloc[0]
    sizes = {name: int(row[name]) for name in ("n_nodes", "n_gpus_per_node", "subbatch_size")}
    job = JobSpec(dataset_size=100_000)
    alone = mlperf.predict_epoch(model, campaign.cnns["one"], load_machine("kfc"), job, **sizes)
    assert row["predicted"] == pytest.approx(alone.update_iteration_s[0], rel=1e-9)
    assert not found.table["predicted"].equals(found.table["measured"])
    named, given = (mlperf.compare_runs(model, campaign, machine=each) for each in ("kfc", load_machine("kfc")))
    assert named.table.equals(given.table)


def test_the_machine_of_runs_has_the_network_they_waited_for() -> None:
    """asgd-slow-network waited for 1 GB/s and 20 us; the digits ran on a real network that nobody described."""
    slow, real = (machine_of_runs(mlperf.read_campaign(name)) for name in ("asgd-slow-network", "asgd-digits"))
    assert (slow.bandwidth_bytes_per_s, slow.latency_s) == (1e9, 2e-5)
    assert (slow.max_nodes, real.max_nodes) == (4, 2)
    assert (real.bandwidth_bytes_per_s, real.latency_s) == (None, None)


def test_real_runs_that_came_last_leave_the_network_that_others_waited_for() -> None:
    slow = mlperf.read_campaign("asgd-slow-network")
    own = {"waits": {}, "network": {}, "network_waited": {"latency_s": 2e-5, "bytes_per_s": 1e9}}
    later = replace(slow, host={**slow.host, "protocol": {"asgd": own}})
    assert machine_of_runs(later).bandwidth_bytes_per_s == 1e9


def test_measurements_without_an_interval_are_neither_inside_nor_outside() -> None:
    keys, nan = pd.DataFrame({"cnn": ["a", "b"]}), np.array([np.nan, np.nan])
    measured, flags = ("step_s", np.array([1.0, 2.0])), np.array([True, True])
    none = beside(keys, measured, {"predicted": np.ones(2)}, Interval(nan, nan, 0.95), in_domain=flags, in_training=flags)
    some = Interval(np.array([np.nan, 1.5]), np.array([np.nan, 2.5]), 0.95)
    one = beside(keys, measured, {"predicted": np.ones(2)}, some, in_domain=flags, in_training=flags)
    assert none["inside"].tolist() == [None, None]
    assert one["inside"].tolist() == [None, True]
    assert np.isnan(comparison(none).coverage["step_s"])
    assert comparison(one).coverage["step_s"] == 1.0
    assert "no interval is known" in comparison_answer(comparison(none)).text()


@pytest.mark.slow
def test_a_model_that_needs_the_network_of_real_runs_says_so(small_model: Any) -> None:
    with pytest.raises(DataError, match="component 'allreduce' was not measured") as caught:
        mlperf.compare_runs(small_model, "asgd-digits")
    assert "latency_s" in str(caught.value.hint)


def test_a_file_in_the_place_of_a_campaign_is_refused(small_model: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="got a file, expected the folder of a campaign"):
        mlperf.compare_runs(small_model, tmp_path / "t.csv")


@pytest.mark.slow
def test_a_model_without_busy_times_is_compared_by_steps_alone() -> None:
    """Kernels that hold their gaps tell none, and the other campaign's steps are predicted all the same."""
    model = mlperf.load_model("gpu-h100-layers")
    known = model.score.predictions
    without = replace(model, score=replace(model.score, predictions=known[[name for name in known if "busy" not in name]]))
    found = mlperf.compare_runs(without, "gpu-h100-zoo", cnns=["vgg11"])
    both = mlperf.compare_runs(model, "gpu-h100-zoo", cnns=["vgg11"])
    assert (set(found.errors), set(both.errors)) == ({"step_s"}, {"step_s", "busy_s"})
    assert found.errors["step_s"].mape == both.errors["step_s"].mape
