"""Every prediction builds each network's kernel tables once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mlperf
from mlperf.core.errors import DataError, UsageError
from mlperf.specs import JobSpec, load_cnn, load_machine
from mlperf.systems.sprint.components import SHARE_OPERATIONS
from mlperf.training.gradient.gradient import GradientModel

JOB = JobSpec(dataset_size=60_000, subbatch_size=2, n_nodes=4)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, int]]]:
    """(CNN, sub-batch) pairs of every call that builds kernel tables."""
    found: list[list[tuple[str, int]]] = []
    build = GradientModel.calls

    def spy(self: GradientModel, runs: Any) -> Any:
        pairs = list(runs)
        found.append([(cnn.name, size) for cnn, size in pairs])
        return build(self, pairs)

    monkeypatch.setattr(GradientModel, "calls", spy)
    return found


def test_kernel_tables_are_built_once_a_prediction(small_model: Any, built: list[list[tuple[str, int]]]) -> None:
    nets = [load_cnn("alexnet"), load_cnn("resnet18")]
    mlperf.predict_epoch(small_model, nets, load_machine("cpu-cluster"), JOB, n_nodes=[1, 4], subbatch_size=[1, 2])
    assert built == [[("alexnet", 1), ("alexnet", 2), ("resnet18", 1), ("resnet18", 2)]]


def test_kernel_tables_are_built_once_a_search(small_model: Any, built: list[list[tuple[str, int]]]) -> None:
    sizes = {"n_nodes": [1, 2, 4], "subbatch_size": [1, 2]}
    found = mlperf.search_runs(small_model, load_cnn("alexnet"), load_machine("cpu-cluster"), JOB, **sizes)
    assert len(found.best) == 6
    assert built == [[("alexnet", 1), ("alexnet", 2)]]


def predicted(model: Any, **job: Any) -> Any:
    return mlperf.predict_epoch(model, load_cnn("alexnet"), load_machine("cpu-cluster"), replace(JOB, **job), n_draws=50)


def test_another_optimizer_costs_its_passes_and_says_that_it_is_assumed(small_model: Any) -> None:
    """Old weights and momentum take 7/5 of the time with Adam's seven passes, and nothing else changes."""
    usual, adam = predicted(small_model), predicted(small_model, optimizer="adam")
    assert set(SHARE_OPERATIONS) <= {name for name, source in adam.source.items() if source == "assumed"}
    assert not {name for name, source in usual.source.items() if source == "assumed"} & set(SHARE_OPERATIONS)
    for name in SHARE_OPERATIONS:
        assert np.allclose(adam.update_breakdown_s[name], 7 / 5 * usual.update_breakdown_s[name], rtol=1e-12), name
    assert np.allclose(adam.update_breakdown_s["update_weights"], usual.update_breakdown_s["update_weights"], rtol=1e-12)
    low, high = (each.confidence_interval["update_iteration_s"] for each in (usual, adam))
    assert np.all(high.lower > low.lower)


def test_times_in_another_data_type_are_refused(small_model: Any) -> None:
    for ask in (mlperf.predict_epoch, mlperf.search_runs):
        with pytest.raises(DataError, match="got 'bf16', expected 'fp32'") as caught:
            ask(small_model, load_cnn("alexnet"), load_machine("cpu-cluster"), replace(JOB, data_type="bf16"))
        assert caught.value.place == "job, data_type"


def test_no_network_is_refused(small_model: Any) -> None:
    with pytest.raises(UsageError, match="got no CNN"):
        mlperf.predict_epoch(small_model, [], load_machine("cpu-cluster"), JOB)
