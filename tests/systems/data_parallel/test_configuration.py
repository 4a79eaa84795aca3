"""Configurations that cannot run are refused with the reason, one by one and as masks."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.systems.data_parallel.configuration import (
    check_configuration,
    configuration_refusals,
    refusal_reasons,
    runnable,
    with_settings,
)
from mlperf.systems.data_parallel.pipelined import PIPELINE

RUN = {
    "n_nodes": 4,
    "n_gpus_per_node": 8,
    "subbatch_size": 2,
    "stages": 4,
    "tensor": 2,
    "micro_batches": 8,
    "schedule": 1,
    "chunks": 1,
    "n_layers": 32,
    "stage_imbalance": 1,
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"micro_batches": 2.5}, r"micro_batches 2.5, expected: micro_batches must be a whole number"),
        ({"overlap": 1.5}, "overlap must lie between 0 and 1"),
        ({"schedule": 7}, "schedule must be one of 0 gpipe, 1 1f1b, 2 interleaved"),
        ({"stages": 3}, "n_nodes 4, n_gpus_per_node 8, stages 3, tensor 2, expected: n_nodes x n_gpus_per_node must be a multiple"),
        ({"tensor": 16, "n_gpus_per_node": 24, "stages": 6}, "tensor and n_gpus_per_node must divide one the other"),
        ({"n_layers": 3}, "n_layers must be at least stages x chunks"),
        ({"stage_imbalance": 5}, "stage_imbalance must be at most stages"),
        ({"n_heads": 25}, "n_heads must be a multiple of tensor"),
        ({"chunks": 2}, "chunks above 1 need the interleaved schedule"),
        ({"chunks": 2, "schedule": 2, "micro_batches": 6}, "micro_batches must be a multiple of stages when interleaved"),
        ({"minibatch_size": 65}, "minibatch_size must be what all workers"),
        ({"n_params": 8e9, "device_memory_bytes": 15e9}, "must fit device_memory_bytes"),
        ({"gpus_per_replica": 3}, "multiple of gpus_per_replica"),
        ({"zero_stage": 4}, "zero_stage must be one of 0, 1, 2, 3"),
        ({"exchange_form": -1}, "exchange_form must be one of 0 two_level"),
    ],
)
def test_what_cannot_run_is_refused_with_its_reason(changed: dict[str, float], message: str) -> None:
    run = {name: np.asarray(value, float) for name, value in {**RUN, **changed}.items()}
    with pytest.raises(DataError, match=message) as caught:
        check_configuration(run)
    assert any(reason in str(caught.value) for reason in refusal_reasons(run))
    assert not runnable(run)


def test_what_can_run_is_not_refused() -> None:
    full = {**RUN, "n_heads": 16, "minibatch_size": 64, "n_params": 8e9, "device_memory_bytes": 17e9, "zero_stage": 0}
    run = {name: np.asarray(value, float) for name, value in full.items()}
    check_configuration(run)
    assert runnable(run)
    assert set(refusal_reasons(run)) == {""}


def test_masks_are_the_refusals_one_by_one() -> None:
    """Every configuration of a grid: refused by the mask exactly where the check raises, and for the same reason."""
    axes = np.meshgrid([1, 2, 3, 4], [1, 2, 4], [1, 4, 6], [1, 2], [1, 2], indexing="ij")
    stages, tensor, micro, chunks, schedule = (axis.ravel().astype(float) for axis in axes)
    own = {"stages": stages, "tensor": tensor, "micro_batches": micro, "chunks": chunks, "schedule": schedule}
    run = {**{name: np.asarray(value, float) for name, value in RUN.items()}, **own}
    masks, reasons, fine = configuration_refusals(run), refusal_reasons(run), runnable(run)
    assert 0 < fine.sum() < fine.size
    for row in range(stages.size):
        one = {name: value if value.ndim == 0 else value[row] for name, value in run.items()}
        message = refusal(one)
        assert fine[row] == (message == "")
        assert reasons[row] in message
        if message:
            assert np.broadcast_to(masks[reasons[row]], stages.shape)[row]


def refusal(run: dict[str, np.ndarray]) -> str:
    """What the check says; empty where it says nothing."""
    try:
        check_configuration(run)
    except DataError as error:
        return str(error)
    return ""


def test_settings_that_a_run_leaves_out_are_looked_at_too() -> None:
    """Three stages of the default tensor groups of one do not divide 8 GPUs."""
    bare = {"n_nodes": 1, "n_gpus_per_node": 8, "subbatch_size": 1, "stages": np.array([2, 3]), "n_layers": 6}
    assert runnable({name: np.asarray(value, float) for name, value in bare.items()}).tolist() == [True, True]
    assert runnable(with_settings(PIPELINE, bare)).tolist() == [True, False]
