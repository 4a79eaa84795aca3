"""A prediction builds each network's kernel tables once, and what is added to the means is of the same solution."""

from __future__ import annotations

from typing import Any

import numpy as np
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


def test_additions_are_of_the_same_solution(small_model: Any) -> None:
    cnn, machine = load_cnn("alexnet"), load_machine("cpu-cluster")
    plain = mlperf.predict_epoch(small_model, cnn, machine, JOB)
    full = mlperf.predict_epoch(small_model, cnn, machine, JOB, compare_forms=True, elasticities=True, simulate=200)
    assert plain.forms is plain.elasticities is plain.simulation is None
    np.testing.assert_array_equal(full.epoch_s, plain.epoch_s)
    assert full.forms.set_index("form").loc[plain.closed, "epoch_s"] == plain.epoch_s[0]
    assert full.forms.loc[full.forms["recommended"], "form"].tolist() in ([], [full.recommended[0]])
    shown = full.simulation.table.set_index("quantity")["equations"]
    assert shown["epoch_s"] == plain.epoch_s[0]
    # Every component one per cent slower makes an epoch one per cent longer.
    twelve = full.elasticities[~full.elasticities["component"].isin(["barrier_wait"])]
    measured = twelve[twelve["kind"] != "coupling"]
    assert measured["epoch_elasticity"].sum() == pytest.approx(1.0, abs=1e-3)


def test_forms_leave_out_what_cannot_obey_a_factor_on_a_wait(small_model: Any) -> None:
    cnn, machine = load_cnn("alexnet"), load_machine("cpu-cluster")
    found = mlperf.predict_epoch(small_model, cnn, machine, JOB, compare_forms=True, factors={"barrier_wait": 0.5})
    assert "recursion" not in set(found.forms["form"])
    assert "phases" in set(found.forms["form"])
    with pytest.raises(UsageError, match="got a factor on 'barrier_wait'"):
        mlperf.predict_epoch(small_model, cnn, machine, JOB, simulate=200, factors={"barrier_wait": 0.5})


def test_no_network_is_refused(small_model: Any) -> None:
    with pytest.raises(UsageError, match="got no CNN"):
        mlperf.predict_epoch(small_model, [], load_machine("cpu-cluster"), JOB)
