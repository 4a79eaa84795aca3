"""Windows, targets and several machines through the public functions, with a model of real measurements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DomainError, UsageError
from mlperf.planning.search.machines import search_machines
from mlperf.specs import JobSpec, load_cnn, load_machine
from mlperf.training.quality import fit_quality_table

pytestmark = pytest.mark.slow

NODES, BATCHES = range(1, 9), range(1, 6)
JOB = JobSpec(dataset_size=60_000)
WINDOW = (8.0, 24.0)
SIZES = {"n_nodes": NODES, "subbatch_size": BATCHES}


@pytest.fixture(scope="module")
def quality() -> Any:
    """Epochs = 4 (1 + mini-batch / 100) times exp(staleness / 20), with a little noise."""
    rng = np.random.default_rng(5)
    size, age = (axis.ravel() for axis in np.meshgrid([4.0, 8.0, 16.0, 32.0, 64.0, 128.0], [0.5, 1.0, 2.0, 4.0, 8.0]))
    epochs = 4.0 * (1.0 + size / 100.0) * np.exp(age / 20.0) * np.exp(0.02 * rng.standard_normal(size.size))
    return fit_quality_table(pd.DataFrame({"mean_minibatch_size": size, "staleness": age, "epochs_to_target": epochs}), 0.9)


def search(model: Any, **options: Any) -> Any:
    return mlperf.search_runs(model, load_cnn("alexnet"), load_machine("cpu-cluster"), JOB, **SIZES, **options)


def test_a_ranking_tells_probability_stability_and_staleness(small_model: Any) -> None:
    found = search(small_model, minibatch=WINDOW, top=4)
    columns = set(found.best.columns)
    assert {"minibatch_std", "mean_staleness", "window_probability", "first_share", "rank_low", "rank_high"} <= columns
    assert found.stability.n_candidates <= 50
    assert 0.0 <= found.stability.first_stays <= 1.0
    assert found.stability.first_stays == pytest.approx(found.best["first_share"].iloc[0])
    assert (found.best["rank_low"] <= found.best["rank_high"]).all()


def test_the_window_of_a_quantile_lies_below_that_of_the_mean(small_model: Any) -> None:
    mean = search(small_model, minibatch=(0.0, 24.0))
    upper = search(small_model, minibatch=(0.0, 24.0), window_quantile=0.9)
    assert (upper.best["minibatch_q90"] <= 24.0).all()
    assert upper.best["epoch_s"].iloc[0] >= mean.best["epoch_s"].iloc[0]
    assert upper.window_quantile == 0.9


def test_the_largest_staleness_is_obeyed(small_model: Any) -> None:
    free = search(small_model, top=30)
    limit = float(np.median(free.best["mean_staleness"]))
    limited = search(small_model, max_staleness=limit, top=30)
    assert (limited.best["mean_staleness"] <= limit).all()
    assert search(small_model, max_staleness=0.0).best.empty


def test_only_rows_that_are_sure_enough_are_ranked(small_model: Any) -> None:
    every = search(small_model, minibatch=WINDOW, top=300)
    sure = search(small_model, minibatch=WINDOW, top=300, min_probability=0.95)
    expected = every.best[every.best["window_probability"] >= 0.95]
    assert 0 < len(sure.best) == len(expected) < len(every.best)
    np.testing.assert_array_equal(sure.best[["n_nodes", "subbatch_size"]], expected[["n_nodes", "subbatch_size"]])


def test_time_to_target_ranks_epochs_times_epoch(small_model: Any, quality: Any) -> None:
    found = search(small_model, objective="time_to_target", quality=quality)
    assert found.experimental == quality.experimental is not None
    best = found.best
    np.testing.assert_allclose(best["time_to_target_s"], best["epochs"] * best["epoch_s"], rtol=1e-9)
    np.testing.assert_allclose(
        best["epochs"], 4.0 * (1.0 + best["mean_minibatch_size"] / 100.0) * np.exp(best["mean_staleness"] / 20.0), rtol=0.1
    )
    assert (best["time_to_target_s"].diff().dropna() >= 0).all()
    assert (best["time_to_target_low_s"] < best["epochs_low"] * best["epoch_s"] * (1 + 1e-9)).all()
    assert (best["time_to_target_high_s"] > best["time_to_target_s"]).all()
    assert found.target_accuracy == 0.9
    assert best["quality_in_domain"].dtype == bool
    with pytest.raises(UsageError, match="without a model of the epochs"):
        search(small_model, objective="time_to_target")
    with pytest.raises(DomainError):
        search(small_model, objective="time_to_target", quality=quality, strict=True)


def test_several_machines_are_one_ranking(small_model: Any) -> None:
    slow = load_machine("cpu-cluster")
    fast = replace(slow, name="fast", bandwidth_bytes_per_s=2.5e10, latency_s=1e-6)
    cnn = load_cnn("alexnet")
    both = search_machines([(small_model, slow), (small_model, fast)], cnn, JOB, minibatch=WINDOW, top=12, **SIZES)
    alone = [mlperf.search_runs(small_model, cnn, machine, JOB, minibatch=WINDOW, top=50, **SIZES) for machine in (slow, fast)]
    every = pd.concat([one.best.assign(machine=one.machine) for one in alone]).sort_values("epoch_s", kind="stable").head(12)
    np.testing.assert_allclose(both.best["epoch_s"], every["epoch_s"])
    assert set(both.best["machine"]) <= {"cpu-cluster", "fast"}
    assert both.best["rank"].tolist() == list(range(1, 13))
    assert (both.pareto["epoch_s"].diff().dropna() < 0).all()
    assert both.stability.n_candidates <= 50
    with pytest.raises(UsageError, match="each once"):
        search_machines([(small_model, slow), (small_model, slow)], cnn, JOB)
    nothing = search_machines([(small_model, slow), (small_model, fast)], cnn, JOB, minibatch=(1e7, 1e8), **SIZES)
    assert nothing.best.empty
    assert set(nothing.to_frame()["machine"]) == {"cpu-cluster", "fast"}


def test_models_are_drawn_independently_and_one_model_errs_alike_everywhere(small_model: Any) -> None:
    """Twin machines: under one model both cost the same in every draw; under two the better one is a matter of chance."""
    machine = load_machine("cpu-cluster")
    twins = [replace(machine, name=name) for name in ("left", "right")]
    sizes = {"n_nodes": [1], "n_gpus_per_node": [1], "subbatch_size": [2]}

    def stability(models: tuple[Any, Any]) -> Any:
        found = search_machines(list(zip(models, twins, strict=True)), load_cnn("alexnet"), JOB, **sizes)
        assert len(found.best) == 2
        return found.stability

    alike, apart = stability((small_model, small_model)), stability((small_model, replace(small_model)))
    assert (alike.first_stays, alike.regret) == (1.0, 0.0)
    assert 0.3 < apart.first_stays < 0.7
    assert apart.regret > 0.0
