"""What a machine does not have is refused with what it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import mlperf
from mlperf.core.errors import DataError
from mlperf.specs import JobSpec, load_cnn, load_machine, max_subbatch_size


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"n_nodes": [1, 100]}, "got 100 nodes, expected at most 42"),
        ({"n_gpus_per_node": 9}, "got 9 GPUs a node, expected at most 8"),
        ({"subbatch_size": 100_000}, "got sub-batch 100,000 of CNN 'vgg16', expected at most 19"),
    ],
)
def test_more_than_there_is(small_model: Any, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        mlperf.predict_epoch(small_model, "vgg16", "kfc", JobSpec(60_000), **asked)
    assert "machine 'kfc'" in str(caught.value.place)


def test_as_much_as_there_is(small_model: Any) -> None:
    machine = replace(load_machine("kfc"), processor=None)
    largest = max_subbatch_size(load_cnn("alexnet"), 12e9)
    found = mlperf.predict_epoch(small_model, "alexnet", machine, JobSpec(60_000), n_nodes=42, subbatch_size=largest)
    assert found.machine == "kfc"


def test_epochs_are_counted(small_model: Any) -> None:
    found = mlperf.predict_epoch(small_model, "alexnet", "cpu-cluster", JobSpec(60_000, epochs=90))
    assert found.total_s == pytest.approx(90 * found.epoch_s)
