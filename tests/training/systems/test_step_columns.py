"""What a row says of work and volumes, against the same counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.training.systems.by_system import train_for_system
from mlperf.training.systems.step_columns import check_batches, derived_columns, networks_of, step_columns
from mlperf.training.systems.train_system import train_system

ROW = {
    "n_nodes": 4,
    "n_gpus_per_node": 8,
    "tensor_parallel": 2,
    "pipeline_parallel": 4,
    "subbatch_size": 3,
    "accumulation": 6,
    "sequence_length": 128,
    "n_params": 1000,
    "n_layers": 8,
    "width": 16,
    "recomputed": True,
    "zero_stage": 1,
}


def test_sizes_follow_from_each_other() -> None:
    found = step_columns(pd.DataFrame([ROW]))
    assert found["n_gpus"] == 32
    assert found["data_parallel"] == 4
    assert found["minibatch_size"] == 3 * 6 * 4
    whole = pd.DataFrame([{"n_gpus": 16, "n_nodes": 2, "minibatch_size": 64, "subbatch_size": 2}])
    again = step_columns(whole)
    assert again["accumulation"] == 2
    assert again["n_gpus_per_node"] == 8
    assert step_columns(pd.DataFrame([{"n_gpus": 4, "minibatch_size": 64}]))["subbatch_size"] == 16


def test_volumes_of_a_pipeline_of_tensor_groups() -> None:
    """4 replicas of 4 stages of 2 GPUs; 6 micro-batches of 3 sequences of 128 tokens."""
    found = {name: float(value[0]) for name, value in derived_columns(step_columns(pd.DataFrame([ROW]))).items()}
    tokens = 3 * 6 * 4 * 128 / 32
    assert found["tokens"] == tokens
    assert found["work"] == 6 * 1000 * tokens
    assert found["work_again"] == found["work"]
    assert found["attention"] == 12 * 8 * 16 * 128 * tokens
    assert found["bubble"] == 3 / 6
    assert found["own_params"] == 1000 / 8
    assert found["gradients_across"] == pytest.approx(125 * 3 / 4)
    assert found["gradients_inside"] == 0
    assert found["gradients_zero"] == pytest.approx(125 * 3 / 4)
    # A replica's tokens pass two layers a stage, whose sums over two GPUs move half of each value.
    assert found["tensor_inside"] == pytest.approx(8 / 4 * (3 * 6 * 128) * 16 / 2)
    assert found["tensor_across"] == 0
    assert found["sends"] == 6
    assert found["launches"] == 6 * 8 / 4
    assert found["log2_nodes"] == 2


def test_one_gpu_exchanges_nothing() -> None:
    found = derived_columns(step_columns(pd.DataFrame([{"n_gpus": 1, "subbatch_size": 4, "n_params": 10}])))
    for name in ("ring_gpus", "gradients_inside", "gradients_across", "sharded_params", "across", "gpus_inside"):
        assert found[name] == 0, name


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"subbatch_size": 0}, "column subbatch_size"),
        ({"n_params": "many"}, "column n_params"),
        ({"recomputed": -1}, "of at least 0"),
        ({"n_nodes": 1.5}, "got 1.5, expected a whole number"),
    ],
)
def test_what_is_no_number_is_refused_with_its_place(changes: dict, told: str) -> None:
    rows = pd.DataFrame([ROW, {**ROW, **changes}])
    with pytest.raises(DataError) as caught:
        step_columns(rows, "steps.csv")
    assert told in str(caught.value)
    assert "row 2" in str(caught.value)


def test_gpus_and_batch_must_be_known() -> None:
    with pytest.raises(DataError, match="n_gpus"):
        step_columns(pd.DataFrame([{"n_nodes": 1, "subbatch_size": 1}]))
    with pytest.raises(DataError, match="subbatch_size"):
        step_columns(pd.DataFrame([{"n_gpus": 1}]))
    assert np.isclose(step_columns(pd.DataFrame([{"n_gpus": 8, "subbatch_size": 1}]))["n_nodes"], 1)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        # One machine of 8 cannot be three; 16 GPUs do not fit one machine of 8.
        ({"n_gpus": 1, "n_nodes": 3}, "column n_nodes: got 3, expected at most n_gpus"),
        ({"n_gpus": 16, "n_nodes": 1, "n_gpus_per_node": 8}, "column n_gpus: got 16, expected at most n_nodes x n_gpus_per_node"),
        ({"n_gpus": 4, "tensor_parallel": 3}, "column n_gpus: got 4, expected a multiple of tensor_parallel x pipeline_parallel"),
        ({"n_gpus": 4, "accumulation": 2.5}, "column accumulation: got 2.5, expected a whole number"),
        ({"n_gpus": 4, "recomputed": 7}, "column recomputed: got 7, expected a share from 0 to 1"),
        ({"n_gpus": 4, "zero_stage": 9}, "column zero_stage: got 9, expected 0, 1, 2 or 3"),
    ],
)
def test_columns_that_contradict_one_another_are_refused(columns: dict, told: str) -> None:
    with pytest.raises(DataError, match=f"row 1, {told}"):
        step_columns(pd.DataFrame([{"subbatch_size": 32, **columns}]))


# The batch of one GPU written as that of all, with and without accumulation; in a pipeline of 2 there are 2 replicas on 4 GPUs.
@pytest.mark.parametrize(
    ("columns", "wanted"),
    [({}, 128), ({"accumulation": 4}, 512), ({"pipeline_parallel": 2}, 64), ({"tensor_parallel": 2, "accumulation": 2}, 128)],
)
def test_batches_of_one_gpu_and_of_all_agree(columns: dict, wanted: int, tmp_path: Path) -> None:
    row = {"n_gpus": 4, "subbatch_size": 32, **columns}
    check_batches(pd.DataFrame([{**row, "minibatch_size": wanted}]))
    wrong = pd.DataFrame([{**row, "minibatch_size": 32, "step_s": 1.0}] * 3)
    with pytest.raises(DataError, match=f"row 1, column minibatch_size: got 32, expected {wanted}: "):
        check_batches(wrong)
    wrong.to_csv(tmp_path / "steps.csv", index=False)
    for train in (train_system, train_for_system):
        with pytest.raises(DataError, match=f"steps.csv, (row 1|line 2), column minibatch_size: got 32, expected {wanted}: "):
            train(tmp_path / "steps.csv", "data-parallel")


def test_a_mini_batch_that_cannot_be_shared_evenly() -> None:
    """100 samples over 3 GPUs: 34 on the fullest one."""
    rows = pd.DataFrame({"n_gpus": [3], "minibatch_size": [100], "subbatch_size": [34]})
    check_batches(rows)
    found = step_columns(rows)
    assert found["minibatch_size"][0] == 100.0
    known = step_columns(pd.DataFrame({"n_gpus": [4], "n_gpus_per_node": [8], "n_nodes": [1], "subbatch_size": [2]}))
    assert known["minibatch_size"][0] == 8.0


def test_a_network_is_told_by_layers_and_width_first() -> None:
    sizes = {"n_gpus": [1, 2], "subbatch_size": 1}
    both = step_columns(pd.DataFrame({**sizes, "n_params": [10, 11], "n_layers": 3, "width": 8}))
    assert networks_of(both) == ((3.0, 8.0), (3.0, 8.0))
    assert networks_of(step_columns(pd.DataFrame({**sizes, "n_params": [10, 11], "width": 8}))) == ((10.0,), (11.0,))
    assert networks_of(step_columns(pd.DataFrame(sizes))) == ()
