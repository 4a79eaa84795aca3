"""Every prediction builds each network's kernel tables once."""

from __future__ import annotations

from typing import Any

import pytest

import mlperf
from mlperf.core.errors import UsageError
from mlperf.specs import JobSpec, load_cnn, load_machine
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


def test_no_network_is_refused(small_model: Any) -> None:
    with pytest.raises(UsageError, match="got no CNN"):
        mlperf.predict_epoch(small_model, [], load_machine("cpu-cluster"), JOB)
