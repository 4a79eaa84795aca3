"""Search against a brute force over every configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError, UsageError
from mlperf.specs import JobSpec, load_cnn, load_machine, training_memory

pytestmark = pytest.mark.slow

NODES, BATCHES = range(1, 13), range(1, 7)
JOB = JobSpec(dataset_size=60_000)
WINDOW = (8.0, 24.0)


@pytest.fixture(scope="module")
def found(small_model: Any) -> Any:
    machine = load_machine("cpu-cluster")
    return mlperf.search_runs(
        small_model, load_cnn("alexnet"), machine, JOB, n_nodes=NODES, subbatch_size=BATCHES, minibatch=WINDOW, top=5
    )


@pytest.fixture(scope="module")
def every(small_model: Any) -> Any:
    machine = load_machine("cpu-cluster")
    return mlperf.predict_epoch(
        small_model, load_cnn("alexnet"), machine, JOB, n_nodes=list(NODES), subbatch_size=list(BATCHES)
    ).to_frame()


def test_the_ranking_is_that_of_solving_every_row(found: Any, every: Any) -> None:
    inside = every[every["mean_minibatch_size"].between(*WINDOW)].sort_values("epoch_s").head(5)
    assert found.best["closed"].eq("phases").all()
    np.testing.assert_array_equal(found.best[["n_nodes", "subbatch_size"]], inside[["n_nodes", "subbatch_size"]])
    np.testing.assert_allclose(found.best["epoch_s"], inside["epoch_s"], rtol=1e-9)


def test_what_of_the_first_row_lies_outside_is_told_as_of_its_prediction(found: Any, small_model: Any) -> None:
    row = found.best.iloc[0]
    sizes = {name: int(row[name]) for name in ("n_nodes", "subbatch_size")}
    told = mlperf.predict_epoch(small_model, "alexnet", "cpu-cluster", JOB, n_draws=20, **sizes).outside
    assert len(told)
    pd.testing.assert_frame_equal(found.outside, told)


def test_probability_lies_between_edge_and_middle(found: Any) -> None:
    assert found.best["window_probability"].between(0.0, 1.0).all()
    assert found.best["window_probability"].max() > 0.9


def test_a_window_that_ends_at_the_predicted_size_holds_in_half_of_the_draws(small_model: Any) -> None:
    one: dict[str, Any] = {"n_nodes": [4], "n_gpus_per_node": [2], "subbatch_size": [4]}
    size = mlperf.predict_epoch(small_model, "alexnet", "cpu-cluster", JOB, n_draws=20, **one).mean_minibatch_size[0]
    shares = [
        mlperf.search_runs(small_model, "alexnet", "cpu-cluster", JOB, minibatch=window, **one).best["window_probability"].iloc[0]
        for window in ((0.5 * size, 1.0001 * size), (0.9999 * size, 2.0 * size), (0.97 * size, 1.03 * size))
    ]
    assert shares[0] == pytest.approx(0.5, abs=0.2)
    assert shares[0] + shares[1] == pytest.approx(1.0, abs=0.05)
    assert shares[2] < 0.9


def test_an_empty_window_names_the_nearest_misses(small_model: Any) -> None:
    machine = load_machine("cpu-cluster")
    nothing = mlperf.search_runs(
        small_model, load_cnn("alexnet"), machine, JOB, n_nodes=NODES, subbatch_size=BATCHES, minibatch=(1e6, 2e6)
    )
    assert nothing.best.empty
    assert nothing.outside is None
    assert nothing.misses["mean_minibatch_size"].iloc[0] == pytest.approx(nothing.grid["mean_minibatch_size"].max())


def test_what_does_not_fit_the_device_is_left_out(small_model: Any) -> None:
    cnn = load_cnn("alexnet")
    machine = replace(load_machine("cpu-cluster"), device_memory_bytes=float(training_memory(cnn, 3).total_bytes))
    arguments = {"n_nodes": NODES, "subbatch_size": BATCHES, "minibatch": (0.0, float("inf"))}
    limited = mlperf.search_runs(small_model, cnn, machine, JOB, **arguments)
    assert limited.grid.groupby("subbatch_size")["feasible"].all().to_dict() == {b: b <= 3 for b in BATCHES}
    assert (limited.best["subbatch_size"] <= 3).all()
    assert mlperf.search_runs(small_model, cnn, machine, JOB, ignore_memory=True, **arguments).grid["feasible"].all()


def test_cost_is_price_times_node_hours(small_model: Any) -> None:
    machine = load_machine("cpu-cluster")
    cheap = mlperf.search_runs(
        small_model, load_cnn("alexnet"), machine, JOB, n_nodes=NODES, subbatch_size=BATCHES, objective="cost"
    )
    expected = cheap.best["epoch_s"] * cheap.best["n_nodes"] / 3600 * machine.price_per_node_hour
    np.testing.assert_allclose(cheap.best["cost"], expected)
    assert (cheap.best["cost"].diff().dropna() >= 0).all()
    with pytest.raises(DataError, match="price_per_node_hour"):
        mlperf.search_runs(small_model, load_cnn("alexnet"), replace(machine, price_per_node_hour=None), JOB, objective="cost")
    with pytest.raises(UsageError, match="objective 'fame'"):
        mlperf.search_runs(small_model, load_cnn("alexnet"), machine, JOB, objective="fame")


def test_every_ranked_row_has_the_interval_of_one_run_as_predicted(small_model: Any, found: Any) -> None:
    best = found.best.iloc[0]
    sizes = {name: [int(best[name])] for name in ("n_nodes", "n_gpus_per_node", "subbatch_size")}
    told = mlperf.predict_epoch(small_model, load_cnn("alexnet"), load_machine("cpu-cluster"), JOB, **sizes).prediction_interval
    for output, names in (
        ("epoch_s", ("epoch_low_s", "epoch_high_s")),
        ("mean_minibatch_size", ("minibatch_low", "minibatch_high")),
    ):
        assert [best[name] for name in names] == pytest.approx([told[output].lower[0], told[output].upper[0]], rel=0.1)
    assert ((found.best["epoch_low_s"] < found.best["epoch_s"]) & (found.best["epoch_s"] < found.best["epoch_high_s"])).all()


@pytest.mark.parametrize("sizes", [{"n_nodes": [1, 65]}, {"n_gpus_per_node": [1, 4]}])
def test_no_search_goes_beyond_what_the_machine_has(small_model: Any, sizes: dict[str, list[int]]) -> None:
    job = JobSpec(dataset_size=60_000, subbatch_size=2)
    with pytest.raises(DataError, match=r"machine 'cpu-cluster': got \d+ .*expected at most"):
        mlperf.search_runs(small_model, "alexnet", "cpu-cluster", job, subbatch_size=[2], **sizes)
    with pytest.raises(DataError, match=r"machine 'cpu-cluster': got \d+ .*expected at most"):
        mlperf.search_system(small_model, "data-parallel", "alexnet", "cpu-cluster", job, subbatch_size=[2], **sizes)
